"""What the tests of the deletion cost act on: the whole product on a control plane, and pods that can be asked."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.control_plane import waiting
from tests.control_plane.api import Api, Json
from tests.control_plane.bundle import Bundle
from tests.control_plane.kubelet import Kubelet
from tests.control_plane.metrics_api import MetricsApi
from tests.control_plane.pod_endpoints import PodEndpoints
from tests.control_plane.prometheus import Prometheus

COST = "controller.kubernetes.io/pod-deletion-cost"
SWITCH = "scheduling.gpu/deletion-cost"
NAMESPACE = "default"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
AUTOSCALERS = f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
LONG_SECONDS = 120  # the machine may be busy with something else

# Everything as fast as a test wants it; what is tried is who goes, not how slowly.
QUICK: Json = {
    "pollSeconds": 0.5,
    "policy": {"warmupSeconds": 1},
    "warming": {"longestSeconds": 60},
    "budget": {
        "writesPerSecond": 200,
        "burst": 200,
        "refinementsPerSecond": 50,
        "minIntervalSeconds": 0.5,
        "spreadSeconds": 0,
    },
    "missing": {"holdPolls": 3},
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A running cluster: webhook, scheduler and controller, nodes with GPUs, pods with endpoints."""

    bundle: Bundle
    kubelet: Kubelet
    endpoints: PodEndpoints
    metrics: MetricsApi
    prometheus: Prometheus
    told_to_prometheus: dict[str, float]  # active requests by pod

    @property
    def api(self) -> Api:
        """The administrator's client."""
        return self.bundle.plane.api

    def create(self, name: str, replicas: int, **wishes: str) -> None:
        """Create a Deployment; `wishes` become annotations of its pods: `mode="all"`."""
        annotations = {f"{SWITCH}-{key}": value for key, value in {"port": str(self.endpoints.port), **wishes}.items()}
        self.api.post(DEPLOYMENTS, deployment(name, replicas, annotations))

    def autoscale(self, name: str, least: int, most: int, **behavior: Any) -> None:
        """Create a HorizontalPodAutoscaler on CPU."""
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
        spec: Json = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most}
        spec["metrics"] = [{"type": "Resource", "resource": resource}]
        if behavior:
            spec["behavior"] = {"scaleDown": behavior}
        self.api.post(AUTOSCALERS, {"metadata": {"name": name}, "spec": spec})

    def scale(self, name: str, replicas: int) -> None:
        """Set the number of replicas as `kubectl scale` does."""
        self.api.patch(f"{DEPLOYMENTS}/{name}", {"spec": {"replicas": replicas}})

    def remove(self, *names: str) -> None:
        """Delete Deployments with all they own, and wait for it."""
        for name in names:
            self.api.delete(f"{DEPLOYMENTS}/{name}", {"propagationPolicy": "Background"})
        waiting.until(lambda: not any(self.pods(name) for name in names), "the pods gone", LONG_SECONDS)

    def pods(self, name: str) -> list[Json]:
        """A Deployment's pods, those on their way out left aside."""
        listed = self.api.get(PODS, labelSelector=f"app={name}")["items"]
        return [pod for pod in listed if "deletionTimestamp" not in pod["metadata"]]

    def by_app(self) -> dict[str, list[Json]]:
        """All pods in one list call, by Deployment."""
        found: dict[str, list[Json]] = {}
        for pod in self.api.get(PODS)["items"]:
            if "deletionTimestamp" not in pod["metadata"]:
                found.setdefault(pod["metadata"]["labels"].get("app", ""), []).append(pod)
        return found

    def wait_ready(self, names: Sequence[str], count: int) -> dict[str, list[Json]]:
        """Wait until every one of the Deployments has so many Ready pods; give them."""

        def ready() -> bool:
            found = self.by_app()
            return all(len(list(filter(is_ready, found.get(name, [])))) == count for name in names)

        waiting.until(ready, f"{len(names)} Deployments with {count} Ready pods", LONG_SECONDS, 0.2)
        found = self.by_app()
        return {name: found[name] for name in names}

    def load(self, pods: Iterable[Json], active_requests: float = 3, **others: float) -> None:
        """Let pods answer so from now on."""
        for pod in pods:
            self.endpoints.tell(pod["status"]["podIP"], {"active_requests": active_requests, **others})

    def events(self, name: str) -> list[Json]:
        """The events about an object of that name."""
        return [event for event in self.api.get(EVENTS)["items"] if event["regarding"].get("name") == name]


def deployment(name: str, replicas: int, annotations: Mapping[str, str], gpus: int = 1) -> Json:
    """A Deployment of GPU pods that end at once."""
    limits = {"cpu": "100m", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    container = {"name": "main", "image": "registry.example/main:1", "resources": {"limits": limits}}
    template = {
        "metadata": {"labels": {"app": name}, "annotations": {"gpu.nvidia.com/model": "A100", **annotations}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
    }
    selector = {"matchLabels": {"app": name}}
    return {"metadata": {"name": name}, "spec": {"replicas": replicas, "selector": selector, "template": template}}


def is_ready(pod: Json) -> bool:
    """Whether the pod is Ready."""
    conditions = pod["status"].get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def cost(pod: Json) -> int | None:
    """The pod's deletion cost; None without one."""
    value = pod["metadata"].get("annotations", {}).get(COST)
    return None if value is None else int(value)


def names(pods: Iterable[Json]) -> set[str]:
    """The pods' names."""
    return {pod["metadata"]["name"] for pod in pods}


def choose(pods: Sequence[Json], count: int, seed: str) -> list[Json]:
    """So many of the pods, the same ones for the same seed and order of names."""
    return random.Random(seed).sample(sorted(pods, key=lambda pod: pod["metadata"]["name"]), count)
