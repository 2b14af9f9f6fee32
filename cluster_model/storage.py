"""The one mutable owner of what is known of storage. Belongs to ClusterState, which tells it of nodes and of pods.

Every method may be called again or in another order with the same end. What was assumed of a volume or a claim holds
until the API server tells something newer of it.
"""

from collections.abc import Callable

import msgspec

from cluster_model import counted_volumes
from cluster_model.assumed import Assumed, Named
from cluster_model.csi_migration import CsiVolume
from cluster_model.objects import ApiObject
from cluster_model.pod import PendingPod
from cluster_model.pod_volumes import NO_VOLUMES
from cluster_model.storage_columns import Storage
from cluster_model.storage_objects import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from cluster_model.storage_rows import Attached, StorageRows
from cluster_model.storage_tables import CapacityTable, csi_facts
from cluster_model.verdict import Event
from cluster_model.volume_pools import VolumePools

NOTHING: frozenset[Event] = frozenset()


class StorageState:
    """Volumes, claims, classes, drivers, and what of them is on which node. Its events tell what could be cured."""

    def __init__(self, touch: Callable[[], None]) -> None:
        self._touch = touch
        self.volumes: Assumed[PersistentVolume] = Assumed()
        self.claims: Assumed[PersistentVolumeClaim] = Assumed()
        self._claims_of: dict[str, set[str]] = {}  # volume -> claims that name it
        self._pools = VolumePools()
        self._classes: dict[str, StorageClass] = {}
        self._drivers: dict[str, CsiDriver] = {}
        self._csi_nodes: dict[str, CsiNode] = {}
        self._capacities = CapacityTable()
        self._rows = StorageRows()
        self._last: Storage | None = None

    def set_volume(self, volume: PersistentVolume) -> frozenset[Event]:
        """Take a PersistentVolume as it is now."""
        name = volume.metadata.name
        told, before = self.volumes.told(name), self.volumes.get(name)
        self.volumes.tell(name, volume)
        self._volume_changed(name, before)
        return _news(told, volume, Event.VOLUME_ADD, Event.VOLUME_UPDATE)

    def remove_volume(self, name: str) -> frozenset[Event]:
        """Forget a PersistentVolume."""
        before = self.volumes.get(name)
        self.volumes.lose(name)
        self._volume_changed(name, before)
        return NOTHING

    def set_claim(self, claim: PersistentVolumeClaim) -> frozenset[Event]:
        """Take a PersistentVolumeClaim as it is now."""
        told, before = self.claims.told(claim.key), self.claims.get(claim.key)
        self.claims.tell(claim.key, claim)
        self._claim_changed(claim.key, before)
        return _news(told, claim, Event.CLAIM_ADD, Event.CLAIM_UPDATE)

    def remove_claim(self, key: str) -> frozenset[Event]:
        """Forget a PersistentVolumeClaim, by namespace/name."""
        before = self.claims.get(key)
        self.claims.lose(key)
        self._claim_changed(key, before)
        return NOTHING

    def assume_volume(self, volume: PersistentVolume) -> bool:
        """Reckon with a volume as we are about to write it; False if it is another by now."""
        before = self.volumes.get(volume.metadata.name)
        done = self.volumes.assume(volume.metadata.name, volume)
        self._volume_changed(volume.metadata.name, before)
        return done

    def restore_volume(self, volume: PersistentVolume) -> None:
        """Take back an assumed volume that was not written."""
        before = self.volumes.get(volume.metadata.name)
        self.volumes.restore(volume.metadata.name, volume.metadata.resource_version)
        self._volume_changed(volume.metadata.name, before)

    def assume_claim(self, claim: PersistentVolumeClaim) -> bool:
        """Reckon with a claim as we are about to write it; False if it is another by now."""
        before = self.claims.get(claim.key)
        done = self.claims.assume(claim.key, claim)
        self._claim_changed(claim.key, before)
        return done

    def restore_claim(self, claim: PersistentVolumeClaim) -> None:
        """Take back an assumed claim that was not written."""
        before = self.claims.get(claim.key)
        self.claims.restore(claim.key, claim.metadata.resource_version)
        self._claim_changed(claim.key, before)

    def set_class(self, found: StorageClass) -> frozenset[Event]:
        """Take a StorageClass as it is now."""
        before = self._classes.get(found.metadata.name)
        if before == found:
            return NOTHING
        self._classes[found.metadata.name] = found
        self._class_changed(found.metadata.name)
        return _news(before, found, Event.CLASS_ADD, Event.CLASS_UPDATE)

    def remove_class(self, name: str) -> frozenset[Event]:
        """Forget a StorageClass."""
        if self._classes.pop(name, None) is not None:
            self._class_changed(name)
        return NOTHING

    def set_csi_node(self, found: CsiNode) -> frozenset[Event]:
        """Take a CSINode as it is now."""
        name = found.metadata.name
        before, self._csi_nodes[name] = self._csi_nodes.get(name), found
        if self._rows.set_csi(name, csi_facts(found)):
            self._changed()
        return _news(before, found, Event.CSI_NODE_ADD, Event.CSI_NODE_UPDATE)

    def remove_csi_node(self, name: str) -> frozenset[Event]:
        """Forget a CSINode."""
        self._csi_nodes.pop(name, None)
        if self._rows.set_csi(name, None):
            self._changed()
        return NOTHING

    def set_driver(self, found: CsiDriver) -> frozenset[Event]:
        """Take a CSIDriver as it is now; a new one cures nothing."""
        before = self._drivers.get(found.metadata.name)
        self._drivers[found.metadata.name] = found
        self._changed()
        return NOTHING if before is None else _news(before, found, Event.CSI_DRIVER_UPDATE, Event.CSI_DRIVER_UPDATE)

    def remove_driver(self, name: str) -> frozenset[Event]:
        """Forget a CSIDriver."""
        if self._drivers.pop(name, None) is not None:
            self._changed()
        return NOTHING

    def set_capacity(self, found: CsiStorageCapacity) -> frozenset[Event]:
        """Take a CSIStorageCapacity as it is now."""
        before = self._capacities.set(found)
        self._changed()
        return _news(before, found, Event.CAPACITY_ADD, Event.CAPACITY_UPDATE)

    def remove_capacity(self, key: str) -> frozenset[Event]:
        """Forget a CSIStorageCapacity, by namespace/name."""
        if self._capacities.remove(key) is not None:
            self._changed()
        return NOTHING

    def set_attachment(self, found: VolumeAttachment) -> frozenset[Event]:
        """Take a VolumeAttachment as it is now; more of them cure nothing."""
        before = self._rows.attachments.get(found.metadata.name)
        if before is None or before.spec != found.spec:
            self._rows.detach(found.metadata.name)
            self._rows.attach(found, self._attached(found))
            self._changed()
        return NOTHING

    def remove_attachment(self, name: str) -> frozenset[Event]:
        """Forget a VolumeAttachment."""
        if not self._rows.detach(name):
            return NOTHING
        self._changed()
        return frozenset({Event.ATTACHMENT_DELETE})

    def objects(self) -> tuple[ApiObject, ...]:
        """Return every object as it is, or as it was assumed; a copy."""
        smaller = (self._classes, self._drivers, self._csi_nodes)
        kept: tuple[ApiObject, ...] = tuple(found for kind in smaller for found in kind.values())
        counted = (*self._capacities.objects(), *self._rows.attachments.objects())
        return (*self.volumes.values(), *self.claims.values(), *kept, *counted)

    def append(self, node: str) -> None:
        """Add a row for a node."""
        self._rows.append(node)
        self._last = None

    def remove(self, row: int) -> None:
        """Drop a node's row; the last row takes its place."""
        self._rows.remove(row)
        self._last = None

    def count(self, row: int, pod: PendingPod, sign: int) -> None:
        """Count a pod's volumes on a node (1), or count them no more (-1)."""
        if pod.request.volumes is not NO_VOLUMES:
            self._rows.count(row, pod, sign)
            self._last = None

    def frozen(self) -> Storage:
        """Return all as it is now; the same object until something changes."""
        if self._last is None:
            self._last = Storage(
                claims=self.claims.frozen(),
                volumes=self.volumes.frozen(),
                free=self._pools.free(),
                reserved=self._pools.reserved(),
                classes=dict(self._classes),
                drivers=dict(self._drivers),
                capacities=self._capacities.frozen(),
                csi_nodes=self._rows.csi_nodes(),
                attached=self._rows.table.counts(),
                disks=self._rows.table.disks(),
                claim_rows=self._rows.table.rows_of.frozen(),
                volume_rows=self._rows.table.used.frozen(),
                nodes=len(self._rows),
            )
        return self._last

    def _changed(self) -> None:
        self._last = None
        self._touch()

    def _volume_changed(self, name: str, before: PersistentVolume | None) -> None:
        after = self.volumes.get(name)
        if after is before:
            return
        if before is not None:
            self._pools.remove(before)
        if after is not None:
            self._pools.add(after)
        for key in self._claims_of.get(name, ()):
            self._mean(key)
        for attachment in self._rows.attachments.of(name):
            self._rows.table.mean(Attached(attachment), self._attached(self._rows.attachments.get(attachment)))
        self._changed()

    def _claim_changed(self, key: str, before: PersistentVolumeClaim | None) -> None:
        after = self.claims.get(key)
        if after is before:
            return
        if before is not None and before.spec.volume_name:
            self._claims_of[before.spec.volume_name].discard(key)
        if after is not None and after.spec.volume_name:
            self._claims_of.setdefault(after.spec.volume_name, set()).add(key)
        self._mean(key)
        self._changed()

    def _class_changed(self, name: str) -> None:
        for claim in self.claims.values():
            if claim.class_name == name:
                self._mean(claim.key)
        self._changed()

    def _mean(self, key: str) -> None:
        claim = self.claims.get(key)
        named = None if claim is None else self.volumes.get(claim.spec.volume_name)
        counted = None if claim is None else counted_volumes.of(claim, named, self._classes)
        self._rows.mean(key, None if counted is None else counted.volume)

    def _attached(self, found: VolumeAttachment | None) -> CsiVolume | None:
        """Return the volume that an attachment stands for; it counts only where its PersistentVolume is one of CSI."""
        named = None if found is None else self.volumes.get(found.spec.source.persistent_volume_name or "")
        if found is None or named is None or named.spec.csi is None or not found.spec.attacher:
            return None
        return CsiVolume(found.spec.attacher, named.spec.csi.volume_handle)


def _news(before: Named | None, after: Named, added: Event, updated: Event) -> frozenset[Event]:
    """Name the event of an object; another version alone is no news."""
    if before is None:
        return frozenset({added})
    return NOTHING if _unversioned(before) == _unversioned(after) else frozenset({updated})


def _unversioned(found: Named) -> Named:
    bare = msgspec.structs.replace(found.metadata, resource_version="")
    return msgspec.structs.replace(found, metadata=bare)  # type: ignore[type-var]
