"""Node documents as a kubelet would register them, from YAML as people dump it or from a few numbers. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from tests.control_plane.api import Json

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CONDITION_TAINTS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
# kept of a dumped node's metadata; the API server fills in the rest, or refuses it on creation
METADATA = ("name", "labels", "annotations")


def now(precise: bool = False) -> str:
    """The time as API objects have it; Leases want microseconds."""
    stamp = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds" if precise else "seconds")
    return stamp.replace("+00:00", "Z")


def from_yaml(path: Path) -> Iterator[Json]:
    """Every Node of a file with one or more documents or Lists."""
    with path.open() as file:
        for document in yaml.safe_load_all(file):
            for item in (document or {}).get("items", [document]):
                if item and item.get("kind") == "Node":
                    yield item


def gpu_node(name: str, gpus: int = 8, labels: Mapping[str, str] | None = None, cpu: int = 96) -> Json:
    """A node with `nvidia.com/gpu` in its status, roomy enough in everything else."""
    resources = {"cpu": str(cpu), "memory": "1Ti", "ephemeral-storage": "1Ti", "pods": "250"}
    if gpus:
        resources["nvidia.com/gpu"] = str(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {"capacity": resources, "allocatable": dict(resources)},
    }


def registration(document: Json) -> Json:
    """What the kubelet posts: the document without what only a server may say, Ready unless it says otherwise."""
    metadata = {key: value for key, value in document["metadata"].items() if key in METADATA}
    own = {"kubernetes.io/hostname": metadata["name"], "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    metadata["labels"] = own | (metadata.get("labels") or {})
    status = dict(document.get("status") or {})
    conditions = list(status.get("conditions") or [])
    if not any(condition["type"] == "Ready" for condition in conditions):
        conditions.append(ready_condition(True))
    status["conditions"] = conditions
    spec = dict(document.get("spec") or {})
    taints = [taint for taint in spec.get("taints") or [] if taint["key"] not in CONDITION_TAINTS]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {**spec, "taints": taints},
        "status": status,
    }


def ready_condition(ready: bool) -> Json:
    """The condition that the node lifecycle controller turns into taints."""
    status, reason = ("True", "KubeletReady") if ready else ("False", "KubeletNotReady")
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": f"the fake kubelet says {status}",
        "lastHeartbeatTime": now(),
        "lastTransitionTime": now(),
    }


def lease(node: Json) -> Json:
    """The node's heartbeat, garbage collected with the node."""
    name, uid = node["metadata"]["name"], node["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 3600, "renewTime": now(precise=True)},
    }


def is_ready(node: Json) -> bool:
    """Ready, and seen as such by the node lifecycle controller: its taints are gone."""
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return ready and not any(taint["key"] in CONDITION_TAINTS for taint in node["spec"].get("taints", []))
