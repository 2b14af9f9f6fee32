"""The counts of one process, in a block of 64-bit cells that other processes may read while it writes.

Holds layout and arithmetic alone: where the block lies, who locks and what time it is are the caller's matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from deletion_cost.sample import Sample

FORMAT = 0x67_64_63_01  # first cell of a block that is ready to be read
ACTIVE, CONNECTIONS = 2, 3
_FORMAT, _SINCE, _SERVED, _EARLIER, _WIDTH = 0, 1, 4, 5, 6
_BUCKETS, _LENGTH = 8, 12  # the window slides by a twelfth of itself
_NUMBER, _ANSWERED, _MICROS, _HITS, _MISSES = range(5)
_FIELDS, _VACANT = 5, -(2**62)
CELLS = _BUCKETS + _LENGTH * _FIELDS
BYTES = CELLS * 8
_LONGEST_MICROS = 86_400_000_000  # of one response; keeps every sum within its cell

# memoryview.cast("q"): each cell is read and written with one instruction, so a reader never sees half a number.
Cells = memoryview


@dataclass(frozen=True, slots=True)
class Totals:
    """The sum over some processes; `answered` to `misses` are those of the window."""

    active: int = 0
    connections: int = 0
    served: int = 0
    answered: int = 0
    micros: int = 0
    hits: int = 0
    misses: int = 0

    def plus(self, other: "Totals") -> "Totals":
        """Add up field by field."""
        return Totals(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))

    def sample(self) -> Sample:
        """Say it as the endpoint does: an average of nothing is not told."""
        looked_up = self.hits + self.misses
        return Sample(
            active_requests=self.active,
            connections=self.connections,
            cache_hit_rate=self.hits / looked_up if looked_up else None,
            mean_response_ms=self.micros / self.answered / 1000 if self.answered else None,
            served=self.served,
        )


class Counts:
    """One process's block. The caller lets one thread in at a time; `now` is in seconds and never goes back."""

    __slots__ = ("cells",)

    def __init__(self, cells: Cells, window_seconds: float, since: float) -> None:
        self.cells = cells
        cells[_WIDTH] = max(1, round(window_seconds * 1e6 / _LENGTH))
        cells[_SINCE] = round(since * 1e6)
        cells[_FORMAT] = FORMAT

    def add(self, cell: int, number: int) -> None:
        """Raise or lower the gauge ACTIVE or CONNECTIONS."""
        self.cells[cell] += number

    def answered(self, now: float, seconds: float) -> None:
        """Count one request that was served."""
        at = self._bucket(now)
        # The time first: who reads in between divides by one too few, never by zero.
        self.cells[at + _MICROS] += min(max(0, round(seconds * 1e6)), _LONGEST_MICROS)
        self.cells[at + _ANSWERED] += 1
        self.cells[_SERVED] += 1

    def looked_up(self, now: float, is_hit: bool) -> None:
        """Count one look into the cache."""
        self.cells[self._bucket(now) + (_HITS if is_hit else _MISSES)] += 1

    def inherit(self, served: int) -> None:
        """Take over what processes that have ended had served, so that the counter does not go back."""
        self.cells[_EARLIER] += served

    def _bucket(self, now: float) -> int:
        number = int(now * 1e6) // self.cells[_WIDTH]
        at = _BUCKETS + number % _LENGTH * _FIELDS
        if self.cells[at + _NUMBER] != number:
            self.cells[at + _NUMBER] = _VACANT  # until its old counts are gone
            for field in range(_NUMBER + 1, _FIELDS):
                self.cells[at + field] = 0
            self.cells[at + _NUMBER] = number
        return at


def private_cells() -> Cells:
    """A block that no other process sees."""
    return memoryview(bytearray(BYTES)).cast("q")


def copied(cells: Cells) -> Cells:
    """A private block with the same content."""
    copy = private_cells()
    copy[:] = cells
    return copy


def totals(cells: Cells, now: float) -> Totals:
    """Read a block, maybe while its process writes."""
    window = [0, 0, 0, 0]
    for bucket in _current(cells, now):
        window = [total + count for total, count in zip(window, bucket, strict=True)]
    gauges = (max(0, cells[ACTIVE]), max(0, cells[CONNECTIONS]), served(cells))
    return Totals(*gauges, *window)


def served(cells: Cells) -> int:
    """All requests that this process and those before it have served."""
    return int(cells[_SERVED] + cells[_EARLIER])


def since(cells: Cells) -> float:
    """When the first of the processes began that have served without a gap."""
    return float(cells[_SINCE] / 1e6)


def is_ready(cells: Cells) -> bool:
    """Whether its process has laid the block out."""
    return bool(cells[_FORMAT] == FORMAT)


def _current(cells: Cells, now: float) -> Iterator[list[int]]:
    """The counts of each bucket of the window; one that is begun anew meanwhile is left out."""
    newest = int(now * 1e6) // cells[_WIDTH]
    for at in range(_BUCKETS, CELLS, _FIELDS):
        number, *counts = cells[at : at + _FIELDS].tolist()
        if newest - _LENGTH < number <= newest and cells[at + _NUMBER] == number:
            yield counts
