"""What a kubelet reports of a pod, as patches of its status. Pure."""

from __future__ import annotations

from tests.control_plane.api import Json
from tests.control_plane.nodes import now

CONDITIONS = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


def path(pod: Json) -> str:
    """The pod's path at the API server."""
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def running(pod: Json, address: str) -> Json:
    """The patch of /status that says: all containers run and the pod is Ready."""
    started, spec = now(), pod["spec"]
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": started} for kind in CONDITIONS]
    status = {
        "phase": "Running",
        "startTime": started,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": conditions,
        "containerStatuses": [_running_container(container, started) for container in spec["containers"]],
        "initContainerStatuses": [_init_container(container, started) for container in spec.get("initContainers", [])],
    }
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}


def _running_container(container: Json, started: str) -> Json:
    return {**_container(container), "started": True, "state": {"running": {"startedAt": started}}}


def _init_container(container: Json, started: str) -> Json:
    if container.get("restartPolicy") == "Always":
        return _running_container(container, started)
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started}
    return {**_container(container), "started": False, "state": {"terminated": ended}}


def _container(container: Json) -> Json:
    image = container["image"]
    return {"name": container["name"], "image": image, "imageID": image, "ready": True, "restartCount": 0}
