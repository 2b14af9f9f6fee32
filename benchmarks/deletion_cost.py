"""What the deletion-cost controller writes and uses for 5,000 pods whose loads change, and whether the right ones go.

The pods are Ready and carry no cost; the controller starts, loads change for some minutes, then stand still; then every
Deployment shrinks by a fifth. Writes are counted by a watch, not by the controller.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from benchmarks import record
from benchmarks.pod_load import QUERY, Loads, Page, Pod
from benchmarks.throughput import Used
from tests.control_plane import build, nodes, waiting
from tests.control_plane.api import Api, Json
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.follower import Follower
from tests.control_plane.kubelet import LOOPBACK_NETWORK, Kubelet
from tests.control_plane.pod_endpoints import PodEndpoints
from tests.control_plane.processes import Process
from tests.control_plane.prometheus import Prometheus

COST = "controller.kubernetes.io/pod-deletion-cost"
SWITCH = "scheduling.gpu/deletion-cost"
NAMESPACE = "default"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
REDRAW_SECONDS, REDRAWN, STILL_SECONDS, SHRINK = 30.0, 0.05, 60.0, 0.2
LONG_SECONDS = 600.0
SEED = 20


@dataclass(slots=True)
class Seen:
    """What a watch has seen: the pods there are, and how often a cost changed."""

    costs: dict[str, str | None] = field(default_factory=dict)  # by uid
    pods: dict[str, Json] = field(default_factory=dict)
    writes: int = 0

    def see(self, kind: str, pod: Json) -> None:
        """Take one event."""
        uid, cost = pod["metadata"]["uid"], pod["metadata"].get("annotations", {}).get(COST)
        if kind == "DELETED" or "deletionTimestamp" in pod["metadata"]:
            self.pods.pop(uid, None)
            return
        self.writes += uid in self.costs and self.costs[uid] != cost
        self.costs[uid], self.pods[uid] = cost, pod

    def ready(self) -> dict[str, Pod]:
        """The Ready pods by uid."""
        return {uid: Pod.of(pod) for uid, pod in list(self.pods.items()) if pod["status"].get("podIP")}


@dataclass(frozen=True, slots=True)
class Phase:
    """What the controller did and used for a while."""

    seconds: float
    writes: int
    cpu_seconds: float
    rss_mib: float

    @property
    def writes_per_second(self) -> float:
        return self.writes / self.seconds

    @property
    def core_percent(self) -> float:
        return 100 * self.cpu_seconds / self.seconds

    @property
    def used(self) -> str:
        """Memory at its highest and processor time, those of the start included."""
        return f"rss_mib={self.rss_mib:.0f} core_percent={self.core_percent:.1f}"

    def __str__(self) -> str:
        return f"writes_per_second={self.writes_per_second:.2f} {self.used}"


@dataclass(frozen=True, slots=True)
class Bench:
    """A control plane with its pods, and what tells their loads."""

    plane: ControlPlane
    seen: Seen
    endpoints: PodEndpoints
    replicas: int
    names: Sequence[str]

    def controller(self, source: str, url: str) -> Process:
        """Start the controller with its defaults, but for the source and a global limit that does not help."""
        policy = {"source": source, "query": QUERY, "port": str(self.endpoints.port)}
        limits = {"writesPerSecond": 50, "burst": 50}
        config = {"policy": policy, "budget": limits, "sources": {"prometheus": {"url": url}}}
        path = self.plane.home / f"{source}.yaml"
        path.write_text(yaml.safe_dump({**config, "leaderElection": {"namespace": "kube-system"}}))
        command = ["deletion-cost", "--config", str(path), "--kubeconfig", str(self.plane.kubeconfig), "--port", "0"]
        return self.plane.spawn(f"controller-{source}", [Path(sys.executable).with_name("gpu-scheduler"), *command])

    def observe(self, controller: Process, loads: Loads, seconds: float) -> Phase:
        """Let loads change for a while, from the moment the controller was started."""
        begun, before = time.monotonic(), self.seen.writes
        while (left := begun + seconds - time.monotonic()) > 0:
            time.sleep(min(left, REDRAW_SECONDS))
            if left > REDRAW_SECONDS:
                loads.redraw(REDRAWN)
                loads.tell(self.endpoints)
        used = Used.by(controller.pid)
        return Phase(time.monotonic() - begun, self.seen.writes - before, used.cpu_seconds, used.rss_mib)

    def shrink(self) -> list[Pod]:
        """Take a fifth of every Deployment; give the pods that went."""
        before, left = self.seen.ready(), round(self.replicas * (1 - SHRINK))
        self.scale(left)
        self.wait(left * len(self.names))
        gone = before.keys() - self.seen.ready().keys()
        return [before[uid] for uid in gone]

    def scale(self, replicas: int) -> None:
        """Set the replicas of every Deployment."""
        for name in self.names:
            self.plane.api.patch(f"{DEPLOYMENTS}/{name}", {"spec": {"replicas": replicas}})

    def wait(self, count: int) -> None:
        """Wait for so many pods, all Ready."""
        what = f"{count} pods, all of them Ready"
        waiting.until(lambda: len(self.seen.pods) == len(self.seen.ready()) == count, what, LONG_SECONDS, 0.5)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; `--record` appends to RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deployments", type=int, default=50)
    parser.add_argument("--replicas", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=360.0, help="for how long loads change")
    parser.add_argument(
        "--endpoint-seconds", type=float, default=120.0, help="the same with the endpoint source; 0: not"
    )
    parser.add_argument("--record", action="store_true", help="append to benchmarks/RESULTS.md")
    arguments = parser.parse_args(argv)
    with _bench(arguments.deployments, arguments.replicas) as bench:
        line = measure_prometheus(bench, arguments.seconds)
        extra = measure_endpoint(bench, arguments.endpoint_seconds) if arguments.endpoint_seconds else ""
    text = "\n".join(filter(None, (extra, line)))
    if arguments.record:
        title = f"deletion cost, {arguments.deployments} Deployments of {arguments.replicas}, {arguments.seconds:.0f} s"
        record.append(title, text, {"Kubernetes": build.KUBERNETES_VERSION})
    sys.stdout.write(text + "\n")
    return 0


def measure_prometheus(bench: Bench, seconds: float) -> str:
    """Run the whole course with one query per workload; give the last line of the output."""
    loads = Loads.of(bench.seen.ready().values(), SEED)
    with _prometheus(bench, loads) as url, _running(bench.controller("prometheus", url)) as controller:
        phase = bench.observe(controller, loads, seconds)
        sys.stdout.write(f"loads stand still: {phase}\n")
        sys.stdout.flush()
        time.sleep(STILL_SECONDS)
        deleted = bench.shrink()
    right = loads.of_lowest_bands(deleted, round(bench.replicas * SHRINK))
    return f"{phase} deleted={len(deleted)} of_lowest_bands={right}"


def measure_endpoint(bench: Bench, seconds: float) -> str:
    """Grow to the old size and run a while with the pods' endpoints."""
    bench.scale(bench.replicas)
    bench.wait(bench.replicas * len(bench.names))
    loads = Loads.of(bench.seen.ready().values(), SEED + 1)
    loads.tell(bench.endpoints)
    with _running(bench.controller("endpoint", "")) as controller:
        phase = bench.observe(controller, loads, seconds)
    # Not its writes: the marks that it finds are those of other loads.
    return f"endpoint source: {phase.used}"


@contextmanager
def _bench(deployments: int, replicas: int) -> Iterator[Bench]:
    names = [f"app-{number:02}" for number in range(deployments)]
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(ControlPlane())
        kubelet = stack.enter_context(Kubelet(plane.kubeconfig, pod_network=LOOPBACK_NETWORK))
        endpoints = stack.enter_context(PodEndpoints())
        kubelet.create_nodes(nodes.gpu_node(name) for name in names)
        seen = stack.enter_context(_watching(plane.kubeconfig))
        for name in names:
            plane.api.post(DEPLOYMENTS, _deployment(name, replicas))
        bench = Bench(plane, seen, endpoints, replicas, names)
        bench.wait(deployments * replicas)
        yield bench


@contextmanager
def _watching(kubeconfig: Path) -> Iterator[Seen]:
    seen, api = Seen(), Api(kubeconfig, connections=1)
    follower = Follower(api, PODS, seen.see)
    follower.start()
    try:
        yield seen
    finally:
        follower.stop()
        api.close()


@contextmanager
def _prometheus(bench: Bench, loads: Loads) -> Iterator[str]:
    with Page(lambda: loads.page(NAMESPACE)) as page:
        scrape: Json = {"job_name": "loads", "honor_labels": True, "static_configs": [{"targets": [page.target]}]}
        scrape |= {"scrape_interval": "5s", "scrape_timeout": "5s"}
        with Prometheus(bench.plane.home / "prometheus", {"scrape_configs": [scrape]}) as server:
            waiting.until(lambda: bool(server.query('up{job="loads"} == 1')), "the first scrape")
            yield server.url


@contextmanager
def _running(process: Process) -> Iterator[Process]:
    try:
        yield process
    finally:
        process.stop()


def _deployment(name: str, replicas: int) -> Json:
    """A Deployment whose pods are bound at once, all to the node of its name, and end at once."""
    container = {"name": "main", "image": "registry.example/main:1"}
    template = {
        "metadata": {"labels": {"app": name}, "annotations": {SWITCH: "on"}},
        "spec": {"nodeName": name, "terminationGracePeriodSeconds": 0, "containers": [container]},
    }
    selector = {"matchLabels": {"app": name}}
    return {"metadata": {"name": name}, "spec": {"replicas": replicas, "selector": selector, "template": template}}


if __name__ == "__main__":
    sys.exit(main())
