"""The bands of the deletion cost: what a value says about a pod. Pure."""

import math
from typing import Literal

Band = Literal["cold", "victim", "normal", "active", "warm", "other"]

LOWEST_COLD, HIGHEST_COLD = -100, -50
LOWEST_MARK, HIGHEST_MARK = -49, -1
HIGHEST_ACTIVE = 99
CAP = 1000
# As the metrics name them; "other" is a value that is not ours.
NAMES: tuple[Band, ...] = ("cold", "victim", "normal", "active", "warm", "other")


def of(cost: int | None) -> Band:
    """Name the band of a cost; without one a pod counts as 0."""
    value = cost or 0
    if LOWEST_COLD <= value <= HIGHEST_COLD:
        return "cold"
    if LOWEST_MARK <= value <= HIGHEST_MARK:
        return "victim"
    if value == 0:
        return "normal"
    if 0 < value <= HIGHEST_ACTIVE:
        return "active"
    return "warm" if HIGHEST_ACTIVE < value <= CAP else "other"


def mark(points: int) -> int:
    """Give a victim of that load its mark: the lower the load, the lower; about a sixth more load is one step.

    The mark follows from the load alone and not from the pod's place among the victims: so a pod that joins or leaves
    them makes no other pod's mark wrong, and pods of like load tie, which leaves the choice to the controller's keys.
    """
    steps = HIGHEST_MARK - LOWEST_MARK
    return LOWEST_MARK + int(steps * math.log1p(min(max(points, 0), CAP)) / math.log1p(CAP))
