"""Pods per second of our scheduler, of kube-scheduler and of a client that only posts, on one control plane.

Same nodes and same pods for each, one after the other; pods exist before a scheduler starts; what counts is the time
from the first to the last bind as a watch sees them.
"""

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from benchmarks import cluster_load, record
from tests.control_plane import build
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.kubelet import Kubelet
from tests.control_plane.processes import Process

OURS, PEER, CEILING = "gpu-scheduler", "default-scheduler", "bare-binder"
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
TIMEOUT_SECONDS = 600.0


@dataclass(slots=True)
class Findings:
    """What was measured so far."""

    rates: dict[str, list[float]] = field(default_factory=lambda: {OURS: [], PEER: [], CEILING: []})
    rss_mib: float = 0.0

    def add(self, name: str, rate: float, used: "Used") -> None:
        """Note one run."""
        self.rates[name].append(rate)
        if name == OURS:
            self.rss_mib = max(self.rss_mib, used.rss_mib)

    def rate(self, name: str) -> float:
        return statistics.median(self.rates[name])

    def line(self) -> str:
        """The last line of the output."""
        ours, peer = self.rate(OURS), self.rate(PEER)
        return (
            f"ratio={ours / peer:.2f} ours={ours:.0f} peer={peer:.0f} ceiling={self.rate(CEILING):.0f} "
            f"rss_mib={self.rss_mib:.0f}"
        )


@dataclass(frozen=True, slots=True)
class Used:
    """What a process has used since it started."""

    cpu_seconds: float
    rss_mib: float  # at its highest

    @classmethod
    def by(cls, pid: int) -> "Used":
        """Ask the kernel."""
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(stat[11]) + int(stat[12])  # user and system time
        status = Path(f"/proc/{pid}/status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return cls(ticks / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) / 1024)


@dataclass(frozen=True, slots=True)
class Bench:
    """One control plane with its nodes, and how many pods each contender gets."""

    plane: ControlPlane
    pods: int
    findings: Findings

    def measure(self, name: str, start: Callable[[str], Process]) -> None:
        """Create the pods, let the contender start, and time its binds."""
        namespace = f"{name}-{len(self.findings.rates[name])}"
        with cluster_load.namespace(self.plane.api, namespace):
            cluster_load.create_pods(self.plane.kubeconfig, namespace, name, self.pods)
            with cluster_load.bind_watch(self.plane.kubeconfig, namespace, self.pods) as watch:
                contender = start(namespace)
                try:
                    rate = watch.wait(TIMEOUT_SECONDS).pods_per_second
                    used = Used.by(contender.pid)
                finally:
                    contender.stop()
        self.findings.add(name, rate, used)
        milliseconds = used.cpu_seconds / self.pods * 1000
        sys.stdout.write(f"{name}: {rate:.0f} pods/s, {milliseconds:.2f} ms CPU a pod, {used.rss_mib:.0f} MiB\n")
        sys.stdout.flush()

    def ours(self, _namespace: str) -> Process:
        """Start our scheduler as its command, with leader election."""
        config = _written(self.plane.home / "ours.yaml", {"leaderElection": {"resourceNamespace": "kube-system"}})
        command = ["run", "--config", str(config), "--kubeconfig", str(self.plane.kubeconfig), "--port", "0"]
        return self.plane.spawn(OURS, [Path(sys.executable).with_name("gpu-scheduler"), *command])

    def peer(self, _namespace: str) -> Process:
        """Start kube-scheduler with its defaults, its client unthrottled, and with leader election."""
        unthrottled = {"clientConnection": {"qps": 5000, "burst": 5000}, "leaderElection": {"leaderElect": True}}
        return self.plane.start_scheduler(_written(self.plane.home / "peer.yaml", unthrottled))

    def ceiling(self, namespace: str) -> Process:
        """Start the client that decides nothing."""
        command = [sys.executable, "-m", "benchmarks.bare_binder", str(self.plane.kubeconfig), namespace]
        return self.plane.spawn(CEILING, command)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; `--record` appends to RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=1, help="the median of so many counts")
    parser.add_argument("--record", action="store_true", help="append to benchmarks/RESULTS.md")
    arguments = parser.parse_args(argv)
    findings = Findings()
    with _bench(arguments.nodes, arguments.pods, findings) as bench:
        for _ in range(arguments.rounds):
            bench.measure(CEILING, bench.ceiling)
            bench.measure(OURS, bench.ours)
            bench.measure(PEER, bench.peer)
    if arguments.record:
        title = f"throughput, {arguments.nodes} nodes, {arguments.pods} pods, median of {arguments.rounds}"
        record.append(title, findings.line(), {"Kubernetes": build.KUBERNETES_VERSION})
    sys.stdout.write(findings.line() + "\n")
    return 0


@contextmanager
def _bench(nodes: int, pods: int, findings: Findings) -> Iterator[Bench]:
    with ControlPlane() as plane, Kubelet(plane.kubeconfig, run_pods=False) as kubelet:
        cluster_load.create_nodes(kubelet, nodes)
        yield Bench(plane, pods, findings)


def _written(path: Path, settings: dict[str, object]) -> Path:
    path.write_text(yaml.safe_dump({**HEAD, **settings}))
    return path


if __name__ == "__main__":
    sys.exit(main())
