"""VolumeZone: a volume that is labelled with zones or regions can only be used by nodes there.

A node without any such label is taken to be in no zone at all, where every volume can be used.
"""

from collections.abc import Iterator

import numpy as np

from cluster_model.columns import Mask
from cluster_model.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONES_DELIMITER
from cluster_model.pod import PendingPod
from cluster_model.snapshot import NodeColumns, Snapshot
from cluster_model.storage_columns import Storage
from cluster_model.storage_objects import WAITS_FOR_CONSUMER, PersistentVolume, PersistentVolumeClaim
from cluster_model.verdict import Event, Reason
from scheduler_plugins import volume_claims
from scheduler_plugins.framework import ReasonSet, Verdict, cures

NAME = "VolumeZone"
CURES = cures(
    Event.CLASS_ADD,
    Event.NODE_ADD,
    Event.NODE_LABEL,
    Event.CLAIM_ADD,
    Event.CLAIM_UPDATE,
    Event.VOLUME_ADD,
    Event.VOLUME_UPDATE,
)
ELSEWHERE = Reason("node(s) had no available volume zone", CURES)
UNNAMED_CLAIM = Reason("PersistentVolumeClaim had no name", CURES)
NO_CLASS = Reason("PersistentVolumeClaim had no pv name and storageClass name", CURES)
UNNAMED_VOLUME = Reason("PersistentVolume had no name", CURES)
LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
NEWER = {BETA_ZONE: ZONE, BETA_REGION: REGION}


def refuse(pod: PendingPod, snapshot: Snapshot) -> ReasonSet:
    """Refuse a pod with a claim whose volume should be known by now and is not."""
    for use in pod.request.volumes.claims:
        if use.ephemeral:
            continue
        claim = snapshot.storage.claims.get(volume_claims.key(pod, use))
        found = _absent(use.name) if claim is None else _unknown(claim, snapshot.storage)
        if found is not None:
            return (found,)
    return ()


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes in another zone or region than one of the pod's volumes."""
    places = tuple(_places(pod, snapshot.storage))
    if not places:
        return None
    nodes = snapshot.nodes
    return nodes.remembered((NAME, places), lambda: Verdict.where(_elsewhere(places, nodes), ELSEWHERE))


def zones(volume: PersistentVolume) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each label that places a volume, with the values that it allows; one with an empty value says nothing."""
    for label in LABELS:
        text = volume.metadata.labels.get(label)
        values = frozenset(value.strip() for value in text.split(ZONES_DELIMITER)) if text is not None else frozenset()
        if values and "" not in values:
            yield label, values


def _absent(name: str) -> Reason:
    return Reason(volume_claims.not_found(name), CURES) if name else UNNAMED_CLAIM


def _unknown(claim: PersistentVolumeClaim, storage: Storage) -> Reason | None:
    volume, name = claim.spec.volume_name, claim.class_name
    if volume:
        known = volume in storage.volumes
        return None if known else Reason(f'persistentvolume "{volume}" not found', CURES)
    if not name:
        return NO_CLASS
    found = storage.classes.get(name)
    if found is None:
        return Reason(f'storageclass.storage.k8s.io "{name}" not found', CURES)
    if not found.volume_binding_mode:
        return Reason(f'VolumeBindingMode not set for StorageClass "{name}"', CURES)
    return None if found.volume_binding_mode == WAITS_FOR_CONSUMER else UNNAMED_VOLUME


def _places(pod: PendingPod, storage: Storage) -> Iterator[tuple[str, frozenset[str]]]:
    for use in pod.request.volumes.claims:
        claim = None if use.ephemeral else storage.claims.get(volume_claims.key(pod, use))
        volume = None if claim is None else storage.volumes.get(claim.spec.volume_name)
        if volume is not None:
            yield from zones(volume)


def _elsewhere(places: tuple[tuple[str, frozenset[str]], ...], nodes: NodeColumns) -> Mask:
    placed: Mask = np.zeros(len(nodes.names), np.bool_)
    for label in LABELS:
        placed |= ~nodes.label(label).among([None])
    rejected: Mask = np.zeros(len(nodes.names), np.bool_)
    for label, values in places:
        column, newer = nodes.label(label), nodes.label(NEWER.get(label, label))
        rejected |= ~(column.among(values) | (column.among([None]) & newer.among(values)))
    return rejected & placed
