"""The cluster at one moment as read-only columns, one row a node. Holds numbers and interned values, decides nothing.

What only a node's own object can change (`NodeColumns`) is shared by all snapshots until a node changes.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cluster_model import objects
from cluster_model.columns import Amounts, Mask, Shares, held, sealed
from cluster_model.images import Images
from cluster_model.interning import Interned
from cluster_model.namespaces import Namespaces
from cluster_model.pod import PendingPod
from cluster_model.pod_counts import PodCounts
from cluster_model.pod_owners import Owners
from cluster_model.request import HostPort, PodRequest
from cluster_model.storage_columns import Storage

Result = TypeVar("Result")
Rows: TypeAlias = NDArray[np.intp]
Taints: TypeAlias = tuple[objects.Taint, ...]

UNKNOWN = -1  # in a column of numbers: the node does not say

_MOST_REMEMBERED = 256


@dataclass(frozen=True, slots=True, eq=False)
class NodeColumns:
    """What the nodes are. Two snapshots that hold the same object differ only in what is assigned."""

    names: tuple[str, ...]  # [node]
    rows: Mapping[str, int]  # name -> row
    allocatable: Mapping[str, Amounts]  # resource -> [node]; cpu in thousandths, all else in units
    max_pods: Amounts  # [node]
    unschedulable: Mask  # [node]
    has_gpu: Mask  # [node] something of a GPU is allocatable
    taints: Interned[Taints]  # [node]
    gpu_model: Interned[str | None]  # [node]
    gpu_memory_mib: Amounts  # [node] of one GPU as it is handed out, UNKNOWN
    gpu_utilization: Shares  # [node] 0..1 as the node's annotation says, UNKNOWN
    features: Interned[frozenset[str]]  # [node] what the node says it can do
    images: Images
    label_sets: tuple[Mapping[str, str], ...]  # [node]
    nothing: Amounts  # [node] zeros, for a resource that no node has
    label_columns: dict[str, Interned[str | None]] = field(default_factory=dict)
    memory: dict[Hashable, Any] = field(default_factory=dict)

    def label(self, key: str) -> Interned[str | None]:
        """Return the column of one label key, None where a node lacks it; built when a pod first names the key."""
        column = self.label_columns.get(key)
        if column is None:
            column = Interned.of([labels.get(key) for labels in self.label_sets])
            self.label_columns[key] = column
        return column

    def remembered(self, key: Hashable, work_out: Callable[[], Result]) -> Result:
        """Return what was worked out under the key from these columns alone, working it out the first time."""
        try:
            return cast(Result, self.memory[key])
        except KeyError:
            pass
        if len(self.memory) >= _MOST_REMEMBERED:
            self.memory.clear()
        result = self.memory[key] = work_out()
        return result

    def take(self, rows: Rows) -> "NodeColumns":
        """Return the given rows as columns of their own, in their order."""
        names = tuple(self.names[row] for row in rows)
        return NodeColumns(
            names=names,
            rows={name: row for row, name in enumerate(names)},
            allocatable=_taken(self.allocatable, rows),
            max_pods=sealed(self.max_pods.take(rows)),
            unschedulable=sealed(self.unschedulable.take(rows)),
            has_gpu=sealed(self.has_gpu.take(rows)),
            taints=self.taints.take(rows),
            gpu_model=self.gpu_model.take(rows),
            gpu_memory_mib=sealed(self.gpu_memory_mib.take(rows)),
            gpu_utilization=sealed(self.gpu_utilization.take(rows)),
            features=self.features.take(rows),
            images=self.images.take(rows),
            label_sets=tuple(self.label_sets[row] for row in rows),
            nothing=sealed(self.nothing.take(rows)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class UsageColumns:
    """What the pods counted on the nodes hold."""

    requested: Mapping[str, Amounts]  # resource -> [node], the resources of NodeColumns.allocatable
    nonzero_milli_cpu: Amounts  # [node] with a default for containers that ask for none; scoring only
    nonzero_memory_bytes: Amounts  # [node]
    pods: Amounts  # [node]
    ports: Interned[frozenset[HostPort]]  # [node]

    def take(self, rows: Rows) -> "UsageColumns":
        """Return the given rows as columns of their own, in their order."""
        return UsageColumns(
            requested=_taken(self.requested, rows),
            nonzero_milli_cpu=sealed(self.nonzero_milli_cpu.take(rows)),
            nonzero_memory_bytes=sealed(self.nonzero_memory_bytes.take(rows)),
            pods=sealed(self.pods.take(rows)),
            ports=self.ports.take(rows),
        )

    def plus(self, request: PodRequest, times: Amounts) -> "UsageColumns":
        """Return what is held when so many such pods are added to each row; ports stay as they are."""
        return UsageColumns(
            requested={
                name: sealed(column + times * held(request.resources.get(name, 0)))
                for name, column in self.requested.items()
            },
            nonzero_milli_cpu=sealed(self.nonzero_milli_cpu + times * held(request.nonzero_milli_cpu)),
            nonzero_memory_bytes=sealed(self.nonzero_memory_bytes + times * held(request.nonzero_memory_bytes)),
            pods=sealed(self.pods + times),
            ports=self.ports,
        )


@dataclass(frozen=True, slots=True)
class Supposed:
    """A pod that is supposed to be on a node (1), or to be there no more (-1)."""

    pod: PendingPod
    node: str
    sign: int


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The whole cluster at one moment, which nothing can change any more."""

    generation: int
    nodes: NodeColumns
    usage: UsageColumns
    pods: PodCounts
    namespaces: Namespaces
    owners: Owners
    storage: Storage
    supposed: tuple[Supposed, ...] = ()  # in which it differs from the cluster as it is

    def __len__(self) -> int:
        return len(self.nodes.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes' names by row."""
        return self.nodes.names

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of the resources that some node has or had."""
        return tuple(self.nodes.allocatable)

    def allocatable(self, resource: str) -> Amounts:
        """Return what each node has of a resource."""
        return self.nodes.allocatable.get(resource, self.nodes.nothing)

    def requested(self, resource: str) -> Amounts:
        """Return what the pods counted on each node hold of a resource."""
        return self.usage.requested.get(resource, self.nodes.nothing)

    def take(self, rows: Rows) -> "Snapshot":
        """Return a snapshot of the given rows only, in their order."""
        return replace(
            self,
            nodes=self.nodes.take(rows),
            usage=self.usage.take(rows),
            pods=self.pods.take(rows),
            storage=self.storage.take(rows),
        )


def _taken(columns: Mapping[str, Amounts], rows: Rows) -> dict[str, Amounts]:
    return {name: sealed(column.take(rows)) for name, column in columns.items()}
