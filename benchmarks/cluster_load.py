"""The load of the throughput benchmark: GPU nodes, one-GPU pods, and the time from first to last bind as watched.

It uses the tests' own client, so that what is measured does not measure itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.control_plane import nodes, waiting
from tests.control_plane.api import Api, Json
from tests.control_plane.follower import Follower
from tests.control_plane.kubelet import Kubelet

WORKERS = 8
MODEL_LABELS = {
    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    "nvidia.com/gpu.memory": "81559",
    "nvidia.com/gpu.count": "8",
}
RESOURCES = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}


@dataclass(frozen=True, slots=True)
class BindSpan:
    """When the first and the last of `count` binds were seen, on the monotonic clock."""

    first_seconds: float
    last_seconds: float
    count: int

    @property
    def pods_per_second(self) -> float:
        """Binds after the first one, per second."""
        return (self.count - 1) / (self.last_seconds - self.first_seconds)


def create_nodes(kubelet: Kubelet, count: int, gpus: int = 8, timeout_seconds: float = 120) -> list[str]:
    """Register nodes `gpu-0000`… and return once a pod could be bound to each."""
    documents = [nodes.gpu_node(f"gpu-{number:04}", gpus, MODEL_LABELS) for number in range(count)]
    names = kubelet.create_nodes(documents)
    kubelet.wait_ready(names, timeout_seconds)
    return names


@contextmanager
def namespace(api: Api, name: str) -> Iterator[str]:
    """A namespace where pods can be created; its pods are gone at the end, its events die with the cluster."""
    api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    waiting.until(api.probe(f"/api/v1/namespaces/{name}/serviceaccounts/default"), f"default ServiceAccount in {name}")
    try:
        yield name
    finally:
        delete_pods(api, name)


def create_pods(kubeconfig: Path, namespace: str, scheduler_name: str, count: int) -> list[str]:
    """Create pods `pod-0000`… that ask for one GPU each."""
    api = Api(kubeconfig, connections=WORKERS)
    names = [f"pod-{number:04}" for number in range(count)]
    path = f"/api/v1/namespaces/{namespace}/pods"
    with ThreadPoolExecutor(WORKERS) as workers:
        list(workers.map(lambda name: api.post(path, gpu_pod(name, scheduler_name)), names))
    api.close()
    return names


def delete_pods(api: Api, namespace: str) -> None:
    """Delete all pods of a namespace, without grace, and return once they are gone."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    api.delete(path, {"gracePeriodSeconds": 0})
    waiting.until(lambda: not api.get(path, limit="1")["items"], f"no pods in {namespace}")


def gpu_pod(name: str, scheduler_name: str) -> Json:
    """A pod that asks for one GPU of any model."""
    container = {
        "name": "main",
        "image": "example.com/app:1",
        "resources": {"requests": RESOURCES, "limits": RESOURCES},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "throughput"}},
        "spec": {"schedulerName": scheduler_name, "containers": [container]},
    }


class BindWatch:
    """Sees binds in one namespace, from `start` on; a cut watch resumes, so that none is missed."""

    def __init__(self, kubeconfig: Path, namespace: str, count: int) -> None:
        # A pod enters the selection when it is bound: no other event of it comes before.
        path = f"/api/v1/namespaces/{namespace}/pods"
        self._api = Api(kubeconfig, connections=1)
        self._follower = Follower(self._api, path, self._see, fieldSelector="spec.nodeName!=")
        self._count = count
        self._seen: dict[str, float] = {}
        self._complete = threading.Event()

    def start(self) -> None:
        """Return once every bind from now on will be seen."""
        self._follower.start()
        waiting.until(lambda: self._follower.watches > 0, "the watch for binds", pause_seconds=0.01)
        if self._seen:
            raise RuntimeError(f"{len(self._seen)} pods were bound before the watch began")

    def wait(self, timeout_seconds: float = 120) -> BindSpan:
        """Return once all pods are bound."""
        if not self._complete.wait(timeout_seconds):
            raise TimeoutError(f"{len(self._seen)} of {self._count} pods bound in {timeout_seconds:.0f} s")
        return BindSpan(min(self._seen.values()), max(self._seen.values()), self._count)

    def stop(self) -> None:
        """End the watch."""
        self._follower.stop()
        self._api.close()

    def _see(self, kind: str, pod: Json) -> None:
        if kind == "ADDED":
            self._seen.setdefault(pod["metadata"]["uid"], time.monotonic())
        if len(self._seen) == self._count:
            self._complete.set()


@contextmanager
def bind_watch(kubeconfig: Path, namespace: str, count: int) -> Iterator[BindWatch]:
    """A started BindWatch, for binds that are about to begin."""
    watch = BindWatch(kubeconfig, namespace, count)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def bind_span(kubeconfig: Path, namespace: str, count: int, timeout_seconds: float = 120) -> BindSpan:
    """Wait for that many binds, which must not have begun yet; use `bind_watch` where they begin at once."""
    with bind_watch(kubeconfig, namespace, count) as watch:
        return watch.wait(timeout_seconds)
