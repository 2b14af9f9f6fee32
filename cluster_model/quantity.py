"""Amounts as Kubernetes writes them ("500m", "1.5Gi", "1e3"), read exactly as apimachinery's ParseQuantity reads them.

Must not guess: text that an API server would refuse raises ValueError.
"""

import math
import re
from typing import NewType

Nanos = NewType("Nanos", int)  # billionths of a unit: the finest amount Kubernetes keeps, so always exact

MAX_INT64 = 2**63 - 1
NANOS_PER_UNIT = 10**9
NANOS_PER_MILLI = 10**6

_DECIMAL = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[KMGTPE]i|[numkMGTPE])?|[eE][+-]?[0-9]+)")
_CEILING_DIGITS = 40  # far beyond int64 in any unit; keeps "1e999999999" from being written out
_CEILING: int = 10**_CEILING_DIGITS
_BINARY_DIGITS = 80  # 2^-60 of a billionth has 69 decimals: what follows the 80th can only round up


def parse(text: str | int | float) -> Nanos:
    """Read one amount; a finer one than a billionth is rounded up to it. Malformed: ValueError."""
    if isinstance(text, str):
        return _parse_text(text)
    if isinstance(text, int) and not isinstance(text, bool):
        return Nanos(max(-_CEILING, min(text * NANOS_PER_UNIT, _CEILING)))
    if not isinstance(text, float) or not math.isfinite(text):
        raise ValueError(f"not a quantity: {text!r}")
    return _parse_text(repr(text))


def value(amount: Nanos) -> int:
    """Return whole units, rounded away from zero and held within int64, as Quantity.Value() means to."""
    return _scaled(amount, NANOS_PER_UNIT)


def milli(amount: Nanos) -> int:
    """Return thousandths, rounded away from zero and held within int64, as Quantity.MilliValue() means to."""
    return _scaled(amount, NANOS_PER_MILLI)


def is_whole(amount: Nanos) -> bool:
    """Say whether the amount is a whole number of units."""
    return amount % NANOS_PER_UNIT == 0


def _parse_text(text: str) -> Nanos:
    if len(text) < _CEILING_DIGITS - 9 and text.isascii() and text.isdigit():
        return Nanos(int(text) * NANOS_PER_UNIT)
    found = _FORM.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"not a quantity: {text[:80]!r}")
    sign, whole, decimals, suffix = found.group(1), found.group(2), found.group(3) or "", found.group(4)
    if not whole and not decimals:
        return _without_digits(text, suffix)
    nanos = _binary(whole, decimals, suffix) if suffix in _BINARY else _decimal(whole, decimals, _exponent(suffix))
    return Nanos(-nanos if sign == "-" else nanos)


def _without_digits(text: str, suffix: str) -> Nanos:
    """Read "+", "." or "Mi" as 0, since Kubernetes does wherever it need not look at the number itself."""
    if suffix in ("Pi", "Ei") or (suffix not in _BINARY and _exponent(suffix) < -9):
        raise ValueError(f"not a quantity: {text[:80]!r}")
    return Nanos(0)


def _exponent(suffix: str) -> int:
    """Return the power of ten; Kubernetes cuts what fits in 64 bits down to 32."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    digits = suffix[1:].lstrip("+-").lstrip("0") or "0"
    power = int(digits[:20]) * (-1 if suffix[1] == "-" else 1)
    if not -(2**63) <= power < 2**63:
        raise ValueError(f"exponent out of range: {suffix[:80]!r}")
    return (power + 2**31) % 2**32 - 2**31


def _decimal(whole: str, decimals: str, power: int) -> int:
    """Shift the point by the power of ten and round up to a billionth, on the digits themselves."""
    digits = whole + decimals
    significant = digits.lstrip("0")
    point = len(whole) + power + 9 - (len(digits) - len(significant))
    if not significant:
        return 0
    if point > _CEILING_DIGITS:
        return _CEILING
    kept, cut = significant[: max(point, 0)], significant[max(point, 0) :]
    return int(kept.ljust(point, "0") or "0") + (1 if cut.strip("0") else 0)


def _binary(whole: str, decimals: str, suffix: str) -> int:
    """Scale by the power of two, round up to a billionth, and cap at int64 units as Kubernetes does."""
    limit = MAX_INT64 * NANOS_PER_UNIT
    if len(whole.lstrip("0")) > _CEILING_DIGITS:
        return limit
    kept = decimals[:_BINARY_DIGITS] + ("1" if decimals[_BINARY_DIGITS:].strip("0") else "")
    scaled = int((whole.lstrip("0") + kept) or "0") * NANOS_PER_UNIT << _BINARY[suffix]
    divisor: int = 10 ** len(kept)
    return min(-(-scaled // divisor), limit)


def _scaled(amount: int, unit: int) -> int:
    """Divide, rounding away from zero. Kubernetes overflows to 0 or wraps; we saturate, so an absurd ask never fits."""
    whole = min(-(-abs(amount) // unit), MAX_INT64)
    return whole if amount >= 0 else -whole
