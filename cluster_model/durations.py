"""Durations as Go writes them, which is how Kubernetes configuration gives times: `15s`, `1m30s`, `250ms`."""

import re

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(rf"([-+]?)((?:{_PART.pattern})+|0)")


def seconds(text: str) -> float:
    """Read a duration; raise ValueError where Go would refuse it."""
    found = _WHOLE.fullmatch(text)
    if found is None:
        raise ValueError(f"not a duration: {text!r}")
    total = sum(float(part[1]) * _SECONDS[part[2]] for part in _PART.finditer(found[2]))
    return -total if found[1] == "-" else total
