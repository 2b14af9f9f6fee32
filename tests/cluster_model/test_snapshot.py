"""A snapshot is the cluster at one moment: nothing changes it, and what did not change is shared with the next."""

import numpy as np
import pytest

from tests import build, oracle_state
from tests.build import GPU, node, pod


def test_a_snapshot_keeps_its_numbers_while_the_cluster_moves_on() -> None:
    state = build.state(node("a"), node("b"))
    before = state.snapshot()

    state.assume(pod(gpu=5), "a")
    state.set_node(node("b", gpus=2, labels={"zone": "z"}))

    assert before.requested(GPU).tolist() == [0, 0]
    assert before.allocatable(GPU).tolist() == [8, 8]
    assert before.nodes.label("zone").values == (None,)


def test_columns_cannot_be_written_to() -> None:
    snapshot = build.snapshot(node("a"))

    for column in (snapshot.allocatable("cpu"), snapshot.requested(GPU), snapshot.nodes.taints.numbers):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_the_same_cluster_gives_the_same_snapshot_and_every_change_a_new_generation() -> None:
    state = build.state(node("a"))
    first = state.snapshot()
    assert state.snapshot() is first

    state.assume(pod(gpu=1), "a")

    assert state.snapshot().generation > first.generation


def test_an_assigned_pod_copies_only_the_columns_that_it_changes() -> None:
    state = build.state(node("a", allocatable={"example.com/nic": "4"}))
    before = state.snapshot()

    state.assume(pod(gpu=1), "a")

    after = state.snapshot()
    assert after.nodes is before.nodes
    assert after.requested("example.com/nic") is before.requested("example.com/nic")
    assert after.requested(GPU) is not before.requested(GPU)


def test_a_heartbeat_keeps_the_node_columns_and_what_was_worked_out_from_them() -> None:
    state = build.state(node("a"))
    before = state.snapshot()

    state.set_node(node("a"))

    assert state.snapshot().nodes is before.nodes


def test_a_changed_label_rebuilds_only_the_columns_of_its_key() -> None:
    state = build.state(node("a", labels={"zone": "x", "rack": "r"}), node("b", labels={"zone": "y"}))
    before = {key: state.snapshot().nodes.label(key) for key in ("zone", "rack")}

    state.set_node(node("b", labels={"zone": "z"}))

    nodes = state.snapshot().nodes
    assert nodes.label("rack") is before["rack"]
    assert [nodes.label("zone").at(row) for row in range(2)] == ["x", "z"]


def test_a_resource_that_no_node_has_reads_as_nothing() -> None:
    assert build.snapshot(node("a"), node("b")).allocatable("example.com/none").tolist() == [0, 0]


def test_taken_rows_form_a_snapshot_in_the_order_asked() -> None:
    nodes = [node(name, gpus=gpus, labels={"zone": name}) for name, gpus in (("a", 1), ("b", 2), ("c", 3))]
    part = build.snapshot(*nodes, taken={"c": 3}).take(np.array([2, 0]))

    assert part.names == ("c", "a")
    assert part.allocatable(GPU).tolist() == [3, 1]
    assert part.requested(GPU).tolist() == [3, 0]
    assert [part.nodes.label("zone").at(row) for row in range(2)] == ["c", "a"]
    assert part.nodes.rows == {"c": 0, "a": 1}


def test_an_empty_cluster_is_a_snapshot_too() -> None:
    state = build.state()

    assert len(state.snapshot()) == 0
    oracle_state.check(state)
