"""Our metrics are the real kube-scheduler's: after the same small workload each of its families is among ours.

With the same type, the same names of labels and the same buckets, so that dashboards and alerts work unchanged.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.control_plane import waiting
from tests.control_plane.api import Json
from tests.control_plane.cluster import ControlPlane
from tests.gpu_scheduler import metric_families
from tests.gpu_scheduler.metric_families import Family
from tests.gpu_scheduler.running import Namespace, Scheduler, gpu_nodes, pod, scheduler

Series: TypeAlias = tuple[str, frozenset[tuple[str, str]], float]

pytestmark = pytest.mark.control_plane

BATCHING = "opportunistic batching, which is left out: equal pods share their vectors in every decision here"
# Families of kube-scheduler under default gates that we do not have, each with its reason.
ABSENT = {
    "scheduler_batch_attempts_total": BATCHING,
    "scheduler_batch_cache_flushed_total": BATCHING,
    "scheduler_get_node_hint_duration_seconds": BATCHING,
    "scheduler_store_schedule_results_duration_seconds": BATCHING,
}
ALSO = ("rest_client_requests_total", "rest_client_request_duration_seconds", "leader_election_master_status")
OF_THE_PROCESS = re.compile(r"process_(?!network|virtual_memory_max)\w+")  # the rest only Go's library reads
RESOURCES = "/metrics/resources"
SLIS = "/metrics/slis"
SAMPLED = "scheduler_plugin_execution_duration_seconds_count"
HINTS = "scheduler_queueing_hint_execution_duration_seconds_count"
CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "late"}}]}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        gpu_nodes(running, "theirs", "ours", gpus=2)
        running.api.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 1000})
        running.start_scheduler(extra_args=["--leader-elect=true", "--leader-elect-resource-name=theirs"])
        yield running


@pytest.fixture(scope="module")
def ours(plane: ControlPlane) -> Iterator[Scheduler]:
    with scheduler(plane) as started:
        started.wait_ready()
        yield started


def on(node: str, name: str, scheduler_name: str, gpus: int = 1, **spec: Any) -> Json:
    """A pod for one scheduler and one node, gone at once when it is deleted: no kubelet waits for it."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    rest = {"affinity": {"nodeAffinity": required}, "terminationGracePeriodSeconds": 0}
    found = pod(name, gpus, **rest, **spec)
    found["spec"]["schedulerName"] = scheduler_name
    return found


def work(plane: ControlPlane, name: str, node: str, scheduler_name: str) -> None:
    """Have pods bound, rejected, gated, woken and preempted."""
    plane.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    waiting.until(plane.api.probe(f"/api/v1/namespaces/{name}/serviceaccounts/default"), "the default ServiceAccount")
    pods = Namespace(plane, name)
    gate = {"schedulingGates": [{"name": "example.com/wait"}]}
    pods.create(*(on(node, one, scheduler_name) for one in ("a", "b")))
    pods.wait_bound(2)
    pods.create(on(node, "big", scheduler_name, 9), on(node, "claims", scheduler_name, 0, **CLAIM))
    pods.create(on(node, "gated", scheduler_name, 0, **gate))
    pods.wait_condition("big", "Unschedulable")
    pods.wait_condition("claims", "Unschedulable")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "no"}
    plane.api.post(f"/api/v1/namespaces/{name}/persistentvolumeclaims", {"metadata": {"name": "late"}, "spec": claim})
    pods.create(on(node, "important", scheduler_name, 2, priorityClassName="high"))
    waiting.until(lambda: "important" in pods.places(), "the important pod in the place of the others")


@pytest.fixture(scope="module")
def scraped(plane: ControlPlane, ours: Scheduler) -> tuple[dict[str, Family], dict[str, Family]]:
    """The families of both after the same work, theirs first."""
    work(plane, "theirs", "theirs", "default-scheduler")
    work(plane, "ours", "ours", "gpu-scheduler")
    waiting.until(lambda: "scheduler_preemption_victims_count 1" in ours.get("/metrics")[1], "the preemption counted")

    def theirs() -> str:
        return plane.scheduler_api.text("/metrics")

    def mine() -> str:
        return ours.get("/metrics")[1]

    sample(Namespace(plane, "theirs"), "theirs", "default-scheduler", theirs)
    sample(Namespace(plane, "ours"), "ours", "gpu-scheduler", mine)
    waiting.until(lambda: HINTS in theirs(), "their hints, told with a delay of a second")
    return metric_families.read(theirs()), metric_families.read(mine())


def sample(pods: Namespace, node: str, scheduler_name: str, text: Callable[[], str]) -> None:
    """Schedule one pod after the other until one is among the tenth of which plugins' times are taken."""
    for number in range(300):
        if SAMPLED in text():
            return
        pods.create(on(node, f"more-{number}", scheduler_name, 0))
        pods.wait_bound(number + 2)  # with the important one


def compared(theirs: dict[str, Family]) -> dict[str, Family]:
    """What of theirs must be ours, too."""
    return {
        name: family
        for name, family in theirs.items()
        if name.startswith("scheduler_") or name in ALSO or OF_THE_PROCESS.fullmatch(name)
    }


def test_each_family_of_kube_scheduler_is_ours_with_its_type_labels_and_buckets(
    scraped: tuple[dict[str, Family], dict[str, Family]],
) -> None:
    theirs, mine = scraped
    wanted = {name: family for name, family in compared(theirs).items() if name not in ABSENT}

    assert {name: mine.get(name) for name in wanted} == wanted
    assert len(wanted) > 25


def test_what_probes_found_is_told_as_kube_scheduler_tells_it(plane: ControlPlane, ours: Scheduler) -> None:
    waiting.until(lambda: ours.get("/readyz")[0] == 200, "/readyz")
    theirs = metric_families.read(plane.scheduler_api.text(SLIS))
    mine = metric_families.read(ours.get(SLIS)[1])

    wanted = {name: family for name, family in theirs.items() if name.startswith("kubernetes_")}
    assert len(wanted) == 2
    assert mine == wanted


def test_the_resources_of_all_pods_are_told_as_kube_scheduler_tells_them(plane: ControlPlane, ours: Scheduler) -> None:
    plane.api.post("/api/v1/namespaces", {"metadata": {"name": "resources"}})
    waiting.until(plane.api.probe("/api/v1/namespaces/resources/serviceaccounts/default"), "the ServiceAccount")
    sizes = {"cpu": "1500m", "memory": "64Mi", "ephemeral-storage": "1Gi", "example.com/nic": "2"}
    sized = {"image": "registry.example/app:1", "resources": {"requests": sizes, "limits": sizes}}
    inits = [{**sized, "name": "side", "restartPolicy": "Always"}, {**sized, "name": "first"}]
    small = {"image": "registry.example/app:1", "name": "small", "resources": {"limits": {"memory": "1G"}}}
    document = on("ours", "sized", "gpu-scheduler")
    document["spec"] |= {"containers": [{**sized, "name": "a"}, small], "initContainers": inits}
    Namespace(plane, "resources").create(document)

    def both() -> tuple[set[Series], set[Series]]:
        return series(plane.scheduler_api.text(RESOURCES)), series(ours.get(RESOURCES)[1])

    waiting.until(lambda: any(("pod", "sized") in labels for _, labels, _ in both()[0]), "the pod told by theirs")
    waiting.until(lambda: any(("pod", "sized") in labels for _, labels, _ in both()[1]), "the pod told by ours")
    theirs, mine = both()
    assert mine == theirs
    assert {name for name, _, _ in mine} == {"kube_pod_resource_request", "kube_pod_resource_limit"}


def series(text: str) -> set[Series]:
    """Each series of a scrape with its value."""
    families = text_string_to_metric_families(text)
    return {(one.name, frozenset(one.labels.items()), one.value) for family in families for one in family.samples}


def test_what_we_leave_out_is_there_in_kube_scheduler(scraped: tuple[dict[str, Family], dict[str, Family]]) -> None:
    theirs, mine = scraped

    assert ABSENT.keys() <= theirs.keys()
    assert not ABSENT.keys() & mine.keys()


def test_the_workload_reaches_what_counts_most(scraped: tuple[dict[str, Family], dict[str, Family]]) -> None:
    theirs, _ = scraped

    assert {
        "scheduler_preemption_victims",
        "scheduler_preemption_goroutines_execution_total",
        "scheduler_unschedulable_pods",
        "scheduler_queueing_hint_execution_duration_seconds",
        "scheduler_event_handling_duration_seconds",
        "scheduler_pod_scheduling_sli_duration_seconds",
    } <= theirs.keys()
