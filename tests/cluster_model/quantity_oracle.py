"""A slow twin of the quantity parser: exact fractions, one character at a time, no shortcut for any length."""

from fractions import Fraction

POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
NANO = Fraction(1, 10**9)


def parse(text: str) -> Fraction:
    """Read a quantity with at least one digit before its suffix; anything else raises ValueError."""
    sign, rest = (-1 if text[:1] == "-" else 1), text[1:] if text[:1] in ("-", "+") else text
    number, digits, place, suffix = Fraction(0), 0, None, ""
    for at, letter in enumerate(rest):
        if letter in "0123456789":
            digits, place = digits + 1, None if place is None else place / 10
            number = number * 10 + int(letter) if place is None else number + place * int(letter)
        elif letter == "." and place is None:
            place = Fraction(1)
        else:
            suffix = rest[at:]
            break
    if not digits:
        raise ValueError(text)
    return sign * _up_to_nano(number * _scale(suffix), suffix in BINARY)


def rounded_up(amount: Fraction, per_unit: int) -> int:
    """Count `per_unit`-ths of a unit, rounding away from zero."""
    whole, count = abs(amount) * per_unit, 0
    count = whole.numerator // whole.denominator
    count += 1 if count < whole else 0
    return count if amount >= 0 else -count


def _scale(suffix: str) -> Fraction:
    if suffix in BINARY:
        return Fraction(2) ** BINARY[suffix]
    if suffix in POWERS:
        return Fraction(10) ** POWERS[suffix]
    exponent = suffix[1:].removeprefix("-").removeprefix("+") if suffix[0] in "eE" else ""
    if not exponent or any(letter not in "0123456789" for letter in exponent):
        raise ValueError(suffix)
    return Fraction(10) ** (int(exponent) * (-1 if suffix[1] == "-" else 1))


def _up_to_nano(amount: Fraction, binary: bool) -> Fraction:
    nanos = rounded_up(amount, 10**9) * NANO
    return min(nanos, Fraction(2**63 - 1)) if binary else nanos
