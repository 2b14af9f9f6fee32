"""Integers in selectors are what Go's ParseInt reads in base 10: int64, a sign allowed, nothing else."""

import pytest

from scheduler_plugins import selectors


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("+7", 7),
        ("-7", -7),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", None),
        ("0" * 5000 + "1", 1),
        ("9" * 5000, None),
        ("-" + "9" * 5000, None),
        ("", None),
        ("+", None),
        ("1_0", None),
        (" 1", None),
        ("1\n", None),
        ("0x1", None),
        ("1.0", None),
        ("٣", None),
        (None, None),
    ],
)
def test_integers(text: str | None, number: int | None) -> None:
    assert selectors.integer(text) == number
