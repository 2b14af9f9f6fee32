"""The controller as a real process on a real control plane, and ReplicaSets of pods that answer for their load."""

import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from cluster_model.deletion_cost import ANNOTATION, SWITCH
from tests.control_plane import pods, waiting
from tests.control_plane.api import Json
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.pod_endpoints import PodEndpoints
from tests.control_plane.program import Program

NUMBERS = itertools.count()
# Never twice: what a pod has told stays told at its address.
ADDRESSES = (f"127.80.{high}.{low}" for high in range(256) for low in range(1, 250))
LONG_SECONDS = 60
# Quick, so that a test takes seconds.
QUICK: Json = {
    "pollSeconds": 0.5,
    "policy": {"warmupSeconds": 0.5},
    "budget": {"writesPerSecond": 100, "burst": 100, "minIntervalSeconds": 0.2, "spreadSeconds": 0},
    "leaderElection": {
        "namespace": "kube-system",
        "leaseSeconds": 3,
        "renewDeadlineSeconds": 2,
        "retrySeconds": 0.5,
    },
}


class Controller(Program):
    """One process of `gpu-scheduler deletion-cost`."""

    def __init__(self, plane: ControlPlane, kubeconfig: Path | None = None, **settings: Any) -> None:
        number = next(NUMBERS)
        config = plane.home / f"deletion-cost-{number}.yaml"
        config.write_text(yaml.safe_dump({**QUICK, **settings}))
        binary = Path(sys.executable).with_name("gpu-scheduler")
        options = [f"--config={config}", f"--kubeconfig={kubeconfig or plane.kubeconfig}", "--port=0"]
        command: list[str | Path] = [binary, "deletion-cost", *options, "--bind-address=127.0.0.1"]
        super().__init__(plane.spawn(f"deletion-cost-{number}", command))

    def metric(self, series: str) -> float:
        """One sample of /metrics by its name with labels; 0 where it is not there."""
        lines = self.get("/metrics")[1].splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == series), 0.0)

    def wait_deciding(self) -> None:
        self.process.wait_until(lambda: bool(self.lines("deciding")), "decisions", LONG_SECONDS)

    def wait_exit(self) -> int:
        waiting.until(lambda: self.process.exit_code() is not None, "the process's end", 20)
        code = self.process.exit_code()
        assert code is not None
        return code


@contextmanager
def controller(plane: ControlPlane, kubeconfig: Path | None = None, **settings: Any) -> Iterator[Controller]:
    """A running process that is stopped at the end, if the test has not done so."""
    running = Controller(plane, kubeconfig, **settings)
    try:
        yield running
    finally:
        running.process.stop()


class Workload:
    """One ReplicaSet whose pods run at loopback addresses; its annotations and loads are the test's."""

    def __init__(self, plane: ControlPlane, endpoints: PodEndpoints, namespace: str) -> None:
        self.plane, self.endpoints, self.namespace = plane, endpoints, namespace

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def create(self, name: str, replicas: int, switch: str | None = "on", **annotations: str) -> None:
        """Create the ReplicaSet; a key without a slash is one of our policy's."""
        keys = {f"{SWITCH}-port": str(self.endpoints.port)} | ({SWITCH: switch} if switch else {})
        keys |= {key if "/" in key else f"{SWITCH}-{key}": text for key, text in annotations.items()}
        template = {
            "metadata": {"labels": {"app": name}, "annotations": keys},
            "spec": {"nodeName": "nowhere", "containers": [{"name": "c", "image": "registry.example/app:1"}]},
        }
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
        self.plane.api.post(
            f"/apis/apps/v1/namespaces/{self.namespace}/replicasets", {"metadata": {"name": name}, "spec": spec}
        )
        waiting.until(lambda: len(self.pods(name)) == replicas, f"{replicas} pods of {name}", LONG_SECONDS)

    def start(self, name: str) -> list[str]:
        """Let all its pods run; give their names."""
        found = self.pods(name)
        for pod in found.values():
            self.plane.api.patch(f"{pods.path(pod)}/status", pods.running(pod, next(ADDRESSES)))
        return list(found)

    def pods(self, name: str) -> dict[str, Json]:
        listed = self.plane.api.get(self.path, labelSelector=f"app={name}")["items"]
        return {pod["metadata"]["name"]: pod for pod in listed if "deletionTimestamp" not in pod["metadata"]}

    def load(self, name: str, requests: int) -> None:
        """Set what a pod says of itself."""
        pod = self.plane.api.get(f"{self.path}/{name}")
        self.endpoints.tell(pod["status"]["podIP"], {"active_requests": requests})

    def costs(self, name: str) -> dict[str, str | None]:
        """Every pod's cost as it is stored."""
        found = self.pods(name)
        return {key: pod["metadata"].get("annotations", {}).get(ANNOTATION) for key, pod in found.items()}

    def wait_costs(self, name: str, wanted: dict[str, str | None]) -> None:
        """Wait until every pod has the cost that is wanted."""
        try:
            waiting.until(lambda: self.costs(name) == wanted, "the costs", 20)
        except TimeoutError as late:
            raise AssertionError(f"costs are {self.costs(name)}, wanted {wanted}") from late

    def annotate(self, name: str, **annotations: str | None) -> None:
        """Change annotations of a pod, as kubectl would."""
        keys = {key.replace("__", "/"): value for key, value in annotations.items()}
        self.plane.api.patch(f"{self.path}/{name}", {"metadata": {"annotations": keys}})

    def cost_writers(self, name: str) -> list[str]:
        """Who owns the cost, as managedFields tell."""
        meta = self.plane.api.get(f"{self.path}/{name}")["metadata"]
        fields = ((one["manager"], one["fieldsV1"].get("f:metadata", {})) for one in meta.get("managedFields", ()))
        return [manager for manager, found in fields if f"f:{ANNOTATION}" in found.get("f:annotations", {})]

    def events(self, name: str, reason: str) -> list[Json]:
        listed = self.plane.api.get(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")["items"]
        return [event for event in listed if event["regarding"]["name"] == name and event["reason"] == reason]
