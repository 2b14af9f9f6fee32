"""The controller against a real API server: what it writes, and when it does not."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cluster_model.deletion_cost import ANNOTATION, SWITCH
from deletion_cost import bands
from tests.control_plane.api import ApiError
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.waiting import until
from tests.deletion_cost.running import Controller, Workload, controller
from tests.kube_client.relay import relay

pytestmark = pytest.mark.control_plane

WRITTEN = 'gpu_scheduler_deletion_cost_writes_total{result="written"}'
OURS = "gpu-scheduler-deletion-cost"


def by_band(namespace: str, workload: str, band: str) -> str:
    labels = f'band="{band}",namespace="{namespace}",workload="{workload}"'
    return f"gpu_scheduler_deletion_cost_pods_by_band{{{labels}}}"


def mark(points: int) -> str:
    return str(bands.mark(points))


@contextmanager
def denied(pods: Workload, name: str) -> Iterator[None]:
    """A policy that denies every update of a pod, in force."""
    group = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"request.name != '{name}'", "reason": "Forbidden"}],
    }
    binding = {"policyName": pods.namespace, "validationActions": ["Deny"]}
    for path, body in ((group, spec), (group.replace("policies", "policybindings"), binding)):
        pods.plane.api.post(path, {"metadata": {"name": pods.namespace}, "spec": body})
    try:
        yield
    finally:
        for path in (group, group.replace("policies", "policybindings")):
            pods.plane.api.delete(f"{path}/{pods.namespace}")


def refuses(pods: Workload, name: str) -> bool:
    """Whether the API server lets nobody change a pod."""
    try:
        pods.annotate(name, tried="again")
    except ApiError:
        return True
    return False


@pytest.fixture
def running(control_plane: ControlPlane) -> Iterator[Controller]:
    with controller(control_plane) as started:
        started.wait_deciding()
        yield started


def test_the_idlest_pods_are_marked_and_no_others(running: Controller, pods: Workload) -> None:
    pods.create("web", 5, victims="2")
    names = pods.start("web")
    for number, name in enumerate(names):
        pods.load(name, 3 * number)
    pods.wait_costs("web", dict.fromkeys(names) | {names[0]: "-49", names[1]: mark(15)})

    pods.load(names[0], 30)
    pods.wait_costs("web", dict.fromkeys(names) | {names[1]: mark(15), names[2]: mark(30)})
    assert pods.cost_writers(names[2]) == [OURS]


def test_every_pod_carries_its_cost_where_that_is_wished(running: Controller, pods: Workload) -> None:
    pods.create("web", 3, mode="all")
    idle, busy, hot = pods.start("web")
    pods.load(busy, 4)
    pods.endpoints.tell(pods.pods("web")[hot]["status"]["podIP"], {"active_requests": 9, "cache_hit_rate": 0.8})

    pods.wait_costs("web", {idle: None, busy: "20", hot: "125"})


def test_a_new_pod_is_cold_until_it_is_warm_and_again_after_a_restart(running: Controller, pods: Workload) -> None:
    pods.create("web", 2, victims="0", warmup="2s", **{ANNOTATION: "-50"})
    one, other = pods.start("web")
    time.sleep(1)
    assert pods.costs("web") == {one: "-50", other: "-50"}
    pods.wait_costs("web", {one: None, other: None})

    statuses = pods.pods("web")[one]["status"]["containerStatuses"]
    patch = {"status": {"containerStatuses": [{**statuses[0], "restartCount": 1}]}}
    pods.plane.api.patch(f"{pods.path}/{one}/status", patch)
    pods.wait_costs("web", {one: "-50", other: None})
    pods.wait_costs("web", {one: None, other: None})


def test_another_writer_keeps_the_pod_to_itself(running: Controller, pods: Workload) -> None:
    """Whether it writes a value or takes ours away; both are told to users and counted."""
    pods.create("web", 3, victims="2")
    names = pods.start("web")
    until(lambda: sum(cost is not None for cost in pods.costs("web").values()) == 2, "marks")
    marked = [name for name, cost in pods.costs("web").items() if cost]
    pods.annotate(marked[0], **{ANNOTATION.replace("/", "__"): "700"})
    until(lambda: bool(pods.events(marked[0], "DeletionCostForeignWriter")), "the event")
    pods.annotate(marked[1], **{ANNOTATION.replace("/", "__"): None})
    until(lambda: bool(pods.events(marked[1], "DeletionCostRemoved")), "the event")

    (free,) = set(names) - set(marked)
    pods.wait_costs("web", {marked[0]: "700", marked[1]: None, free: "-49"})
    for why in ("foreign", "vanished"):
        assert running.metric(f'gpu_scheduler_deletion_cost_stand_downs_total{{why="{why}"}}') == 1
    time.sleep(2)
    assert pods.costs("web") == {marked[0]: "700", marked[1]: None, free: "-49"}


def test_costs_go_where_a_pod_or_a_namespace_opts_out(running: Controller, pods: Workload) -> None:
    pods.create("web", 2, switch=None, victims="2")
    names = pods.start("web")
    space = f"/api/v1/namespaces/{pods.namespace}"
    pods.plane.api.patch(space, {"metadata": {"labels": {SWITCH: "on"}}})
    pods.wait_costs("web", dict.fromkeys(names, "-49"))

    pods.annotate(names[0], **{SWITCH.replace("/", "__"): "off"})
    pods.wait_costs("web", {names[0]: None, names[1]: "-49"})
    pods.plane.api.patch(space, {"metadata": {"labels": {SWITCH: None}}})
    pods.wait_costs("web", dict.fromkeys(names))
    assert pods.events(names[0], "DeletionCostRemoved") == []


def test_busy_pods_are_counted_by_the_occasion_of_their_end(running: Controller, pods: Workload) -> None:
    """All are busy, so a scale-down takes two of them; later a person deletes one."""
    pods.create("web", 5, mode="all")
    for name in pods.start("web"):
        pods.load(name, 3)
    until(lambda: set(pods.costs("web").values()) == {"15"}, "costs")
    path = f"/apis/apps/v1/namespaces/{pods.namespace}/replicasets/web"
    pods.plane.api.patch(path, {"spec": {"replicas": 3}})
    until(lambda: len(pods.pods("web")) == 3, "the scale-down")
    pods.plane.api.delete(f"{pods.path}/{next(iter(pods.pods('web')))}")

    found = {occasion: busy_deleted(pods, occasion) for occasion in ("scale_down", "other")}
    until(lambda: [running.metric(found[one]) for one in found] == [2, 1], "the counts")


def busy_deleted(pods: Workload, occasion: str) -> str:
    labels = f'namespace="{pods.namespace}",occasion="{occasion}",workload="web"'
    return f"gpu_scheduler_deletion_cost_busy_pods_deleted_total{{{labels}}}"


def test_somebodys_policy_against_changes_of_one_pod_holds_up_no_other(running: Controller, pods: Workload) -> None:
    pods.create("web", 3, victims="3")
    frozen, *others = pods.pods("web")
    with denied(pods, frozen):
        until(lambda: refuses(pods, frozen), "the policy in force")
        pods.start("web")
        until(lambda: bool(running.lines("cost not written")), "the refusal")
        pods.create("later", 2, victims="2")
        later = pods.start("later")
        pods.wait_costs("later", dict.fromkeys(later, "-49"))
        assert pods.costs("web") == {frozen: None} | dict.fromkeys(others, "-49")
        assert running.metric(WRITTEN.replace("written", "forbidden")) == 1


def test_a_restart_begins_where_the_last_process_ended(control_plane: ControlPlane, pods: Workload) -> None:
    pods.create("web", 10, victims="5")
    pods.start("web")
    with controller(control_plane) as first:
        until(lambda: sum(cost is not None for cost in pods.costs("web").values()) == 5, "marks")
        before = pods.costs("web")
        first.process.signal(signal.SIGTERM)
        assert first.wait_exit() == 0
    with controller(control_plane) as second:
        second.wait_deciding()
        until(lambda: second.metric(by_band(pods.namespace, "web", "victim")) == 5, "marks known")
        time.sleep(2)
        assert second.metric(WRITTEN) == 0
        assert pods.costs("web") == before


def test_one_leads_and_the_next_takes_over_without_a_word_of_another_writer(
    control_plane: ControlPlane, pods: Workload
) -> None:
    """A standby sees the leader write and remove; to it that is nobody's fault."""
    pods.create("web", 4, victims="1")
    names = pods.start("web")
    with controller(control_plane) as leader, controller(control_plane) as standby:
        until(lambda: bool(leader.lines("deciding") or standby.lines("deciding")), "a leader")
        first, second = (leader, standby) if leader.lines("deciding") else (standby, leader)
        until(lambda: sum(cost is not None for cost in pods.costs("web").values()) == 1, "a mark")
        (marked,) = [name for name, cost in pods.costs("web").items() if cost]
        pods.load(marked, 50)
        until(lambda: pods.costs("web")[marked] is None, "the mark gone")
        first.process.signal(signal.SIGKILL)
        second.wait_deciding()
        pods.load(marked, 0)
        for name in set(names) - {marked}:
            pods.load(name, 50)
        pods.wait_costs("web", dict.fromkeys(names) | {marked: "-49"})
        assert [line for line in second.lines("stood down") if pods.namespace in line] == []
        assert second.metric('leader_election_master_status{name="gpu-scheduler-deletion-cost"}') == 1


def test_connections_that_break_all_the_time_make_nobody_a_foreign_writer(
    control_plane: ControlPlane, pods: Workload
) -> None:
    """Answers are lost and echoes late while marks come and go; in the end the right pods are marked, by us."""
    pods.create("web", 6, victims="3")
    names = pods.start("web")
    with relay(control_plane) as network, controller(control_plane, network.kubeconfig) as shaken:
        shaken.wait_deciding()
        for turn in range(20):
            for number, name in enumerate(names):
                pods.load(name, 40 * ((number + turn) % 2))
            time.sleep(0.4)
            network.break_all()
        for number, name in enumerate(names):
            pods.load(name, 40 * (number % 2))
        pods.wait_costs("web", {name: None if number % 2 else "-49" for number, name in enumerate(names)})
        assert [line for line in shaken.lines("stood down") if pods.namespace in line] == []


def test_a_lost_lease_stops_the_writing_until_it_is_won_again(control_plane: ControlPlane, pods: Workload) -> None:
    pods.create("web", 2, victims="1")
    one, other = pods.start("web")
    pods.load(other, 40)
    with relay(control_plane) as network, controller(control_plane, network.kubeconfig) as cut_off:
        pods.wait_costs("web", {one: "-49", other: None})
        network.cut_off()
        cut_off.process.wait_until(lambda: cut_off.get("/readyz")[0] == 503, "not ready")
        pods.load(one, 40)
        pods.load(other, 0)
        time.sleep(4)  # longer than the lease
        assert cut_off.metric('leader_election_master_status{name="gpu-scheduler-deletion-cost"}') == 0
        network.restore()
        pods.wait_costs("web", {one: None, other: "-49"})
        assert len(cut_off.lines("deciding")) == 2
