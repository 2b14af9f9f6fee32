"""NodeVolumeLimits: a CSI driver attaches no more volumes to a node than it says, and only where it is installed."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from cluster_model import counted_volumes
from cluster_model.columns import Amounts, Mask, sealed
from cluster_model.counted_volumes import Counted
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.storage_columns import CsiFacts, Storage
from cluster_model.verdict import Event, Reason
from scheduler_plugins import volume_claims
from scheduler_plugins.framework import FITS, PluginError, ReasonSet, Verdict, cures

NAME = "NodeVolumeLimits"
CURES = cures(
    Event.CSI_NODE_ADD,
    Event.CSI_NODE_UPDATE,
    Event.ASSIGNED_POD_DELETE,
    Event.CLAIM_ADD,
    Event.ATTACHMENT_DELETE,
)
TOO_MANY = Reason("node(s) exceed max volume count", CURES)
CURES_ABSENT = cures(Event.CLAIM_ADD)


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes without the driver of one of the pod's volumes, then those that have no room for all of them."""
    volumes, storage = pod.request.volumes, snapshot.storage
    if not volumes.claims and not volumes.attached:
        return None
    absent = _absent(pod, storage)
    if absent is not None:
        return Verdict.where(np.ones(len(snapshot), np.bool_), absent)
    new = dict.fromkeys(_new(pod, storage))
    if not new:
        return None
    codes, table = np.zeros(len(snapshot), np.uint8), list[ReasonSet]()
    for rejected, reason in (*_missing(tuple(new), storage), (_full(tuple(new), storage), TOO_MANY)):
        table.append((reason,))
        codes[(codes == FITS) & rejected] = len(table)
    return Verdict(sealed(codes), tuple(table)) if codes.any() else None


def _absent(pod: PendingPod, storage: Storage) -> Reason | None:
    """Say that a claim of the pod does not exist, or fail where one is another pod's."""
    for use in pod.request.volumes.claims:
        key = volume_claims.key(pod, use)
        claim = storage.claims.get(key)
        if claim is None:
            return Reason(f"looking up PVC {key}: {volume_claims.not_found(use.name)}", CURES_ABSENT)
        foreign = volume_claims.foreign(pod, claim) if use.ephemeral else None
        if foreign is not None:
            raise PluginError(f'running "{NAME}" filter plugin: {foreign}')
    return None


def _new(pod: PendingPod, storage: Storage) -> Iterator[Counted]:
    """Yield the pod's volumes that count; a claim whose volume is still to be made counts by its class."""
    for use in pod.request.volumes.claims:
        claim = storage.claims[volume_claims.key(pod, use)]
        volume = storage.volumes.get(claim.spec.volume_name)
        found = counted_volumes.of(claim, volume, storage.classes)
        if found is not None:
            yield found
    for disk in pod.request.volumes.attached:
        yield Counted(disk, migrated=True)


def _missing(new: tuple[Counted, ...], storage: Storage) -> Iterator[tuple[Mask, Reason]]:
    """Yield for each driver that asks for it where it is not installed."""
    for driver in dict.fromkeys(one.volume.driver for one in new):
        found = storage.drivers.get(driver)
        if found is None or not found.spec.prevent_pod_scheduling_if_missing:
            continue
        bare = any(one.volume.driver == driver and not one.migrated for one in new)
        rejected = storage.csi_nodes.where(partial(_lacks, driver, bare))
        yield rejected, Reason(f"{driver} CSI driver is not installed on the node", CURES)


def _lacks(driver: str, bare: bool, facts: CsiFacts | None) -> bool:
    """Say whether a node lacks a driver; `bare` says it of nodes that say nothing of drivers."""
    return bare if facts is None else driver not in facts.drivers


def _full(new: tuple[Counted, ...], storage: Storage) -> Mask:
    """Return which nodes would have more volumes of some driver than it can attach there."""
    full: Mask = np.zeros(len(storage.csi_nodes.numbers), np.bool_)
    for driver in dict.fromkeys(one.volume.driver for one in new):
        limit = storage.limit(driver)
        more: Amounts = np.zeros(len(full), np.int64)
        for volume in {one.volume for one in new if one.volume.driver == driver}:
            more += ~storage.uses(volume)
        full |= (limit >= 0) & (more > 0) & (storage.attached.get(driver, 0) + more > limit)
    return full
