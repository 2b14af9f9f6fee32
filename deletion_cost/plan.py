"""Which cost each pod of one ReplicaSet should have now, and how much that matters. Pure: it writes nothing.

Victims change as late as is right: a set of marked pods stands as long as none of them lies in a higher band than the
pod that would have to be the last victim. Only beyond that band a pod must be replaced; within it, replacing is a
refinement, for which there is a small budget of its own.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from deletion_cost import bands

FINER_STEPS = 5  # of marks; about twice the load


class Urgency(enum.IntEnum):
    """Which write goes first."""

    PROTECT = 0  # a pod that is marked, or ranks too low, and has work
    DUE = 1
    REFINE = 2  # right already, could be better


@dataclass(frozen=True, slots=True)
class Wanted:
    """The value that a pod should have; None is no key."""

    uid: str
    value: int | None
    urgency: Urgency = Urgency.DUE


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pod that is warm, as far as a plan looks at it. In a plan's input, earlier ones are the controller's choice."""

    uid: str
    current: int | None
    points: int | None  # None: not known yet
    usual: int = 0  # points that it has over time
    peak: int = 0  # of the last few samples
    busy: bool = False
    ours: bool = True  # whether the current value is one that we have written

    @property
    def marked(self) -> bool:
        return self.ours and bands.of(self.current) == "victim"


@dataclass(frozen=True, slots=True)
class Count:
    """How many victims there should be. Cold pods go before them, so with those fewer are needed."""

    most: int
    cold: int = 0

    @property
    def least(self) -> int:
        """How many must be marked; more may be, up to the most: to take those marks away would be waste."""
        return max(0, self.most - self.cold)


def cold(uid: str, current: int | None, again: bool, cost: int) -> Iterator[Wanted]:
    """Say what a cold pod gets: a new one keeps what it was created with, one that is cold again becomes cold."""
    if again and bands.of(current) != "cold":
        yield Wanted(uid, cost)


def without_load(candidates: Iterable[Candidate]) -> Iterator[Wanted]:
    """Take away whatever warm pods still carry, where nothing is known of loads."""
    for candidate in candidates:
        if candidate.current is not None:
            yield Wanted(candidate.uid, None)


def everyone(candidates: Iterable[Candidate], min_change: int, least_busy: int) -> Iterator[Wanted]:
    """Give every pod the cost that its load deserves; 0 is no key. Pods with work have at least `least_busy`."""
    for one in candidates:
        if one.points is None:
            if bands.of(one.current) == "cold":
                yield Wanted(one.uid, None)
            continue
        value, now = (one.peak if one.busy else one.points), one.current or 0
        if value == now and (value or one.current is None):
            continue
        # However small the difference: a pod with work must not rank below one without.
        crosses = bands.of(value) != bands.of(now) or (value < least_busy) != (now < least_busy)
        if crosses or abs(value - now) >= max(min_change, abs(now) // 5):
            yield Wanted(one.uid, value or None, Urgency.PROTECT if value > now else Urgency.DUE)


def victims(candidates: Sequence[Candidate], count: Count, min_change: int) -> Iterator[Wanted]:
    """Mark so many of the pods with the lowest loads, and keep the marks that still are right."""
    known = {one.uid: place for place, one in enumerate(candidates) if one.points is not None}
    lowest = sorted((one for one in candidates if one.uid in known), key=lambda one: _key(one, known[one.uid]))
    last_band = _band(lowest[min(count.most, len(lowest)) - 1]) if lowest and count.most else -1
    yield from _unmarked(candidates, last_band)
    kept = [one for one in lowest if one.marked and _band(one) <= last_band]
    free = [one for one in lowest if not one.marked]
    for one in kept[count.most :]:
        yield Wanted(one.uid, None, Urgency.REFINE)
    missing = max(0, count.least - len(kept))
    for one in free[:missing]:
        yield Wanted(one.uid, bands.mark(one.points or 0))
    yield from _refined(kept[: count.most], free[missing:], min_change)


def _unmarked(candidates: Iterable[Candidate], last_band: int) -> Iterator[Wanted]:
    """Take marks from pods whose load has risen too far, and away what pods carry that are no victims."""
    for one in candidates:
        if one.current is None or (one.marked and one.points is None):
            continue
        if one.marked and _band(one) > last_band:
            yield Wanted(one.uid, None, Urgency.PROTECT if one.busy else Urgency.DUE)
        elif not one.marked:
            yield Wanted(one.uid, None)


def _refined(kept: Sequence[Candidate], free: Sequence[Candidate], min_change: int) -> Iterator[Wanted]:
    """Mark pods that lie much lower than marked ones, and bring marks up to date that say too much or too little.

    What is marked beyond the number loses its mark in a later plan: never is there a moment with too few.
    """
    lower = [low for high, low in zip(reversed(kept), free, strict=False) if _much_lower(low, high, min_change)]
    for one in lower:
        yield Wanted(one.uid, bands.mark(one.points or 0), Urgency.REFINE)
    for one in kept[: len(kept) - len(lower)]:
        mark = bands.mark(one.points or 0)
        if abs(mark - (one.current or 0)) >= FINER_STEPS:
            yield Wanted(one.uid, mark, Urgency.REFINE)


def _much_lower(low: Candidate, high: Candidate, min_change: int) -> bool:
    one, other = low.points or 0, high.points or 0
    if _band(low) < _band(high):
        return True
    return other - one >= min_change and bands.mark(other) - bands.mark(one) >= FINER_STEPS


def _key(one: Candidate, place: int) -> tuple[int, int, int, int]:
    """Order by load in coarse steps, then by how the pod usually is, then as the controller would choose itself."""
    points = one.points or 0
    return (_band(one), bands.mark(points), bands.mark(one.usual), place)


def _band(one: Candidate) -> int:
    """Number the pod's band, from normal to warm; of two active pods the one that works ranks above."""
    points = one.points or 0
    return (points > 0) + one.busy + (points > bands.HIGHEST_ACTIVE)
