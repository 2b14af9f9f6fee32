"""The claims of a pod looked up in the cluster: what is wrong with them for every node alike, and how they bind."""

from collections.abc import Iterator
from dataclasses import dataclass

from cluster_model.pod import PendingPod
from cluster_model.pod_volumes import ClaimUse
from cluster_model.storage_columns import Storage
from cluster_model.storage_objects import WAITS_FOR_CONSUMER, PersistentVolumeClaim
from scheduler_plugins.framework import PluginError

LOST = "Lost"


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a pod by what is to be done with them, each in the pod's order."""

    bound: tuple[PersistentVolumeClaim, ...] = ()
    delayed: tuple[PersistentVolumeClaim, ...] = ()  # they bind when the pod has a node
    immediate: tuple[PersistentVolumeClaim, ...] = ()  # they should be bound by now


def key(pod: PendingPod, use: ClaimUse) -> str:
    """Return the namespace and name of a claim that a pod uses."""
    return f"{pod.pod.metadata.namespace}/{use.name}"


def not_found(name: str) -> str:
    """Say as the API server does that a claim does not exist."""
    return f'persistentvolumeclaim "{name}" not found'


def foreign(pod: PendingPod, claim: PersistentVolumeClaim) -> str | None:
    """Say that a claim with the name of the pod's own was made for something else; None if it is the pod's."""
    if any(owner.controller and owner.uid == pod.pod.metadata.uid for owner in claim.metadata.owner_references):
        return None
    meta = pod.pod.metadata
    return f"PVC {claim.key} was not created for pod {meta.namespace}/{meta.name} (pod is not owner)"


def problem(pod: PendingPod, storage: Storage) -> str | None:
    """Say what is wrong with the first claim that cannot be used at all."""
    for use in pod.request.volumes.claims:
        claim = storage.claims.get(key(pod, use))
        said = _absent(use) if claim is None else _unusable(claim)
        if said is None and claim is not None and use.ephemeral:
            said = foreign(pod, claim)
        if said is not None:
            return said
    return None


def sort_out(pod: PendingPod, storage: Storage) -> Claims:
    """Sort the claims of a pod, none of which has a problem."""
    found = tuple(_found(pod, storage))
    modes = tuple(_mode(claim, storage) for claim in found)
    kinds = ("bound", "delayed", "immediate")
    return Claims(*(tuple(one for one, mode in zip(found, modes, strict=True) if mode == kind) for kind in kinds))


def _found(pod: PendingPod, storage: Storage) -> Iterator[PersistentVolumeClaim]:
    for use in pod.request.volumes.claims:
        claim = storage.claims.get(key(pod, use))
        if claim is not None:
            yield claim


def _mode(claim: PersistentVolumeClaim, storage: Storage) -> str:
    if claim.fully_bound:
        return "bound"
    found = storage.classes.get(claim.class_name)
    if found is None or not claim.class_name:
        return "immediate"
    if not found.volume_binding_mode:
        said = f'VolumeBindingMode not set for StorageClass "{claim.class_name}"'
        raise PluginError(f'running PreFilter plugin "VolumeBinding": {said}')
    waits = found.volume_binding_mode == WAITS_FOR_CONSUMER and not claim.spec.volume_name
    return "delayed" if waits else "immediate"


def _absent(use: ClaimUse) -> str:
    if use.ephemeral:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{use.name}"'
    return not_found(use.name)


def _unusable(claim: PersistentVolumeClaim) -> str | None:
    name = claim.metadata.name
    if claim.status.phase == LOST:
        volume = claim.spec.volume_name
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    return f'persistentvolumeclaim "{name}" is being deleted' if claim.metadata.deletion_timestamp else None
