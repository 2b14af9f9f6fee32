"""Growable columns of numbers, one row a node, that hand out read-only copies and copy only after a change."""

from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Amounts: TypeAlias = NDArray[np.int64]  # [node]
Mask: TypeAlias = NDArray[np.bool_]  # [node]
Numbers: TypeAlias = NDArray[np.int32]  # [node]
Shares: TypeAlias = NDArray[np.float64]  # [node]

Scalar = TypeVar("Scalar", bound=np.generic)

MAX_AMOUNT = 2**53  # amounts are held to it, so that a node's sum, and that times 100, stay within int64

_FIRST_ROWS = 16


def held(amount: int) -> int:
    """Return what a pod that asks for so much is counted with."""
    return max(0, min(amount, MAX_AMOUNT))


def sealed(cells: NDArray[Scalar]) -> NDArray[Scalar]:
    """Make an array read-only, so that a plugin that writes to a shared column raises."""
    cells.flags.writeable = False
    return cells


class Column(Generic[Scalar]):
    """One growable column. Removal moves the last row into the gap, as every column of a table does."""

    __slots__ = ("_cells", "_frozen", "_length")

    def __init__(self, kind: type[Scalar], length: int = 0) -> None:
        self._cells: NDArray[Scalar] = np.zeros(max(length, _FIRST_ROWS), kind)
        self._length = length
        self._frozen: NDArray[Scalar] | None = None

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, row: int) -> Scalar:
        cell: Scalar = self._cells[row]
        return cell

    def append(self, value: float) -> None:
        """Add a row."""
        if self._length == len(self._cells):
            self._cells = np.concatenate((self._cells, np.zeros_like(self._cells)))
        self._cells[self._length] = value
        self._length += 1
        self._frozen = None

    def remove(self, row: int) -> None:
        """Drop a row; the last row takes its place."""
        self._length -= 1
        self._cells[row] = self._cells[self._length]
        self._frozen = None

    def put(self, row: int, value: float) -> bool:
        """Set a cell; say whether it changed."""
        if self._cells[row] == value:
            return False
        self._cells[row] = value
        self._frozen = None
        return True

    def add(self, row: int, amount: int) -> None:
        """Add to a cell."""
        if amount:
            self._cells[row] += amount
            self._frozen = None

    def frozen(self) -> NDArray[Scalar]:
        """Return a read-only copy of the rows; the same array until something changes."""
        if self._frozen is None:
            self._frozen = sealed(self._cells[: self._length].copy())
        return self._frozen
