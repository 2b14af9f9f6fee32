"""The scheduler as a real process on a real control plane, and what the tests ask of both."""

import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.control_plane import nodes, waiting
from tests.control_plane.api import Json
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.program import Program

NUMBERS = itertools.count()
# Short terms, so that a takeover takes seconds.
ELECTION = {
    "resourceNamespace": "kube-system",
    "leaseDuration": "3s",
    "renewDeadline": "2s",
    "retryPeriod": "500ms",
}


class Scheduler(Program):
    """One process of `gpu-scheduler run`."""

    def __init__(
        self, plane: ControlPlane, kubeconfig: Path | None = None, packages: Path | None = None, **settings: Any
    ) -> None:
        """`packages` is a directory of packages beside those of this environment."""
        number = next(NUMBERS)
        config = plane.home / f"scheduler-{number}.yaml"
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        config.write_text(yaml.safe_dump({**head, "leaderElection": ELECTION, **settings}))
        command = ["run", f"--config={config}", f"--kubeconfig={kubeconfig or plane.kubeconfig}"]
        binary = Path(sys.executable).with_name("gpu-scheduler")
        options = ["--bind-address=127.0.0.1", "--port=0"]
        environment = None if packages is None else {**os.environ, "PYTHONPATH": str(packages)}
        super().__init__(plane.spawn(f"gpu-scheduler-{number}", [binary, *command, *options], environment))

    def wait_ready(self) -> None:
        self.process.wait_until(lambda: self.get("/readyz")[0] == 200, "/readyz")

    def wait_deciding(self) -> None:
        self.process.wait_until(lambda: bool(self.lines("deciding")), "decisions")

    def signal(self, number: int) -> None:
        self.process.signal(number)

    def wait_exit(self, timeout_seconds: float = 20) -> int:
        waiting.until(lambda: self.process.exit_code() is not None, "the process's end", timeout_seconds)
        code = self.process.exit_code()
        assert code is not None
        return code


@contextmanager
def scheduler(
    plane: ControlPlane, kubeconfig: Path | None = None, packages: Path | None = None, **settings: Any
) -> Iterator[Scheduler]:
    """A running process that is stopped at the end, if the test has not done so."""
    running = Scheduler(plane, kubeconfig, packages, **settings)
    try:
        yield running
    finally:
        running.process.stop()


def gpu_nodes(plane: ControlPlane, *names: str, gpus: int = 8) -> None:
    """Register nodes that nobody has to keep alive for an hour."""
    for name in names:
        created = plane.api.post("/api/v1/nodes", nodes.registration(nodes.gpu_node(name, gpus)))
        plane.api.post(nodes.LEASES, nodes.lease(created))
    wanted = set(names)

    def all_ready() -> bool:
        listed = plane.api.get("/api/v1/nodes")["items"]
        return wanted <= {node["metadata"]["name"] for node in listed if nodes.is_ready(node)}

    waiting.until(all_ready, f"{len(wanted)} nodes ready")


def pod(name: str, gpus: int = 1, **spec: Any) -> Json:
    """A pod of ours; a GPU limit becomes its request on the server."""
    metadata = {"name": name, "annotations": spec.pop("annotations", {})}
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    containers = [{"name": "c", "image": "registry.example/app:1", "resources": {"limits": limits}}]
    return {"metadata": metadata, "spec": {"schedulerName": "gpu-scheduler", "containers": containers, **spec}}


def labelled(found: Json, **labels: str) -> Json:
    """The same pod with labels."""
    found["metadata"]["labels"] = labels
    return found


class Namespace:
    """One namespace's pods and events as a user sees them."""

    def __init__(self, plane: ControlPlane, name: str) -> None:
        self.plane, self.name = plane, name
        self._path = f"/api/v1/namespaces/{name}/pods"

    def create(self, *documents: Json) -> None:
        for document in documents:
            self.plane.api.post(self._path, document)

    def pods(self) -> dict[str, Json]:
        return {pod["metadata"]["name"]: pod for pod in self.plane.api.get(self._path)["items"]}

    def places(self) -> dict[str, str]:
        """Pod name -> node name, of those that have one."""
        return {name: pod["spec"]["nodeName"] for name, pod in self.pods().items() if "nodeName" in pod["spec"]}

    def gpus_by_node(self) -> Counter[str]:
        """What was given out."""
        taken: Counter[str] = Counter()
        for found in self.pods().values():
            if "nodeName" in found["spec"]:
                limits = found["spec"]["containers"][0]["resources"].get("limits", {})
                taken[found["spec"]["nodeName"]] += int(limits.get("nvidia.com/gpu", "0"))
        return taken

    def condition(self, name: str) -> Json:
        """The pod's PodScheduled condition, empty where there is none."""
        conditions = self.pods()[name]["status"].get("conditions", [])
        return next((found for found in conditions if found["type"] == "PodScheduled"), {})

    def events(self, name: str, reason: str) -> list[Json]:
        listed = self.plane.api.get(f"/apis/events.k8s.io/v1/namespaces/{self.name}/events")["items"]
        return [event for event in listed if event["regarding"]["name"] == name and event["reason"] == reason]

    def wait_bound(self, count: int, timeout_seconds: float = 60) -> None:
        waiting.until(lambda: len(self.places()) >= count, f"{count} pods bound in {self.name}", timeout_seconds)

    def wait_condition(self, name: str, reason: str) -> Json:
        waiting.until(lambda: self.condition(name).get("reason") == reason, f"condition {reason} of {name}")
        return self.condition(name)


@contextmanager
def own_namespace(plane: ControlPlane) -> Iterator[Namespace]:
    """Make a namespace; its pods are gone in the end."""
    name = f"t{time.time_ns()}"
    plane.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    waiting.until(plane.api.probe(f"/api/v1/namespaces/{name}/serviceaccounts/default"), "the default ServiceAccount")
    found = Namespace(plane, name)
    yield found
    plane.api.delete(f"/api/v1/namespaces/{name}/pods", {"gracePeriodSeconds": 0})
    waiting.until(lambda: not found.pods(), "no pods")
