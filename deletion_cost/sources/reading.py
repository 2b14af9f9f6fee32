"""What a pod's own endpoint answered, JSON or Prometheus text, as a Sample or as the reason why it is none. Pure."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields

import msgspec

from deletion_cost.sample import Sample

FIELDS = tuple(field.name for field in fields(Sample) if field.name != "usage")  # that one no pod tells of itself
SUMMED = frozenset({"active_requests", "connections", "served"})  # of several series of one name
RATES = frozenset({"cache_hit_rate"})  # 0 to 1

# One sample line: a name of ours, labels if any, the value, a timestamp if any. Quoted label values may hold braces.
_LINE = re.compile(
    rb"^(?:deletion_cost_)?(" + "|".join(FIELDS).encode() + rb")(?:_total)?[ \t]*"
    rb'(?:\{(?:[^"}\n]|"(?:[^"\\\n]|\\.)*")*\})?[ \t]+([^\s#]+)[^\n]*$',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that is no sample; `why` is a constant word, for a label."""

    why: str


class _Document(msgspec.Struct, frozen=True):
    """The JSON form; other keys are the application's own."""

    active_requests: float | None = None
    connections: float | None = None
    cache_hit_rate: float | None = None
    mean_response_ms: float | None = None
    served: float | None = None


_DECODER = msgspec.json.Decoder(_Document)


def read(body: bytes) -> Sample | Unusable:
    """Read an answer by its content: what begins with a brace is JSON, whatever its type says."""
    return _json(body) if body.lstrip()[:1] == b"{" else _text(body)


def sample(values: Iterable[tuple[str, float]]) -> Sample | Unusable:
    """Make a sample of fields with their values; one bad value spoils it, since the others are then in doubt too."""
    known = dict(values)
    for name, value in known.items():
        if not math.isfinite(value):
            return Unusable("nan")
        if value < 0:
            return Unusable("negative")
        if name in RATES and value > 1:
            return Unusable("range")
    return Sample(**known) if known else Unusable("type")


def _json(body: bytes) -> Sample | Unusable:
    try:
        document = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # JSON has no such numbers, yet Python's encoder writes them.
        return Unusable("nan" if b"NaN" in body or b"Infinity" in body else "type")
    told = ((name, getattr(document, name)) for name in FIELDS)
    return sample((name, value) for name, value in told if value is not None)


def _text(body: bytes) -> Sample | Unusable:
    values: dict[str, float] = {}
    for name, number in _LINE.findall(body):
        field = name.decode()
        try:
            value = float(number)
        except ValueError:
            return Unusable("type")
        if field in values and field not in SUMMED:
            return Unusable("duplicate")
        if value < 0:  # before it is lost in a sum
            return Unusable("negative")
        values[field] = values.get(field, 0.0) + value
    return sample(values.items())
