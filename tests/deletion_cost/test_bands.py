"""What a cost says, and the marks of victims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deletion_cost import bands

POINTS = st.integers(0, 1000)


@pytest.mark.parametrize(
    ("cost", "band"),
    [
        (-101, "other"),
        (-100, "cold"),
        (-50, "cold"),
        (-49, "victim"),
        (-1, "victim"),
        (0, "normal"),
        (None, "normal"),
        (1, "active"),
        (99, "active"),
        (100, "warm"),
        (1000, "warm"),
        (1001, "other"),
        (2**31 - 1, "other"),
    ],
)
def test_bands_meet_without_a_gap(cost: int | None, band: str) -> None:
    assert bands.of(cost) == band


@given(POINTS, POINTS)
def test_the_lower_the_load_the_lower_the_mark(one: int, other: int) -> None:
    assert (bands.mark(one) <= bands.mark(other)) or one > other
    assert bands.of(bands.mark(one)) == "victim"


def test_marks_reach_from_end_to_end() -> None:
    assert (bands.mark(0), bands.mark(1000), bands.mark(10**9)) == (-49, -1, -1)
