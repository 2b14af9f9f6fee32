"""The two writes by which a scheduler starts the binding of a claim; the volume controller does the rest.

Each is guarded by the version of the object that the decision rested on: one that has changed since is a conflict.
"""

from typing import Any

import msgspec

from cluster_model.storage_objects import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from kube_client.client import MERGE_PATCH, Client


async def claim(client: Client, volume: PersistentVolume) -> PersistentVolume:
    """Write the claim that a volume is wanted for; return the volume as the server has it then."""
    meta = volume.metadata
    body: dict[str, Any] = {
        "metadata": {"resourceVersion": meta.resource_version},
        "spec": {"claimRef": msgspec.to_builtins(volume.spec.claim_ref or ObjectReference())},
    }
    if BOUND_BY_CONTROLLER in meta.annotations:
        body["metadata"]["annotations"] = {BOUND_BY_CONTROLLER: meta.annotations[BOUND_BY_CONTROLLER]}
    answer = await client.patch(f"/api/v1/persistentvolumes/{meta.name}", body, MERGE_PATCH)
    return msgspec.json.decode(answer, type=PersistentVolume)


async def select_node(client: Client, wanted: PersistentVolumeClaim) -> PersistentVolumeClaim:
    """Write the node that a claim's volume is to be made for; return the claim as the server has it then."""
    meta = wanted.metadata
    node = meta.annotations[SELECTED_NODE]
    body = {"metadata": {"resourceVersion": meta.resource_version, "annotations": {SELECTED_NODE: node}}}
    path = f"/api/v1/namespaces/{meta.namespace}/persistentvolumeclaims/{meta.name}"
    answer = await client.patch(path, body, MERGE_PATCH)
    return msgspec.json.decode(answer, type=PersistentVolumeClaim)
