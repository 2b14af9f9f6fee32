"""How Go writes values in messages: quoted text, JSON and durations. Pure formatting."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal

from cluster_model.go_text import json_text
from cluster_model.go_text import quoted as quoted
from gpu_scheduler.kube_config.trees import Items, Members, Number

SECOND = 1_000_000_000  # in nanoseconds, as are all durations here
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_NUMBER = re.compile(r"\d+\.?\d*|\.\d+")
_UNIT = re.compile(r"[^.0-9]+")
_MAX = 2**63


class BadDuration(ValueError):
    """A duration that Go refuses; says so in Go's words."""


def as_json(value: object) -> str:
    """Write JSON as Go's encoder does: compact, with `<`, `>` and `&` escaped."""
    match value:
        case Number():
            return value
        case Items():
            return as_json(list(value))
        case Members():
            return as_json(dict(value.pairs))
        case list() | tuple():
            return f"[{','.join(as_json(one) for one in value)}]"
        case Mapping():
            return "{" + ",".join(f"{as_json(name)}:{as_json(one)}" for name, one in value.items()) + "}"
        case float():
            return float_text(value)
    return json_text(value) if isinstance(value, str) else json.dumps(value)


def float_text(value: float) -> str:
    """Write a float as Go's JSON encoder does."""
    if value and not 1e-6 <= abs(value) < 1e21:
        mantissa, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}e{int(exponent):+03d}".replace("e-0", "e-")
    text = f"{Decimal(repr(value)):f}"
    return text.removesuffix(".0")


def nanoseconds(text: str) -> int:
    """Read a duration as Go does; raise BadDuration."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    total = 0
    if not rest:
        raise BadDuration(f"time: invalid duration {quoted(text)}")
    while rest:
        found = _NUMBER.match(rest)
        if found is None:
            raise BadDuration(f"time: invalid duration {quoted(text)}")
        unit = _UNIT.match(rest, found.end())
        if unit is None:
            raise BadDuration(f"time: missing unit in duration {quoted(text)}")
        if unit[0] not in _UNITS:
            raise BadDuration(f"time: unknown unit {quoted(unit[0])} in duration {quoted(text)}")
        total += int(Decimal(found[0]) * _UNITS[unit[0]])
        rest = rest[unit.end() :]
    if total > _MAX or (total == _MAX and text[0] != "-"):
        raise BadDuration(f"time: invalid duration {quoted(text)}")
    return -total if text[0] == "-" else total


def duration(nanos: int) -> str:
    """Write a duration as Go does: 1m30s, 250ms, 0s."""
    if nanos == 0:
        return "0s"
    sign, left = ("-", -nanos) if nanos < 0 else ("", nanos)
    if left < SECOND:
        unit, size = next((name, _UNITS[name]) for name in ("ms", "µs", "ns") if left >= _UNITS[name])
        return f"{sign}{_decimal(left, size)}{unit}"
    minutes, rest = divmod(left, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else sign + text


def _decimal(value: int, size: int) -> str:
    whole, part = divmod(value, size)
    digits = len(str(size)) - 1
    return f"{whole}.{part:0{digits}d}".rstrip("0").rstrip(".") if part else str(whole)
