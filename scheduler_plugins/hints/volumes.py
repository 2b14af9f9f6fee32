"""Hints of the plugins that look at storage: restrictions, limits, zones and binding of volumes."""

from collections.abc import Hashable
from typing import Any

from cluster_model import csi_migration, storage_tables
from cluster_model.pod import PendingPod
from cluster_model.storage_objects import (
    MIGRATED_PLUGINS,
    WAITS_FOR_CONSUMER,
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from cluster_model.verdict import Event
from scheduler_plugins import volume_zone
from scheduler_plugins.hints.interest import Hint, Interest, Interests, Judge, always, when


def restrictions() -> Interests:
    """VolumeRestrictions: a claim of the pod came, or a pod of its namespace left that used the same disk or claim."""
    return (
        Interest({Event.NODE_ADD: always}),
        Interest({Event.ASSIGNED_POD_DELETE: _shared_volumes, Event.CLAIM_ADD: _is_its_own_claim}, _uses),
    )


def limits() -> Interests:
    """NodeVolumeLimits: a limit was raised, or a volume went that may have counted."""
    anyhow: dict[Event, Judge] = {
        Event.CSI_NODE_ADD: always,
        Event.CSI_NODE_UPDATE: _limit_raised,
        Event.ASSIGNED_POD_DELETE: _held_volumes,
    }
    return (Interest(anyhow), Interest({Event.CLAIM_ADD: _is_its_claim, Event.ATTACHMENT_DELETE: _detached}, _uses))


def zones() -> Interests:
    """VolumeZone: a volume, or a node, says another zone; or a claim of the pod, or a class that waits for it, came."""
    anyhow: dict[Event, Judge] = {
        Event.CLASS_ADD: lambda _, __, new: when(new.volume_binding_mode == WAITS_FOR_CONSUMER),
        Event.NODE_ADD: always,
        Event.NODE_LABEL: always,
        Event.VOLUME_ADD: always,
        Event.VOLUME_UPDATE: _zone_changed,
    }
    return (Interest(anyhow), Interest(dict.fromkeys((Event.CLAIM_ADD, Event.CLAIM_UPDATE), _is_its_own_claim), _uses))


def binding() -> Interests:
    """VolumeBinding: a volume, a node, a class or room for volumes came, or a claim of the pod changed."""
    anyhow: dict[Event, Judge] = {
        Event.CLASS_ADD: always,
        Event.CLASS_UPDATE: _topologies_changed,
        Event.VOLUME_ADD: always,
        Event.VOLUME_UPDATE: always,
        Event.NODE_ADD: always,
        Event.NODE_LABEL: always,
        Event.CSI_NODE_ADD: always,
        Event.CSI_NODE_UPDATE: _migrated_otherwise,
        Event.CAPACITY_ADD: always,
        Event.CAPACITY_UPDATE: _capacity_grew,
    }
    own = dict.fromkeys((Event.CLAIM_ADD, Event.CLAIM_UPDATE), _is_its_claim)
    return (Interest(anyhow), Interest(own, _uses), Interest({Event.CSI_DRIVER_UPDATE: _capacity_ignored}, _drivers))


def _uses(pod: PendingPod) -> Hashable:
    return pod.pod.metadata.namespace, pod.request.volumes


def _drivers(pod: PendingPod) -> Hashable:
    return frozenset(volume.csi.driver for volume in pod.pod.spec.volumes if volume.csi is not None)


def _is_its_claim(pod: PendingPod, _: Any, new: PersistentVolumeClaim) -> Hint:
    same = pod.pod.metadata.namespace == new.metadata.namespace
    return when(same and any(use.name == new.metadata.name for use in pod.request.volumes.claims))


def _is_its_own_claim(pod: PendingPod, _: Any, new: PersistentVolumeClaim) -> Hint:
    """Look only at claims that the pod names itself, not at those made for it."""
    same = pod.pod.metadata.namespace == new.metadata.namespace
    return when(same and new.metadata.name in _named_claims(pod))


def _named_claims(pod: PendingPod) -> frozenset[str]:
    return frozenset(use.name for use in pod.request.volumes.claims if not use.ephemeral)


def _shared_volumes(pod: PendingPod, old: PendingPod, _: None) -> Hint:
    if pod.pod.metadata.namespace != old.pod.metadata.namespace:
        return Hint.SKIP
    disks = pod.request.volumes.disks
    clash = any(one.clashes(other) for one in disks for other in old.request.volumes.disks)
    return when(clash or bool(_named_claims(pod) & _named_claims(old)))


def _held_volumes(_: PendingPod, old: PendingPod, __: None) -> Hint:
    volumes = old.request.volumes
    placed = old.pod.spec.node_name or old.pod.status.nominated_node_name
    return when(bool(placed) and (bool(volumes.claims) or volumes.migratable))


def _limit_raised(_: PendingPod, old: CsiNode, new: CsiNode) -> Hint:
    """Compare the limits of each driver; one without a limit counts as 0."""
    before, after = _limits(old), _limits(new)
    return when(any(limit > before.get(name, 0) for name, limit in after.items()))


def _limits(node: CsiNode) -> dict[str, int]:
    return {driver.name: driver.allocatable.count or 0 for driver in node.spec.drivers or ()}


def _detached(pod: PendingPod, old: VolumeAttachment, _: None) -> Hint:
    """Take any claim for one whose volume was detached; a disk in the pod says which driver attaches it."""
    for volume in pod.pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return Hint.QUEUE
        if csi_migration.kind_of(volume) is None:
            continue
        found = csi_migration.inline(volume)
        if found is None:
            return Hint.ERROR
        if found.driver == old.spec.attacher:
            return Hint.QUEUE
    return Hint.SKIP


def _zone_changed(_: PendingPod, old: PersistentVolume, new: PersistentVolume) -> Hint:
    return when(tuple(volume_zone.zones(old)) != tuple(volume_zone.zones(new)))


def _topologies_changed(_: PendingPod, old: StorageClass, new: StorageClass) -> Hint:
    return when(old.allowed_topologies != new.allowed_topologies)


def _migrated_otherwise(_: PendingPod, old: CsiNode, new: CsiNode) -> Hint:
    before, after = (found.metadata.annotations.get(MIGRATED_PLUGINS, "") for found in (old, new))
    return when(before != after)


def _capacity_grew(_: PendingPod, old: CsiStorageCapacity, new: CsiStorageCapacity) -> Hint:
    before, after = storage_tables.most_bytes(old), storage_tables.most_bytes(new)
    return when(after is not None and (before is None or after > before))


def _capacity_ignored(pod: PendingPod, old: CsiDriver, new: CsiDriver) -> Hint:
    """Look for a driver of a volume in the pod itself whose capacity is asked for no more."""
    stopped = old.spec.storage_capacity and not new.spec.storage_capacity
    return when(stopped and new.metadata.name in {v.csi.driver for v in pod.pod.spec.volumes if v.csi is not None})
