"""Columns whose values repeat: each distinct value is stored once, a row holds its number. Knows no Kubernetes."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cluster_model.columns import Amounts, Column, Mask, Numbers, sealed

Value = TypeVar("Value", bound=Hashable)

_SLACK = 64  # distinct values beyond two a row before the forgotten ones are dropped


@dataclass(frozen=True, slots=True, eq=False)
class Interned(Generic[Value]):
    """A read-only column of repeated values. A predicate runs once per distinct value, then is gathered by row."""

    numbers: Numbers  # [node] place of the node's value in `values`
    values: tuple[Value, ...]
    places: Mapping[Value, int]

    @classmethod
    def of(cls, column: Iterable[Value]) -> "Interned[Value]":
        """Number the values of a column in the order of their first row."""
        places: dict[Value, int] = {}
        numbers = np.array([places.setdefault(value, len(places)) for value in column], np.int32)
        return cls(sealed(numbers), tuple(places), places)

    def where(self, predicate: Callable[[Value], bool]) -> Mask:
        """Return which rows hold a value that the predicate accepts."""
        return np.fromiter(map(predicate, self.values), np.bool_, len(self.values)).take(self.numbers)

    def measure(self, amount: Callable[[Value], int]) -> Amounts:
        """Return an integer per row, computed from its value."""
        return np.fromiter(map(amount, self.values), np.int64, len(self.values)).take(self.numbers)

    def among(self, wanted: Iterable[Value]) -> Mask:
        """Return which rows hold one of the wanted values."""
        chosen = np.zeros(len(self.values), np.bool_)
        for value in wanted:
            place = self.places.get(value)
            if place is not None:
                chosen[place] = True
        return chosen.take(self.numbers)

    def take(self, rows: NDArray[np.intp]) -> "Interned[Value]":
        """Return the column of the given rows, in their order."""
        return Interned(sealed(self.numbers.take(rows)), self.values, self.places)

    def at(self, row: int) -> Value:
        """Return one row's value."""
        value: Value = self.values[self.numbers[row]]
        return value


class Interner(Generic[Value]):
    """The mutable owner of such a column; values that no row holds any more are dropped now and then."""

    __slots__ = ("_frozen", "_numbers", "_places")

    def __init__(self) -> None:
        self._numbers: Column[np.int32] = Column(np.int32)
        self._places: dict[Value, int] = {}
        self._frozen: Interned[Value] | None = None

    def append(self, value: Value) -> None:
        """Add a row."""
        self._numbers.append(self._place(value))
        self._frozen = None

    def remove(self, row: int) -> None:
        """Drop a row; the last row takes its place."""
        self._numbers.remove(row)
        self._frozen = None

    def put(self, row: int, value: Value) -> bool:
        """Set a row's value; say whether it changed."""
        place = self._place(value)
        if self._numbers[row] == place:
            return False
        self._numbers.put(row, place)
        self._frozen = None
        return True

    def frozen(self) -> Interned[Value]:
        """Return the column as it is now; the same object until something changes."""
        if self._frozen is None:
            if len(self._places) > 2 * len(self._numbers) + _SLACK:
                self._forget_unused()
            self._frozen = Interned(self._numbers.frozen(), tuple(self._places), dict(self._places))
        return self._frozen

    def _place(self, value: Value) -> int:
        return self._places.setdefault(value, len(self._places))

    def _forget_unused(self) -> None:
        values = tuple(self._places)
        held = [values[place] for place in self._numbers.frozen()]
        self._places, self._numbers = {}, Column(np.int32)
        for value in held:
            self._numbers.append(self._place(value))
