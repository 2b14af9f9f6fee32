"""Objects that the end-to-end tests apply, and what they read back."""

import json
from typing import Any

from tests.control_plane.bundle import Bundle

Json = dict[str, Any]


def pod(name: str, gpus: int = 1, **annotations: str) -> Json:
    """A pod; `model="A100"` becomes the annotation gpu.nvidia.com/model."""
    limits = {"nvidia.com/gpu": gpus} if gpus else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {f"gpu.nvidia.com/{key}": value for key, value in annotations.items()},
        },
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "registry.example/main:1", "resources": {"limits": limits}}],
        },
    }


def deployment(name: str, replicas: int, **annotations: str) -> Json:
    """A Deployment of such pods."""
    template = pod(name, 1, **annotations)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": template["metadata"]["annotations"]},
                "spec": template["spec"],
            },
        },
    }


def apply(bundle: Bundle, *objects: Json, check: bool = True) -> str:
    """Apply objects with kubectl; all that it prints."""
    text = "\n---\n".join(map(json.dumps, objects))
    done = bundle.plane.kubectl("apply", "-f", "-", input=text, check=check)
    return done.stdout + done.stderr


def pods(bundle: Bundle, selector: str) -> list[Json]:
    """The pods of a label selector in the default namespace."""
    found: list[Json] = bundle.plane.api.get("/api/v1/namespaces/default/pods", labelSelector=selector)["items"]
    return found


def read(bundle: Bundle, name: str) -> Json:
    """One pod of the default namespace."""
    return bundle.plane.api.get(f"/api/v1/namespaces/default/pods/{name}")


def bound(found: list[Json], count: int) -> bool:
    """Whether there are that many pods, all on a node and running."""
    placed = [one for one in found if one["spec"].get("nodeName") and one["status"].get("phase") == "Running"]
    return len(found) == len(placed) == count


def events(bundle: Bundle, name: str) -> list[Json]:
    """The events about a pod, as `kubectl describe` shows them."""
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    return [event for event in bundle.plane.api.get(path)["items"] if event["regarding"].get("name") == name]
