"""Float functions to the last bit as Go computes them, where Python's own may differ in it."""

import math

import numpy as np
from numpy.typing import NDArray

from cluster_model.columns import Amounts

# The polynomial of FreeBSD's e_log.c, which Go's math.Log follows on every platform that we compare with.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ODD = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
_EVEN = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)


def log(number: float) -> float:
    """Return the natural logarithm of a positive number."""
    mantissa, exponent = math.frexp(number)
    if mantissa < math.sqrt(2) / 2:
        mantissa *= 2
        exponent -= 1
    rest = mantissa - 1
    ratio = rest / (2 + rest)
    square = ratio * ratio
    fourth = square * square
    odd = square * (_ODD[0] + fourth * (_ODD[1] + fourth * (_ODD[2] + fourth * _ODD[3])))
    even = fourth * (_EVEN[0] + fourth * (_EVEN[1] + fourth * _EVEN[2]))
    half = 0.5 * rest * rest
    return exponent * _LN2_HIGH - ((half - (ratio * (half + (odd + even)) + exponent * _LN2_LOW)) - rest)


def rounded(numbers: NDArray[np.float64]) -> Amounts:
    """Round numbers that are not negative, halves up."""
    below = np.floor(numbers)
    return (below + (numbers - below >= 0.5)).astype(np.int64)
