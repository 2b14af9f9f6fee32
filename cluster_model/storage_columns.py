"""The cluster's storage at one moment: objects by name, and per node what its CSI drivers say and what is attached.

Holds what was told and counted, decides nothing.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cluster_model.columns import Amounts, Mask, sealed
from cluster_model.csi_migration import CsiVolume
from cluster_model.interning import Interned
from cluster_model.label_selectors import Selector
from cluster_model.pod_volumes import DiskUse
from cluster_model.quantity import Nanos
from cluster_model.storage_objects import CsiDriver, PersistentVolume, PersistentVolumeClaim, StorageClass


@dataclass(frozen=True, slots=True)
class CsiFacts:
    """What a CSINode says about its node."""

    drivers: frozenset[str]
    limits: frozenset[tuple[str, int]]  # driver and how many volumes it can attach; without an entry no limit
    migrated: frozenset[str]  # plugins whose volumes their drivers have taken over there


@dataclass(frozen=True, slots=True, order=True)
class Sized:
    """A volume that nobody claims, in the order in which a claim that fits takes it."""

    size: Nanos
    name: str
    volume: PersistentVolume = field(compare=False)
    modes: frozenset[str] = field(compare=False)
    reach: int = field(compare=False)  # volumes with the same number have the same node affinity


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much a class can still provide where a selector of node labels matches."""

    selector: Selector
    limit_bytes: int | None  # of one volume; None where it says nothing, so that nothing fits
    capacity_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Storage:
    """Everything about storage that a decision looks at."""

    claims: Mapping[str, PersistentVolumeClaim]  # namespace/name
    volumes: Mapping[str, PersistentVolume]
    free: Mapping[str, tuple[Sized, ...]]  # class -> volumes that nobody claims, smallest first
    reserved: Mapping[str, tuple[PersistentVolume, ...]]  # claim -> volumes that name it
    classes: Mapping[str, StorageClass]
    drivers: Mapping[str, CsiDriver]
    capacities: Mapping[str, tuple[Capacity, ...]]  # class ->
    csi_nodes: Interned[CsiFacts | None]  # [node] None: there is no such object
    attached: Mapping[str, Amounts]  # driver -> [node] volumes in use or attached there
    disks: Interned[frozenset[DiskUse]]  # [node] in the pods there
    claim_rows: Mapping[Hashable, frozenset[int]]  # claim -> rows of the whole cluster where pods use it
    volume_rows: Mapping[CsiVolume, frozenset[int]]  # the same for a volume
    nodes: int  # in the whole cluster
    rows: NDArray[np.intp] | None = None  # [node] places in the whole cluster; None: all of them
    memory: dict[str, Any] = field(default_factory=dict)  # what plugins keep for themselves while this is true

    def uses(self, volume: CsiVolume) -> Mask:
        """Return on which nodes pods use a volume."""
        return self._mask(self.volume_rows.get(volume, frozenset()))

    def in_use(self, claim: str) -> bool:
        """Say whether a pod anywhere uses a claim."""
        return bool(self.claim_rows.get(claim))

    def limit(self, driver: str) -> Amounts:
        """Return how many volumes a driver can attach to each node, -1 where it does not say."""
        return self.csi_nodes.measure(lambda facts: -1 if facts is None else dict(facts.limits).get(driver, -1))

    def take(self, rows: NDArray[np.intp]) -> "Storage":
        """Return it for the given rows; what is used elsewhere is still known."""
        return replace(
            self,
            csi_nodes=self.csi_nodes.take(rows),
            attached={driver: sealed(column.take(rows)) for driver, column in self.attached.items()},
            disks=self.disks.take(rows),
            rows=rows if self.rows is None else self.rows.take(rows),
            memory={},
        )

    def _mask(self, rows: frozenset[int]) -> Mask:
        found: Mask = np.zeros(self.nodes, np.bool_)
        found[list(rows)] = True
        return found if self.rows is None else found.take(self.rows)
