"""The mutable side of UsageColumns: what the counted pods hold, one row a node. Used by ClusterState alone."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from cluster_model.columns import Column, held
from cluster_model.interning import Interner
from cluster_model.request import HostPort, PodRequest
from cluster_model.snapshot import UsageColumns


class UsageTable:
    """Sums per node. What is added is later subtracted as it was, so a row whose pods are gone is zero again."""

    def __init__(self) -> None:
        self.requested: dict[str, Column[np.int64]] = {}
        self._milli_cpu = Column(np.int64)
        self._memory_bytes = Column(np.int64)
        self._pods = Column(np.int64)
        self._ports: Interner[frozenset[HostPort]] = Interner()
        self._port_uses: list[Counter[HostPort]] = []

    def append(self) -> None:
        """Add an empty row."""
        for column in self._numbers():
            column.append(0)
        self._ports.append(frozenset())
        self._port_uses.append(Counter())

    def remove(self, row: int) -> None:
        """Drop a row; the last row takes its place."""
        for column in self._numbers():
            column.remove(row)
        self._ports.remove(row)
        last = self._port_uses.pop()
        if row < len(self._port_uses):
            self._port_uses[row] = last

    def add_resource(self, resource: str, counted: Iterable[tuple[int, PodRequest]]) -> None:
        """Add a resource's column, summed over (row, request) of the pods already counted."""
        column = self.requested[resource] = Column(np.int64, len(self._port_uses))
        for row, request in counted:
            column.add(row, held(request.resources.get(resource, 0)))

    def count(self, row: int, request: PodRequest) -> None:
        """Add a pod to a node."""
        self._shift(row, request, 1)
        if request.host_ports:
            self._port_uses[row].update(request.host_ports)
            self._ports.put(row, frozenset(self._port_uses[row]))

    def release(self, row: int, request: PodRequest) -> None:
        """Take a pod off a node."""
        self._shift(row, request, -1)
        if request.host_ports:
            left = self._port_uses[row]
            left.subtract(request.host_ports)
            self._port_uses[row] = +left
            self._ports.put(row, frozenset(self._port_uses[row]))

    def frozen(self) -> UsageColumns:
        """Return the columns as they are now."""
        return UsageColumns(
            requested={name: column.frozen() for name, column in self.requested.items()},
            nonzero_milli_cpu=self._milli_cpu.frozen(),
            nonzero_memory_bytes=self._memory_bytes.frozen(),
            pods=self._pods.frozen(),
            ports=self._ports.frozen(),
        )

    def _numbers(self) -> tuple[Column[np.int64], ...]:
        return (self._milli_cpu, self._memory_bytes, self._pods, *self.requested.values())

    def _shift(self, row: int, request: PodRequest, sign: int) -> None:
        for resource, amount in request.resources.items():
            column = self.requested.get(resource)
            if column is not None:
                column.add(row, sign * held(amount))
        self._milli_cpu.add(row, sign * held(request.nonzero_milli_cpu))
        self._memory_bytes.add(row, sign * held(request.nonzero_memory_bytes))
        self._pods.add(row, sign)
