"""Which volumes are used and attached on which node, one row a node: counted as pods and attachments come and go.

Several sources may stand for one volume: a claim that pods use, a disk in a pod, an attachment. What a claim or an
attachment stands for can change; the counts follow. Used by StorageState alone.
"""

from collections import Counter
from collections.abc import Hashable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from cluster_model.columns import Amounts, Column
from cluster_model.csi_migration import CsiVolume
from cluster_model.interning import Interned, Interner
from cluster_model.ledger import Ledger
from cluster_model.pod_volumes import DiskUse

Key = TypeVar("Key", bound=Hashable)
Source: TypeAlias = Hashable
RowSet: TypeAlias = frozenset[int]

NO_ROWS: RowSet = frozenset()


class VolumeTable:
    """Rows of uses. Removal moves the last row into the gap."""

    def __init__(self) -> None:
        self._uses: list[Counter[Source]] = []  # [node] how many pods use a source
        self._attachments: list[set[Source]] = []  # [node]
        self._volumes: list[Counter[CsiVolume]] = []  # [node] how many sources stand for a volume
        self._by_pods: list[Counter[CsiVolume]] = []  # [node] how many of these sources pods use
        self._disk_uses: list[Counter[DiskUse]] = []  # [node]
        self._disks: Interner[frozenset[DiskUse]] = Interner()
        self._meanings: dict[Source, CsiVolume] = {}
        self._counts: dict[str, Column[np.int64]] = {}  # driver -> [node] its volumes used or attached there
        self.rows_of: Ledger[Source, RowSet] = Ledger()  # where pods use a source, or where an attachment is
        self.used: Ledger[CsiVolume, RowSet] = Ledger()  # where pods use a volume

    def __len__(self) -> int:
        return len(self._uses)

    def append(self) -> None:
        """Add an empty row."""
        self._uses.append(Counter())
        self._attachments.append(set())
        self._volumes.append(Counter())
        self._by_pods.append(Counter())
        self._disk_uses.append(Counter())
        self._disks.append(frozenset())
        for column in self._counts.values():
            column.append(0)

    def remove(self, row: int) -> None:
        """Drop a row with all its uses; the last row takes its place."""
        for source in (*self._uses[row], *self._attachments[row]):
            self._unlink(row, source)
        last = len(self._uses) - 1
        if row != last:
            self._move(last, row)
        for rows in (self._uses, self._attachments, self._volumes, self._by_pods, self._disk_uses):
            _fill_gap(rows, row)
        self._disks.remove(row)
        for column in self._counts.values():
            column.remove(row)

    def use(self, row: int, source: Source) -> None:
        """Count one more pod that uses a source."""
        self._uses[row][source] += 1
        if self._uses[row][source] == 1:
            self._link(row, source)

    def leave(self, row: int, source: Source) -> None:
        """Count one pod less."""
        if self._uses[row][source] == 1:
            self._unlink(row, source)
        _one_less(self._uses[row], source)

    def attach(self, row: int, source: Source) -> None:
        """Note that an attachment is on a node."""
        self._attachments[row].add(source)
        self._link(row, source)

    def detach(self, row: int, source: Source) -> None:
        """Note that it is not any more."""
        self._unlink(row, source)
        self._attachments[row].discard(source)

    def mean(self, source: Source, volume: CsiVolume | None) -> bool:
        """Say which volume a source stands for now; tell whether that is new."""
        if self._meanings.get(source) == volume:
            return False
        rows = self.rows_of.get(source) or NO_ROWS
        for row in rows:
            self._unlink(row, source)
        if volume is None:
            del self._meanings[source]
        else:
            self._meanings[source] = volume
        for row in rows:
            self._link(row, source)
        return True

    def use_disks(self, row: int, disks: frozenset[DiskUse], sign: int) -> None:
        """Count one pod more, or less, with these disks in it."""
        held = self._disk_uses[row]
        for disk in disks:
            if sign > 0:
                held[disk] += 1
            else:
                _one_less(held, disk)
        self._disks.put(row, frozenset(held))

    def counts(self) -> dict[str, Amounts]:
        """Return how many volumes of each driver are used or attached on each node."""
        return {driver: column.frozen() for driver, column in self._counts.items()}

    def disks(self) -> Interned[frozenset[DiskUse]]:
        """Return the disks in the pods of each node."""
        return self._disks.frozen()

    def _link(self, row: int, source: Source) -> None:
        _add(self.rows_of, source, row)
        volume = self._meaning(source)
        if volume is None:
            return
        self._volumes[row][volume] += 1
        if self._volumes[row][volume] == 1:
            self._column(volume.driver).add(row, 1)
        if source in self._uses[row]:
            self._by_pods[row][volume] += 1
            _add(self.used, volume, row)

    def _unlink(self, row: int, source: Source) -> None:
        _discard(self.rows_of, source, row)
        volume = self._meaning(source)
        if volume is None:
            return
        if _one_less(self._volumes[row], volume):
            self._column(volume.driver).add(row, -1)
        if source in self._uses[row] and _one_less(self._by_pods[row], volume):
            _discard(self.used, volume, row)

    def _meaning(self, source: Source) -> CsiVolume | None:
        """Return the volume that a source stands for; a disk in a pod stands for itself."""
        return source if isinstance(source, CsiVolume) else self._meanings.get(source)

    def _move(self, last: int, row: int) -> None:
        for source in (*self._uses[last], *self._attachments[last]):
            _discard(self.rows_of, source, last)
            _add(self.rows_of, source, row)
        for volume in self._by_pods[last]:
            _discard(self.used, volume, last)
            _add(self.used, volume, row)

    def _column(self, driver: str) -> "Column[np.int64]":
        found = self._counts.get(driver)
        if found is None:
            found = self._counts[driver] = Column(np.int64, len(self._uses))
        return found


def _fill_gap(rows: list[Any], row: int) -> None:
    moved = rows.pop()
    if row < len(rows):
        rows[row] = moved


def _one_less(counted: Counter[Key], key: Key) -> bool:
    """Take one off a count; tell whether none is left."""
    counted[key] -= 1
    if counted[key]:
        return False
    del counted[key]
    return True


def _add(rows: Ledger[Key, RowSet], key: Key, row: int) -> None:
    rows.put(key, (rows.get(key) or NO_ROWS) | {row})


def _discard(rows: Ledger[Key, RowSet], key: Key, row: int) -> None:
    left = (rows.get(key) or NO_ROWS) - {row}
    if left:
        rows.put(key, left)
    else:
        rows.drop(key)
