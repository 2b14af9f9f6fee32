"""The scheduler process against a real API server: what users see, and that nothing is lost or given twice."""

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.control_plane import waiting
from tests.control_plane.cluster import ControlPlane
from tests.gpu_scheduler.running import Namespace, Scheduler, gpu_nodes, labelled, own_namespace, pod, scheduler
from tests.kube_client.relay import relay

pytestmark = pytest.mark.control_plane

SIZE = {"n0": 8, "n1": 8, "n2": 8}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane of our own, so that a sentence can count its nodes."""
    with ControlPlane() as running:
        gpu_nodes(running, *SIZE)
        yield running


@pytest.fixture
def pods(plane: ControlPlane) -> Iterator[Namespace]:
    """A namespace that is empty again before the next test."""
    with own_namespace(plane) as found:
        yield found


@pytest.fixture
def running(plane: ControlPlane) -> Iterator[Scheduler]:
    with scheduler(plane) as started:
        started.wait_ready()
        yield started


def test_pods_are_bound_and_told_so(running: Scheduler, pods: Namespace) -> None:
    pods.create(*(pod(f"p{number}", gpus=2) for number in range(12)))
    pods.wait_bound(12)

    assert pods.gpus_by_node() == SIZE
    waiting.until(lambda: bool(pods.events("p0", "Scheduled")), "the event")
    event = pods.events("p0", "Scheduled")[0]
    assert event["note"] == f"Successfully assigned {pods.name}/p0 to {pods.places()['p0']}"
    assert (event["type"], event["action"]) == ("Normal", "Binding")
    assert event["reportingController"] == "gpu-scheduler"
    assert pods.condition("p0")["status"] == "True"


def test_a_pod_that_fits_nowhere_is_told_why_until_a_node_comes(
    plane: ControlPlane, running: Scheduler, pods: Namespace
) -> None:
    pods.create(pod("big", gpus=9))
    condition = pods.wait_condition("big", "Unschedulable")
    said = (
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: "
        "0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    assert (condition["status"], condition["message"]) == ("False", said)
    waiting.until(lambda: bool(pods.events("big", "FailedScheduling")), "the event")
    event = pods.events("big", "FailedScheduling")[0]
    assert (event["type"], event["action"], event["note"]) == ("Warning", "Scheduling", said)

    gpu_nodes(plane, "huge", gpus=16)
    pods.wait_bound(1)
    assert pods.places() == {"big": "huge"}
    plane.api.delete("/api/v1/nodes/huge")


def test_a_freed_gpu_goes_to_who_waits(running: Scheduler, pods: Namespace) -> None:
    pods.create(*(pod(f"full{number}", gpus=8) for number in range(3)), pod("waits", gpus=1))
    pods.wait_condition("waits", "Unschedulable")
    freed = pods.places()["full0"]
    pods.plane.api.delete(f"/api/v1/namespaces/{pods.name}/pods/full0", {"gracePeriodSeconds": 0})
    pods.wait_bound(3)

    assert pods.places()["waits"] == freed


def test_a_gated_pod_is_left_alone_until_its_gate_goes(running: Scheduler, pods: Namespace) -> None:
    pods.create(pod("gated", schedulingGates=[{"name": "example.com/wait"}]), pod("free"))
    pods.wait_bound(1)
    time.sleep(1)
    assert pods.places().keys() == {"free"}
    assert pods.condition("gated")["reason"] == "SchedulingGated"
    assert pods.events("gated", "FailedScheduling") == []

    path = f"/api/v1/namespaces/{pods.name}/pods/gated"
    found = pods.plane.api.get(path)
    found["spec"]["schedulingGates"] = []
    pods.plane.api.put(path, found)
    pods.wait_bound(2)


CLAIM_OF_DEVICES = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (CLAIM_OF_DEVICES, "spec.resourceClaims[0]"),
        ({"annotations": {"gpu.nvidia.com/fraction": "0.5"}}, "metadata.annotations[gpu.nvidia.com/fraction]"),
    ],
    ids=["devices", "fraction"],
)
def test_a_constraint_that_we_cannot_keep_is_named_and_not_dropped(
    running: Scheduler, pods: Namespace, spec: dict[str, Any], field: str
) -> None:
    pods.create(pod("asks-more", **spec))
    message = pods.wait_condition("asks-more", "Unschedulable")["message"]

    assert field in message
    assert pods.places() == {}


def test_pods_of_a_service_are_spread_without_asking_for_it(running: Scheduler, pods: Namespace) -> None:
    """Left alone, GPU pods fill one node after the other; a Service that selects them sends each to another."""
    service = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "clusterIP": "None"}}
    pods.plane.api.post(f"/api/v1/namespaces/{pods.name}/services", service)
    time.sleep(1)
    for number in range(3):
        pods.create(labelled(pod(f"web{number}"), app="web"))
        pods.wait_bound(number + 1)
    pods.create(*(pod(f"alone{number}") for number in range(3)))
    pods.wait_bound(6)

    places = pods.places()
    assert {places[f"web{number}"] for number in range(3)} == set(SIZE)
    assert len({places[f"alone{number}"] for number in range(3)}) == 1


def test_a_pod_keeps_apart_from_namespaces_chosen_by_label(running: Scheduler, pods: Namespace) -> None:
    """Until a pod leaves. Our hints take a namespace for one without labels, as theirs do: it must be nudged."""
    mine = pods.plane.api.get(f"/api/v1/namespaces/{pods.name}")
    mine["metadata"]["labels"]["team"] = "loud"
    pods.plane.api.put(f"/api/v1/namespaces/{pods.name}", mine)
    time.sleep(1)
    pods.create(*(labelled(pod(f"loud{number}", gpus=5), app="loud") for number in range(3)))
    pods.wait_bound(3)
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "loud"}},
        "namespaceSelector": {"matchLabels": {"team": "loud"}},
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pods.create(pod("quiet", affinity=affinity))
    said = (
        "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. preemption: "
        "0/3 nodes are available: 3 No preemption victims found for incoming pod."
    )
    assert pods.wait_condition("quiet", "Unschedulable")["message"] == said

    freed = pods.places()["loud0"]
    pods.plane.api.delete(f"/api/v1/namespaces/{pods.name}/pods/loud0", {"gracePeriodSeconds": 0})
    quiet = pods.plane.api.get(f"/api/v1/namespaces/{pods.name}/pods/quiet")
    quiet["metadata"]["labels"] = {"nudged": "yes"}
    pods.plane.api.put(f"/api/v1/namespaces/{pods.name}/pods/quiet", quiet)
    pods.wait_bound(3)
    assert pods.places()["quiet"] == freed


def test_another_schedulers_pods_count_but_are_not_bound(running: Scheduler, pods: Namespace) -> None:
    pods.create(pod("theirs", schedulerName="somebody-else"), pod("bound-by-hand", 8, nodeName="n0"))
    pods.create(*(pod(f"p{number}", gpus=8) for number in range(2)))
    pods.wait_bound(3)

    assert "theirs" not in pods.places()
    assert pods.gpus_by_node() == SIZE


def test_a_restart_in_the_middle_loses_nothing(plane: ControlPlane, pods: Namespace) -> None:
    pods.create(*(pod(f"p{number:02}") for number in range(30)))
    with scheduler(plane) as first:
        pods.wait_bound(3)
        first.signal(signal.SIGTERM)
        assert first.wait_exit() == 0
        assert first.lines("lease released")
    done = pods.places()
    with scheduler(plane):
        pods.wait_bound(24)
        pods.wait_condition(next(iter(pods.pods().keys() - pods.places().keys())), "Unschedulable")

    assert pods.gpus_by_node() == SIZE
    assert done.items() <= pods.places().items()


def test_a_killed_leaders_standby_takes_over_and_gives_nothing_twice(plane: ControlPlane, pods: Namespace) -> None:
    with scheduler(plane) as leader:
        leader.wait_deciding()
        with scheduler(plane) as standby:
            standby.wait_ready()
            pods.create(*(pod(f"p{number:02}") for number in range(20)))
            pods.wait_bound(2)
            leader.signal(signal.SIGKILL)
            pods.create(*(pod(f"q{number:02}") for number in range(20)))
            pods.wait_bound(24)
            standby.wait_deciding()
            left = pods.pods().keys() - pods.places().keys()
            for name in left:
                pods.wait_condition(name, "Unschedulable")

    assert len(left) == 16
    assert pods.gpus_by_node() == SIZE


def test_only_the_leader_decides(plane: ControlPlane, pods: Namespace) -> None:
    with scheduler(plane) as leader:
        leader.wait_deciding()
        with scheduler(plane) as standby:
            standby.wait_ready()
            pods.create(*(pod(f"p{number}") for number in range(5)))
            pods.wait_bound(5)
            assert standby.lines("pod assigned") == []
            assert 'leader_election_master_status{name="gpu-scheduler"} 0.0' in standby.get("/metrics")[1]
            assert 'leader_election_master_status{name="gpu-scheduler"} 1.0' in leader.get("/metrics")[1]


def test_a_standby_ends_at_once_and_the_leader_stays(plane: ControlPlane) -> None:
    with scheduler(plane) as leader:
        leader.wait_deciding()
        with scheduler(plane) as standby:
            standby.wait_ready()
            standby.signal(signal.SIGTERM)
            assert standby.wait_exit(5) == 0
        assert leader.process.exit_code() is None


def test_a_server_that_is_away_is_waited_for(plane: ControlPlane, pods: Namespace) -> None:
    with relay(plane) as network, scheduler(plane, network.kubeconfig) as cut_off:
        cut_off.wait_deciding()
        pods.create(*(pod(f"p{number:02}") for number in range(12)))
        network.cut_off()
        cut_off.process.wait_until(lambda: cut_off.get("/readyz")[0] == 503, "not ready")
        assert cut_off.get("/healthz")[0] == 200
        pods.create(*(pod(f"q{number:02}") for number in range(20)))
        time.sleep(4)  # longer than the lease: it is lost meanwhile
        assert cut_off.process.exit_code() is None
        network.restore()
        pods.wait_bound(24)
        cut_off.wait_ready()
        assert cut_off.lines("standing by again")
        assert len(cut_off.lines("deciding")) == 2

    assert pods.gpus_by_node() == SIZE


def test_connections_that_break_all_the_time_lose_nothing(plane: ControlPlane, pods: Namespace) -> None:
    with relay(plane) as network, scheduler(plane, network.kubeconfig) as shaken:
        shaken.wait_deciding()
        for number in range(30):
            pods.create(pod(f"p{number:02}"))
            network.break_all()
        pods.wait_bound(24)

    assert pods.gpus_by_node() == SIZE


def test_a_process_without_election_decides_alone(plane: ControlPlane, pods: Namespace) -> None:
    with scheduler(plane, leaderElection={"leaderElect": False}) as alone:
        pods.create(pod("p"))
        pods.wait_bound(1)
        assert alone.lines("lease wanted") == []
        alone.signal(signal.SIGINT)
        assert alone.wait_exit() == 0


def test_every_decision_is_one_line_with_its_numbers(running: Scheduler, pods: Namespace) -> None:
    pods.create(pod("fits"), pod("big", gpus=9))
    pods.wait_bound(1)
    pods.wait_condition("big", "Unschedulable")

    assigned = [line for line in running.lines("pod assigned") if f"pod={pods.name}/fits" in line]
    refused = [line for line in running.lines("pod unschedulable") if f"pod={pods.name}/big" in line]
    assert len(assigned) == len(refused) == 1
    for word in ("node=n", "nodes=3", "feasible=3", "ms=", "level=info"):
        assert word in assigned[0]


def test_an_important_pod_gets_the_room_of_the_least_important(
    plane: ControlPlane, running: Scheduler, pods: Namespace
) -> None:
    """For real: the victim is told and ends, and the room that it leaves is kept for the pod."""
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    for name, value in (("urgent", 1000), ("usual", 10)):
        plane.api.post(classes, {"metadata": {"name": f"{name}-{pods.name}"}, "value": value})
    usual, urgent = f"usual-{pods.name}", f"urgent-{pods.name}"
    pods.create(*(pod(f"usual{number}", gpus=8, priorityClassName=usual) for number in range(2)))
    pods.create(labelled(pod("cheap", gpus=8), app="cheap"))
    pods.wait_bound(3)
    freed = pods.places()["cheap"]

    pods.create(pod("urgent", gpus=8, priorityClassName=urgent))
    said = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: "
    waiting.until(lambda: bool(pods.events("urgent", "FailedScheduling")), "the event")
    note = pods.events("urgent", "FailedScheduling")[0]["note"]
    assert note == f"{said}found a potential placement for pod on node {freed}, preempting 1 victims"
    waiting.until(
        lambda: "cheap" not in pods.pods() or pods.pods()["cheap"]["metadata"].get("deletionTimestamp"), "end"
    )
    [event] = pods.events("cheap", "Preempted")
    assert event["note"] == f"Preempted by pod {pods.pods()['urgent']['metadata']['uid']} on node {freed}"
    if "cheap" in pods.pods():  # no kubelet is there to end it
        [mark] = [one for one in pods.pods()["cheap"]["status"]["conditions"] if one["type"] == "DisruptionTarget"]
        assert (mark["status"], mark["reason"]) == ("True", "PreemptionByScheduler")
        assert pods.pods()["urgent"]["status"]["nominatedNodeName"] == freed
        path = f"/api/v1/namespaces/{pods.name}/pods/cheap"
        plane.api.delete(path, {"gracePeriodSeconds": 0})
    waiting.until(lambda: pods.places().get("urgent") == freed, "the pod in its room")
    assert set(pods.places()) == {"usual0", "usual1", "urgent"}
