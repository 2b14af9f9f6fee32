"""VolumeRestrictions: keep pods apart that cannot share a disk, and let only one pod use a ReadWriteOncePod claim."""

import numpy as np

from cluster_model.columns import sealed
from cluster_model.pod import PendingPod
from cluster_model.pod_volumes import DiskUse
from cluster_model.snapshot import Snapshot
from cluster_model.storage_columns import Storage
from cluster_model.verdict import Event, Reason
from scheduler_plugins import volume_claims
from scheduler_plugins.framework import ReasonSet, Verdict, cures

NAME = "VolumeRestrictions"
CURES = cures(Event.NODE_ADD, Event.ASSIGNED_POD_DELETE, Event.CLAIM_ADD)
NO_DISK = Reason("node(s) had no available disk", CURES)
IN_USE = Reason(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    CURES,
)
CURES_ABSENT = cures(Event.CLAIM_ADD)
ONE_POD = "ReadWriteOncePod"


def refuse(pod: PendingPod, snapshot: Snapshot) -> ReasonSet:
    """Refuse a pod that uses a claim which does not exist: nobody could say how it may be shared."""
    for use in pod.request.volumes.claims:
        if not use.ephemeral and volume_claims.key(pod, use) not in snapshot.storage.claims:
            return (Reason(volume_claims.not_found(use.name), CURES_ABSENT),)
    return ()


def skips(pod: PendingPod, snapshot: Snapshot) -> bool:
    """Say whether the pod names no disk and nobody uses a claim of its that is for one pod.

    kube-scheduler then leaves the plugin out for that pod, also where it supposes others that wait to be there.
    """
    return not pod.request.volumes.disks and not _used_by_another(pod, snapshot.storage)


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes whose pods hold a disk of the pod, and all nodes for a claim that only one pod may use."""
    volumes, storage = pod.request.volumes, snapshot.storage
    if not volumes.disks and not volumes.claims:
        return None
    codes = np.zeros(len(snapshot), np.uint8)
    if _used_by_another(pod, storage):
        codes[:] = 2
    if volumes.disks:
        codes[storage.disks.where(lambda held: _clash(volumes.disks, held))] = 1
    return Verdict(sealed(codes), ((NO_DISK,), (IN_USE,))) if codes.any() else None


def _clash(wanted: frozenset[DiskUse], held: frozenset[DiskUse]) -> bool:
    return any(one.clashes(other) for one in wanted for other in held)


def _used_by_another(pod: PendingPod, storage: Storage) -> bool:
    for use in pod.request.volumes.claims:
        key = volume_claims.key(pod, use)
        claim = None if use.ephemeral else storage.claims.get(key)
        if claim is not None and ONE_POD in claim.spec.access_modes and storage.in_use(key):
            return True
    return False
