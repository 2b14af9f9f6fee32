"""Sums that follow what comes and goes: a list of changes that only grows, and running sums over it for each question.

A change is so many of a kind at a slot. A reader at any position sees the sums of the changes before it, so old
snapshots stay true; a question that is asked again pays only for the changes since. Knows no Kubernetes.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from cluster_model.columns import Amounts, Numbers

Kind = TypeVar("Kind", bound=Hashable)
Asked = TypeVar("Asked", contravariant=True)

MOST_QUESTIONS = 1024  # whose sums are kept; the longest unasked is forgotten first
FEW_CHANGES = 32  # up to here a loop is faster than an array
LEAST_LENGTH = 4096  # from here on a list is written anew when most of it has cancelled out

_FIRST_ROWS = 64


class Question(Protocol[Asked]):
    """What is summed up, under names of its own. Hashable; equal questions share their sums."""

    def hooks(self) -> Iterable[tuple[Hashable, ...]]:
        """Yield sets of hooks; each set alone finds every kind that weighs anything. None: look at all kinds."""

    def weigh(self, kind: Asked) -> Iterable[tuple[Hashable, int]]:
        """Yield under which names one of this kind counts, and how much."""


@dataclass(slots=True, eq=False)
class _Sums:
    """The running sums of one question, true at a position."""

    seen: int = 0  # kinds that were weighed
    position: int = 0
    weights: dict[int, tuple[tuple[Hashable, int], ...]] = field(default_factory=dict)  # kind -> (name, weight)
    by_name: dict[Hashable, Amounts] = field(default_factory=dict)  # name -> [slot]


class Journal(Generic[Kind]):
    """The list, its kinds, and the sums that were asked for."""

    def __init__(self, hooks: Callable[[Kind], Iterable[Hashable]]) -> None:
        self._hooks_of = hooks
        self._kinds: list[Kind] = []
        self._places: dict[Kind, int] = {}
        self._hooked: dict[Hashable, list[int]] = {}  # hook -> kinds, rising
        self._kind = np.zeros(_FIRST_ROWS, np.int32)  # [change], as are the next two
        self._slot = np.zeros(_FIRST_ROWS, np.int32)
        self._amount = np.zeros(_FIRST_ROWS, np.int32)
        self._length = 0
        self._standing = 0  # what has not been taken back
        self._slots = 0  # all slots are below
        self._sums: dict[Question[Kind], _Sums] = {}

    def __len__(self) -> int:
        return self._length

    def append(self, kind: Kind, slot: int, amount: int) -> None:
        """Note a change."""
        if self._length == len(self._kind):
            self._kind, self._slot, self._amount = map(_doubled, (self._kind, self._slot, self._amount))
        self._kind[self._length] = self._place(kind)
        self._slot[self._length] = slot
        self._amount[self._length] = amount
        self._length += 1
        self._standing += amount
        self._slots = max(self._slots, slot + 1)

    def shortened(self) -> "Journal[Kind]":
        """Return a journal of what stands, if that is much shorter, else itself."""
        if self._length < LEAST_LENGTH + 4 * self._standing:
            return self
        pairs, inverse = np.unique(
            self._kind[: self._length].astype(np.int64) * self._slots + self._slot[: self._length], return_inverse=True
        )
        standing = np.bincount(inverse, weights=self._amount[: self._length]).astype(np.int64)
        short = Journal(self._hooks_of)
        for pair, amount in zip(pairs.tolist(), standing.tolist(), strict=True):
            if amount:
                short.append(self._kinds[pair // self._slots], pair % self._slots, amount)
        return short

    def sums(self, question: Question[Kind], position: int, slots: int) -> Mapping[Hashable, Amounts]:
        """Return the sums of the changes before a position, by name and slot. They are good until the next call."""
        found = self._sums.pop(question, None) or _Sums()
        self._sums[question] = found
        if len(self._sums) > MOST_QUESTIONS:
            del self._sums[next(iter(self._sums))]
        if found.seen < len(self._kinds):
            self._weigh(question, found)
        for name, cells in found.by_name.items():
            if len(cells) < slots:
                found.by_name[name] = np.concatenate((cells, np.zeros(2 * slots - len(cells), np.int64)))
        if found.weights and position != found.position:
            sign, ends = (
                (1, (found.position, position)) if position > found.position else (-1, (position, found.position))
            )
            self._apply(found, slice(*ends), sign)
        found.position = position
        return found.by_name

    def _place(self, kind: Kind) -> int:
        place = self._places.get(kind)
        if place is None:
            place = self._places[kind] = len(self._kinds)
            self._kinds.append(kind)
            for hook in self._hooks_of(kind):
                self._hooked.setdefault(hook, []).append(place)
        return place

    def _weigh(self, question: Question[Kind], found: _Sums) -> None:
        """Weigh the kinds that are new. Their changes all come after any position that was read before."""
        for place in self._candidates(question, found.seen):
            weights = tuple(question.weigh(self._kinds[place]))
            if weights:
                found.weights[place] = weights
                for name, _ in weights:
                    found.by_name.setdefault(name, np.zeros(self._slots, np.int64))
        found.seen = len(self._kinds)

    def _candidates(self, question: Question[Kind], since: int) -> Iterable[int]:
        choices = [[self._hooked.get(hook, []) for hook in hooks] for hooks in question.hooks()]
        if not choices:
            return range(since, len(self._kinds))
        fewest = min(choices, key=lambda lists: sum(map(len, lists)))
        return (place for places in fewest for place in places[bisect_left(places, since) :])

    def _apply(self, found: _Sums, changes: slice, sign: int) -> None:
        kinds, slots, amounts = self._kind[changes], self._slot[changes], self._amount[changes]
        if len(kinds) <= FEW_CHANGES:
            for kind, slot, amount in zip(kinds.tolist(), slots.tolist(), amounts.tolist(), strict=True):
                for name, weight in found.weights.get(kind, ()):
                    found.by_name[name][slot] += sign * weight * amount
            return
        for name, weights in self._by_name(found):
            change = weights.take(kinds) * amounts
            hit = np.flatnonzero(change)
            np.add.at(found.by_name[name], slots.take(hit), sign * change.take(hit))

    def _by_name(self, found: _Sums) -> Iterator[tuple[Hashable, Amounts]]:
        """Yield each name with the weight of every kind under it."""
        weights = {name: np.zeros(len(self._kinds), np.int64) for name in found.by_name}
        for place, named in found.weights.items():
            for name, weight in named:
                weights[name][place] += weight
        yield from weights.items()


def _doubled(column: Numbers) -> Numbers:
    return np.concatenate((column, np.zeros_like(column)))
