"""Small pods, nodes and clocks for the tests of the scheduler process."""

from typing import Any

import msgspec

from cluster_model import objects
from cluster_model.pod import PendingPod

SCHEDULER = "gpu-scheduler"


def pod(name: str = "p", **found: Any) -> objects.Pod:
    """A pod of ours; `node`, `priority`, `gates`, `gpu`, `claims`, `scheduler`, `labels`, `phase` and more."""
    gpu = found.get("gpu", 0)
    limits = {"nvidia.com/gpu": str(gpu)} if gpu else {}
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "resourceVersion": found.get("version", "1"),
        "creationTimestamp": found.get("created", "2026-01-01T00:00:00Z"),
        "deletionTimestamp": found.get("deleted", ""),
        "labels": found.get("labels", {}),
        "annotations": found.get("annotations", {}),
    }
    spec = {
        "schedulerName": found.get("scheduler", SCHEDULER),
        "nodeName": found.get("node", ""),
        "priority": found.get("priority", 0),
        "tolerations": found.get("tolerations", []),
        "schedulingGates": [{"name": gate} for gate in found.get("gates", ())],
        "containers": [{"name": "c", "resources": {"limits": limits, "requests": limits}}],
        "volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in found.get("claims", ())],
    }
    status = {"phase": found.get("phase", "Pending"), "conditions": found.get("conditions", [])}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, objects.Pod)


def pending(name: str = "p", **found: Any) -> PendingPod:
    """The same, read."""
    return PendingPod.read(pod(name, **found))


def node(name: str = "n", gpu: int = 8, **found: Any) -> objects.Node:
    """A node with GPUs; `labels`, `allocatable`, `taints`, `unschedulable`."""
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", **({"nvidia.com/gpu": str(gpu)} if gpu else {})}
    amounts |= found.get("allocatable", {})
    plain = {
        "metadata": {"name": name, "labels": found.get("labels", {}), "annotations": found.get("annotations", {})},
        "spec": {"unschedulable": found.get("unschedulable", False), "taints": found.get("taints", [])},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
    return msgspec.convert(plain, objects.Node)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def move(self, seconds: float) -> None:
        self.seconds += seconds
