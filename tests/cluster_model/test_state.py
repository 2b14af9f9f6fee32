"""The ledger counts a pod once, on one node, until it ends, whatever the order of the news. Ends are checked anew."""

from collections.abc import Iterator

import pytest

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from cluster_model.verdict import Event
from tests import build, oracle_state
from tests.build import GPU, node, pod

ADDED, DELETED, SHRUNK = Event.ASSIGNED_POD_ADD, Event.ASSIGNED_POD_DELETE, Event.ASSIGNED_POD_SCALE_DOWN


@pytest.fixture
def state() -> Iterator[ClusterState]:
    """A cluster of nodes a and b; on teardown every column is added up anew and compared."""
    cluster = build.state(node("a"), node("b"))
    yield cluster
    oracle_state.check(cluster)


def gpus(state: ClusterState, name: str = "a") -> int:
    snapshot = state.snapshot()
    return int(snapshot.requested(GPU)[snapshot.nodes.rows[name]])


def test_a_bound_pod_counts_once_however_often_it_is_told(state: ClusterState) -> None:
    running = pod(gpu=2, node="a", phase="Running")

    events = [state.set_pod(running) for _ in range(3)]

    assert gpus(state) == 2
    assert events == [{ADDED}, set(), set()]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_released_once(state: ClusterState, phase: str) -> None:
    state.set_pod(pod(gpu=2, node="a", phase="Running"))

    events = [state.set_pod(pod(gpu=2, node="a", phase=phase)) for _ in range(2)]

    assert (gpus(state), state.holds("uid-p")) == (0, None)
    assert events == [{DELETED}, set()]


def test_a_pod_that_is_being_deleted_still_counts(state: ClusterState) -> None:
    leaving = build.raw_pod(gpu=2, node="a", phase="Running")
    metadata = objects.ObjectMeta(uid=leaving.metadata.uid, deletion_timestamp="2026-01-01T00:00:00Z")
    state.set_pod(PendingPod.read(objects.Pod(metadata=metadata, spec=leaving.spec, status=leaving.status)))

    assert gpus(state) == 2


def test_a_deleted_pod_is_released_once_and_an_unknown_one_is_no_news(state: ClusterState) -> None:
    state.set_pod(pod(gpu=2, node="a", phase="Running"))

    assert [state.remove_pod("uid-p"), state.remove_pod("uid-p"), state.remove_pod("never")] == [
        {DELETED},
        set(),
        set(),
    ]
    assert gpus(state) == 0


def test_a_pod_seen_before_its_node_counts_when_the_node_appears(state: ClusterState) -> None:
    state.set_pod(pod(gpu=3, node="late", phase="Running"))

    assert state.set_node(node("late")) == {Event.NODE_ADD}
    assert gpus(state, "late") == 3


def test_a_node_that_returns_still_holds_its_pods(state: ClusterState) -> None:
    state.set_pod(pod(gpu=3, node="a", phase="Running"))

    assert state.remove_node("a") == {Event.NODE_DELETE}
    assert state.snapshot().names == ("b",)
    state.set_node(node("a"))
    assert gpus(state) == 3


def test_a_pod_that_ended_while_its_node_was_away_does_not_return_with_it(state: ClusterState) -> None:
    state.set_pod(pod(gpu=3, node="a", phase="Running"))
    state.remove_node("a")
    state.remove_pod("uid-p")

    state.set_node(node("a"))

    assert gpus(state) == 0


def test_a_node_that_leaves_takes_nothing_from_the_one_that_moves_into_its_row(state: ClusterState) -> None:
    state.set_pod(pod(gpu=3, node="b", phase="Running", ports=(8080,)))

    state.remove_node("a")

    assert state.snapshot().names == ("b",)
    assert gpus(state, "b") == 3


def test_an_unknown_node_is_removed_without_news(state: ClusterState) -> None:
    assert state.remove_node("never") == set()


def test_an_assumed_pod_counts_at_once_and_is_confirmed_without_counting_twice(state: ClusterState) -> None:
    state.assume(pod(gpu=2), "a")
    assert gpus(state) == 2

    events = state.set_pod(pod(gpu=2, node="a"))

    assert gpus(state) == 2
    assert events == {ADDED}


def test_old_news_that_the_pod_is_unbound_does_not_release_what_was_assumed(state: ClusterState) -> None:
    state.assume(pod(gpu=2), "a")

    assert state.set_pod(pod(gpu=2)) == set()
    assert state.holds("uid-p") == "a"


def test_an_assumption_that_the_api_server_contradicts_moves(state: ClusterState) -> None:
    state.assume(pod(gpu=2), "a")

    events = state.set_pod(pod(gpu=2, node="b"))

    assert (gpus(state, "a"), gpus(state, "b")) == (0, 2)
    assert events == {ADDED, DELETED}


def test_a_failed_binding_is_forgotten_once(state: ClusterState) -> None:
    state.assume(pod(gpu=2), "a")

    assert [state.forget("uid-p"), state.forget("uid-p")] == [{DELETED}, set()]
    assert gpus(state) == 0


def test_a_binding_that_was_seen_is_not_forgotten(state: ClusterState) -> None:
    state.assume(pod(gpu=2), "a")
    state.set_pod(pod(gpu=2, node="a"))

    assert state.forget("uid-p") == set()
    assert gpus(state) == 2


def test_an_assumed_pod_may_be_deleted_before_its_binding_is_seen(state: ClusterState) -> None:
    state.assume(pod(gpu=2), "a")

    assert state.remove_pod("uid-p") == {DELETED}
    assert state.forget("uid-p") == set()
    assert gpus(state) == 0


def test_to_assume_a_pod_that_counts_already_is_a_bug(state: ClusterState) -> None:
    state.assume(pod(gpu=2), "a")

    with pytest.raises(ValueError, match="already counts on node a"):
        state.assume(pod(gpu=2), "b")


def test_a_pod_may_be_assumed_on_a_node_that_has_just_gone(state: ClusterState) -> None:
    state.remove_node("a")

    state.assume(pod(gpu=2), "a")

    assert state.holds("uid-p") == "a"
    state.set_node(node("a"))
    assert gpus(state) == 2


def test_a_pod_that_asks_for_less_than_before_frees_the_difference(state: ClusterState) -> None:
    state.set_pod(pod(node="a", requests={"cpu": "8"}))

    assert state.set_pod(pod(node="a", requests={"cpu": "2"})) == {SHRUNK}
    assert state.snapshot().requested("cpu")[0] == 2000


def test_a_resource_that_appears_later_counts_the_pods_that_hold_it(state: ClusterState) -> None:
    state.set_pod(pod(node="a", requests={"example.com/nic": "2"}))

    state.set_node(node("a", allocatable={"example.com/nic": "4"}))

    assert state.snapshot().requested("example.com/nic").tolist() == [2, 0]


def test_a_host_port_stays_taken_until_its_last_holder_is_gone(state: ClusterState) -> None:
    for name in ("one", "two"):
        state.set_pod(pod(name, node="a", ports=(8080,)))
    state.remove_pod("uid-one")
    assert len(state.snapshot().usage.ports.at(0)) == 1

    state.remove_pod("uid-two")

    assert state.snapshot().usage.ports.at(0) == frozenset()


def test_absurd_amounts_neither_overflow_nor_leave_a_trace(state: ClusterState) -> None:
    for index in range(100):
        state.set_pod(pod(f"p{index}", node="a", requests={"memory": "9Ei", "cpu": "9E"}))
    assert state.snapshot().requested("memory")[0] > 0

    for index in range(100):
        state.remove_pod(f"uid-p{index}")

    assert state.snapshot().requested("memory")[0] == 0


def test_an_unreadable_amount_counts_as_none_and_is_named() -> None:
    state = build.state(node("a", allocatable={"cpu": "lots"}))

    assert state.snapshot().allocatable("cpu")[0] == 0
    assert [(fact.label, fact.value) for fact in state.unreadable()["a"]] == [("status.allocatable[cpu]", "lots")]


def test_an_unreadable_label_is_named_until_it_is_mended() -> None:
    state = build.state(node("a", memory="plenty"), node("b"))
    assert [fact.label for fact in state.unreadable()["a"]] == [build.MEMORY]

    state.set_node(node("a"))

    assert state.unreadable() == {}
