"""Builders of storage objects as plain JSON, and the volumes by which a pod uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.differential.documents import Document
from tests.differential.world import World

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def storage_class(name: str, provisioner: str, **fields: Any) -> Document:
    """Build a class; further keywords are its fields."""
    return {"metadata": {"name": name}, "provisioner": provisioner, **fields}


def claim(name: str, size: str, **spec: Any) -> Document:
    """Build a claim that is not bound; further keywords are fields of its spec."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": {}}, "spec": wanted}


def volume(name: str, size: str, **spec: Any) -> Document:
    """Build a volume that is free; further keywords are fields of its spec."""
    held = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], **spec}
    if not any(kind in held for kind in ("gcePersistentDisk", "awsElasticBlockStore", "hostPath")):
        held.setdefault("csi", {"driver": "csi.example.com", "volumeHandle": f"handle-{name}"})
    return {"metadata": {"name": name, "labels": {}}, "spec": held, "status": {"phase": "Available"}}


def reference(found: Document, uid: str | None = None) -> Document:
    """Refer to a claim as a volume does; `uid` may be another than its own, or empty."""
    meta = found["metadata"]
    told = meta["uid"] if uid is None else uid
    named = {"kind": "PersistentVolumeClaim", "namespace": meta["namespace"], "name": meta["name"]}
    return named | ({"uid": told} if told else {})


def bind(one: Document, held: Document) -> None:
    """Bind a claim and a volume to each other."""
    one["spec"]["volumeName"] = held["metadata"]["name"]
    one["metadata"]["annotations"][BIND_COMPLETED] = "yes"
    one["status"] = {"phase": "Bound"}
    held["spec"]["claimRef"] = reference(one)
    held["status"] = {"phase": "Bound"}


def affinity(*requirements: Document) -> Document:
    """Build a volume's node affinity of one term."""
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": list(requirements)}]}}


def csi_node(world: World, node: Document) -> Document:
    """Return the CSINode of a node, made at the first call."""
    name = node["metadata"]["name"]
    known = world.others.setdefault("csiNodes", [])
    for found in known:
        if found["metadata"]["name"] == name:
            return found
    known.append({"metadata": {"name": name, "annotations": {}}, "spec": {"drivers": []}})
    return known[-1]


def driver_on(world: World, node: Document, driver: str, count: int | None) -> None:
    """Install a driver on a node, with the number of volumes that it can attach."""
    entry: Document = {"name": driver, "nodeID": node["metadata"]["name"]}
    if count is not None:
        entry["allocatable"] = {"count": count}
    csi_node(world, node)["spec"]["drivers"].append(entry)


def add(world: World, kind: str, found: Document) -> Document:
    """Put an object into the case."""
    world.others.setdefault(kind, []).append(found)
    return found


def mount(pod: Document, name: str, source: Mapping[str, Any]) -> None:
    """Give a pod a volume."""
    pod["spec"].setdefault("volumes", []).append({"name": name, **source})


def mount_claim(pod: Document, name: str, claim_name: str) -> None:
    """Let a pod use a claim."""
    mount(pod, name, {"persistentVolumeClaim": {"claimName": claim_name}})
