"""The mutable side of NodeColumns: one row a node, columns copied only after a change. Used by ClusterState alone."""

from collections.abc import Mapping

import numpy as np

from cluster_model.columns import Column, sealed
from cluster_model.images import ImageTable
from cluster_model.interning import Interned, Interner
from cluster_model.node_record import PODS, NodeRecord
from cluster_model.snapshot import UNKNOWN, NodeColumns, Taints

_MOST_LABEL_COLUMNS = 128


class NodeTable:
    """Rows of node records. Removal moves the last row into the gap."""

    def __init__(self) -> None:
        self.records: list[NodeRecord] = []
        self._label_sets: list[Mapping[str, str]] = []
        self.rows: dict[str, int] = {}
        self.allocatable: dict[str, Column[np.int64]] = {}
        self._max_pods = Column(np.int64)
        self._unschedulable = Column(np.bool_)
        self._has_gpu = Column(np.bool_)
        self._taints: Interner[Taints] = Interner()
        self._model: Interner[str | None] = Interner()
        self._memory_mib = Column(np.int64)
        self._utilization = Column(np.float64)
        self._features: Interner[frozenset[str]] = Interner()
        self._images = ImageTable()
        self._last: NodeColumns | None = None
        self._changed = True
        self._reshaped = True
        self._relabelled: set[int] = set()

    def __len__(self) -> int:
        return len(self.records)

    def append(self, record: NodeRecord) -> int:
        """Add a node and return its row."""
        row = len(self.records)
        self.rows[record.node.metadata.name] = row
        self.records.append(record)
        self._label_sets.append(record.node.metadata.labels)
        for column in self._numbers():
            column.append(0)
        self._taints.append(())
        self._model.append(None)
        self._features.append(frozenset())
        self._images.add(row, record.node.status.images)
        self._write(row, record)
        self._reshaped = True
        return row

    def replace(self, row: int, record: NodeRecord) -> None:
        """Write what changed of a node."""
        before, self.records[row] = self.records[row], record
        if before.node.metadata.labels != record.node.metadata.labels:
            self._label_sets[row] = record.node.metadata.labels
            self._relabelled.add(row)
            self._changed = True
        self._changed |= self._images.replace(row, before.node.status.images, record.node.status.images)
        self._write(row, record)

    def remove(self, name: str) -> int:
        """Drop a node and return the row that the last one moved into."""
        row = self.rows.pop(name)
        gone = self.records[row]
        last, last_labels = self.records.pop(), self._label_sets.pop()
        self._images.remove(row, gone.node.status.images)
        if row < len(self.records):
            self._images.move(len(self.records), row, last.node.status.images)
            self.records[row], self._label_sets[row] = last, last_labels
            self.rows[last.node.metadata.name] = row
        for column in self._numbers():
            column.remove(row)
        self._taints.remove(row)
        self._model.remove(row)
        self._features.remove(row)
        self._reshaped = True
        return row

    def new_resources(self, record: NodeRecord) -> list[str]:
        """Add columns for the resources seen for the first time and return their names."""
        new = [name for name in record.allocatable if name != PODS and name not in self.allocatable]
        for name in new:
            self.allocatable[name] = Column(np.int64, len(self.records))
            self._changed = True
        return new

    def frozen(self) -> NodeColumns:
        """Return the columns as they are now; the same object until a node changes."""
        if self._changed or self._reshaped or self._last is None:
            self._last = self._freeze(None if self._reshaped else self._last)
            self._changed = self._reshaped = False
            self._relabelled.clear()
        return self._last

    def _numbers(self) -> tuple[Column[np.int64] | Column[np.bool_] | Column[np.float64], ...]:
        own = (self._max_pods, self._unschedulable, self._has_gpu, self._memory_mib, self._utilization)
        return (*own, *self.allocatable.values())

    def _write(self, row: int, record: NodeRecord) -> None:
        spec, facts = record.node.spec, record.facts
        changed = [column.put(row, record.allocatable.get(name, 0)) for name, column in self.allocatable.items()]
        changed += [
            self._max_pods.put(row, record.allocatable.get(PODS, 0)),
            self._unschedulable.put(row, spec.unschedulable),
            self._has_gpu.put(row, record.has_gpu),
            self._taints.put(row, spec.taints),
            self._model.put(row, facts.model),
            self._memory_mib.put(row, UNKNOWN if facts.memory_mib is None else facts.memory_mib),
            self._utilization.put(row, UNKNOWN if facts.utilization is None else facts.utilization),
            self._features.put(row, frozenset(record.node.status.declared_features)),
        ]
        self._changed |= any(changed)

    def _freeze(self, same_rows: NodeColumns | None) -> NodeColumns:
        return NodeColumns(
            names=same_rows.names if same_rows else tuple(record.node.metadata.name for record in self.records),
            rows=same_rows.rows if same_rows else dict(self.rows),
            allocatable={name: column.frozen() for name, column in self.allocatable.items()},
            max_pods=self._max_pods.frozen(),
            unschedulable=self._unschedulable.frozen(),
            has_gpu=self._has_gpu.frozen(),
            taints=self._taints.frozen(),
            gpu_model=self._model.frozen(),
            gpu_memory_mib=self._memory_mib.frozen(),
            gpu_utilization=self._utilization.frozen(),
            features=self._features.frozen(),
            images=self._images.frozen(len(self.records)),
            label_sets=tuple(self._label_sets),
            nothing=same_rows.nothing if same_rows else sealed(np.zeros(len(self.records), np.int64)),
            label_columns=self._still_true(same_rows.label_columns) if same_rows else {},
        )

    def _still_true(self, columns: Mapping[str, Interned[str | None]]) -> dict[str, Interned[str | None]]:
        """Keep the label columns that no relabelled row contradicts; the others are built again when asked for."""
        kept = list(columns.items())[-_MOST_LABEL_COLUMNS:]
        return {key: column for key, column in kept if self._agrees(key, column)}

    def _agrees(self, key: str, column: Interned[str | None]) -> bool:
        return all(column.at(row) == self._label_sets[row].get(key) for row in self._relabelled)
