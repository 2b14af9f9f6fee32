"""Floats equal Go's to the last bit."""

import math

import numpy as np
import pytest

from scheduler_plugins import go_math


@pytest.mark.parametrize(
    ("number", "bits"),
    [(2, 0x3FE62E42FEFA39EF), (3, 0x3FF193EA7AAD030A), (14, 0x40051CCA16D7BBA8), (176, 0x4014AE935B3CB89E)],
)
def test_logarithm_is_gos(number: int, bits: int) -> None:
    """The others differ from the C library's in their last bit; the values are what Go 1.26 prints."""
    assert int(np.float64(go_math.log(number)).view(np.uint64)) == bits


def test_logarithm_is_never_further_off_than_the_last_bit() -> None:
    for number in range(2, 5000):
        assert abs(go_math.log(number) - math.log(number)) <= math.ulp(math.log(number))


def test_halves_are_rounded_up() -> None:
    """Also where adding a half would carry a smaller number over."""
    numbers = np.array([0.0, 0.5, 1.5, 2.4999, 0.49999999999999994, 7.0])
    assert go_math.rounded(numbers).tolist() == [0, 1, 2, 2, 0, 7]
