"""Our queue beside the real kube-scheduler's: twins wait for the same things, and the same events bring them back.

Each scheduler has one of each pair of pods. What happens in the cluster both see, and count in the same series.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.control_plane import waiting
from tests.control_plane.cluster import ControlPlane
from tests.gpu_scheduler.running import Namespace, Scheduler, gpu_nodes, pod, scheduler

pytestmark = pytest.mark.control_plane

INCOMING = "scheduler_queue_incoming_pods_total"
OWN_TIME = ("BackoffComplete", "PopFromBackoffQ")  # they go by what else the scheduler has to do
TWINS = {"theirs": "default-scheduler", "mine": "gpu-scheduler"}
WEB = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [WEB]}}
PATIENCE_SECONDS = 2  # for what nobody must hear of


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        gpu_nodes(running, "open", "closed")
        running.start_scheduler(extra_args=["--leader-elect=false"])
        yield running


@pytest.fixture(scope="module")
def ours(plane: ControlPlane) -> Iterator[Scheduler]:
    with scheduler(plane) as started:
        started.wait_ready()
        yield started


def entered(text: str) -> Counter[tuple[str, str]]:
    """How many pods came to be tried, or to wait, because of which event."""
    found: Counter[tuple[str, str]] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == INCOMING and sample.labels["event"] not in OWN_TIME:
                waits = sample.labels["queue"] == "unschedulable"
                found["waits" if waits else "tried", sample.labels["event"]] += int(sample.value)
    return found


def twins(pods: Namespace, name: str, **spec: Any) -> None:
    for whose, scheduler_name in TWINS.items():
        found = pod(f"{name}-{whose}", 0, **spec)
        found["spec"]["schedulerName"] = scheduler_name
        pods.create(found)


def change(plane: ControlPlane, path: str, edit: Callable[[Any], Any]) -> None:
    found = plane.api.get(path)
    edit(found)
    plane.api.put(path, found)


def wait_for(pods: Namespace, name: str) -> None:
    """Until both twins have their node."""
    wanted = {f"{name}-{whose}" for whose in TWINS}
    waiting.until(lambda: wanted <= pods.places().keys(), f"both {name} bound")


def test_the_same_events_bring_pods_back(plane: ControlPlane, ours: Scheduler) -> None:
    plane.api.post("/api/v1/namespaces", {"metadata": {"name": "twins"}})
    waiting.until(plane.api.probe("/api/v1/namespaces/twins/serviceaccounts/default"), "the default ServiceAccount")
    pods = Namespace(plane, "twins")
    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    change(plane, "/api/v1/nodes/closed", lambda found: found["spec"].setdefault("taints", []).append(taint))
    web = pod("web", 0, nodeName="open")
    web["metadata"]["labels"] = {"app": "web"}
    pods.create(web)
    twins(pods, "labelled", nodeSelector={"pool": "a"})
    twins(pods, "tainted", nodeSelector={"kubernetes.io/hostname": "closed"})
    twins(pods, "apart", nodeSelector={"kubernetes.io/hostname": "open"}, affinity=APART)
    twins(pods, "gated", schedulingGates=[{"name": "example.com/wait"}])
    for name in ("labelled", "tainted", "apart"):
        for whose in TWINS:
            pods.wait_condition(f"{name}-{whose}", "Unschedulable")

    change(plane, "/api/v1/nodes/open", lambda found: found["metadata"]["labels"].update({"x": "y"}))
    change(plane, "/api/v1/namespaces/twins/pods/web", lambda found: found["metadata"]["labels"].update({"x": "y"}))
    time.sleep(PATIENCE_SECONDS)
    plane.api.delete("/api/v1/namespaces/twins/pods/web", {"gracePeriodSeconds": 0})
    wait_for(pods, "apart")
    change(plane, "/api/v1/nodes/open", lambda found: found["metadata"]["labels"].update({"pool": "a"}))
    wait_for(pods, "labelled")
    change(plane, "/api/v1/nodes/closed", lambda found: found["spec"].pop("taints"))
    wait_for(pods, "tainted")
    for whose in TWINS:
        change(
            plane, f"/api/v1/namespaces/twins/pods/gated-{whose}", lambda found: found["spec"].pop("schedulingGates")
        )
    wait_for(pods, "gated")

    theirs, mine = entered(plane.scheduler_api.text("/metrics")), entered(ours.get("/metrics")[1])
    assert mine == theirs
    assert theirs == {
        ("tried", "UnscheduledPodAdd"): 3,
        ("waits", "UnscheduledPodAdd"): 1,
        ("waits", "ScheduleAttemptFailure"): 3,
        ("tried", "AssignedPodDelete"): 1,
        ("tried", "NodeUpdateNodeLabel"): 1,
        ("tried", "NodeUpdateNodeTaint"): 1,
        ("tried", "TargetPodUpdatePodSchedulingGatesEliminated"): 1,
    }
