"""Hints about nodes, and about what pods hold on them: a try only where the change may be what was waited for."""

from typing import Any

import pytest

from cluster_model import objects
from cluster_model.verdict import Event
from scheduler_plugins import node_affinity
from scheduler_plugins.hints.interest import Hint
from tests.build import affinity, node, pod, requirement, taint, term
from tests.scheduler_plugins.hinting import ask

QUEUE, SKIP, ERROR = Hint.QUEUE, Hint.SKIP, Hint.ERROR
POOL = affinity(term(requirement("pool", "In", "a")))
GPU_TAINT, OTHER_TAINT = taint("dedicated=gpu:NoSchedule"), taint("x:NoExecute")
TOLERATION = objects.Toleration(key="dedicated", operator="Exists")
ANY_TOLERATION = objects.Toleration(operator="Exists")


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, {"pool": "a"}, QUEUE),
        (None, {"pool": "b"}, SKIP),
        ({}, {"pool": "a"}, QUEUE),
        ({"pool": "a", "x": "y"}, {"pool": "a"}, SKIP),
        ({"pool": "a"}, {}, SKIP),
    ],
)
def test_node_affinity_wants_a_node_that_matches_and_did_not(
    old: dict[str, str] | None, new: dict[str, str], hint: Hint
) -> None:
    event = Event.NODE_ADD if old is None else Event.NODE_LABEL
    before = None if old is None else node(labels=old)

    assert ask("NodeAffinity", event, pod(affinity=POOL), before, node(labels=new)) is hint
    assert ask("NodeAffinity", event, pod(node_selector={"pool": "a"}), before, node(labels=new)) is hint


@pytest.mark.parametrize(("labels", "hint"), [({"pool": "a", "zone": "z"}, QUEUE), ({"pool": "a"}, SKIP)])
def test_node_affinity_wants_the_profiles_own_affinity_met_too(labels: dict[str, str], hint: Hint) -> None:
    added = affinity(term(requirement("zone", "In", "z"))).node_affinity
    assert added is not None
    args = node_affinity.Args(added_affinity=added)

    assert ask("NodeAffinity", Event.NODE_ADD, pod(affinity=POOL), None, node(labels=labels), args) is hint


def test_a_term_that_cannot_be_read_is_an_error_where_no_other_matches() -> None:
    broken = pod(affinity=affinity(term(requirement("rank", "Gt", "much")), term(requirement("pool", "In", "a"))))

    assert ask("NodeAffinity", Event.NODE_ADD, broken, None, node()) is ERROR
    assert ask("NodeAffinity", Event.NODE_ADD, broken, None, node(labels={"pool": "a"})) is QUEUE


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, (), QUEUE),
        (None, (GPU_TAINT,), QUEUE),
        (None, (OTHER_TAINT,), SKIP),
        ((OTHER_TAINT,), (GPU_TAINT,), QUEUE),
        ((GPU_TAINT,), (), SKIP),
    ],
)
def test_taint_toleration_wants_a_node_without_what_the_pod_does_not_tolerate(
    old: tuple[objects.Taint, ...] | None, new: tuple[objects.Taint, ...], hint: Hint
) -> None:
    event = Event.NODE_ADD if old is None else Event.NODE_TAINT
    before = None if old is None else node(taints=old)

    assert ask("TaintToleration", event, pod(tolerations=(TOLERATION,)), before, node(taints=new)) is hint


def test_any_new_toleration_may_be_the_one_for_a_taint_but_only_one_is_for_the_cordon() -> None:
    old, new, other = pod(), pod(tolerations=(ANY_TOLERATION,)), pod(tolerations=(TOLERATION,))

    assert ask("TaintToleration", Event.POD_TOLERATION, other, old, other) is QUEUE
    assert ask("NodeUnschedulable", Event.POD_TOLERATION, new, old, new) is QUEUE
    assert ask("NodeUnschedulable", Event.POD_TOLERATION, other, old, other) is SKIP


@pytest.mark.parametrize(("old", "new", "hint"), [(None, False, QUEUE), (None, True, SKIP), (True, False, QUEUE)])
def test_node_unschedulable_wants_a_node_that_is_open(old: bool | None, new: bool, hint: Hint) -> None:
    event = Event.NODE_ADD if old is None else Event.NODE_TAINT
    before = None if old is None else node(unschedulable=old)

    assert ask("NodeUnschedulable", event, pod(), before, node(unschedulable=new)) is hint


@pytest.mark.parametrize(
    ("asked", "old", "new", "hint"),
    [
        ({"cpu": "4"}, None, {"cpu": "4"}, QUEUE),
        ({"cpu": "4"}, None, {"cpu": "3"}, SKIP),
        ({"cpu": "4"}, {"cpu": "3"}, {"cpu": "4"}, QUEUE),
        ({"cpu": "4"}, {"cpu": "4"}, {"cpu": "8"}, QUEUE),
        ({"cpu": "4"}, {"memory": "1Gi"}, {"memory": "2Gi"}, SKIP),
        ({"cpu": "4"}, {"pods": "1"}, {"pods": "2"}, QUEUE),
        ({}, {"cpu": "1"}, {"cpu": "2"}, SKIP),
        ({"cpu": "4"}, None, {"pods": "0"}, SKIP),
        ({"a.com/nic": "1"}, {}, {"a.com/nic": "1"}, QUEUE),
        ({"a.com/nic": "1"}, {"cpu": "1"}, {"cpu": "2"}, SKIP),
    ],
)
def test_fit_wants_a_node_with_more_of_what_the_pod_asks_and_room_when_empty(
    asked: dict[str, str], old: dict[str, str] | None, new: dict[str, str], hint: Hint
) -> None:
    event = Event.NODE_ADD if old is None else Event.NODE_ALLOCATABLE
    before = None if old is None else node(allocatable=old)

    assert ask("NodeResourcesFit", event, pod(requests=asked), before, node(allocatable=new)) is hint


@pytest.mark.parametrize(("where", "hint"), [({"node": "n"}, QUEUE), ({}, SKIP)])
def test_fit_wants_any_pod_gone_that_had_a_place(where: dict[str, Any], hint: Hint) -> None:
    assert ask("NodeResourcesFit", Event.ASSIGNED_POD_DELETE, pod(gpu=1), pod("gone", **where)) is hint


def test_fit_takes_a_place_that_was_only_kept_for_one() -> None:
    assert ask("NodeResourcesFit", Event.ASSIGNED_POD_DELETE, pod(), pod("gone").nominated_to("n")) is QUEUE


@pytest.mark.parametrize(("before", "after", "hint"), [("2", "1", QUEUE), ("1", "2", SKIP), ("1", "1", SKIP)])
def test_fit_wants_a_pod_that_holds_less_of_what_is_asked(before: str, after: str, hint: Hint) -> None:
    old, new = pod("o", node="n", requests={"cpu": before}), pod("o", node="n", requests={"cpu": after})

    assert ask("NodeResourcesFit", Event.ASSIGNED_POD_SCALE_DOWN, pod(requests={"cpu": "1"}), old, new) is hint
    assert ask("NodeResourcesFit", Event.ASSIGNED_POD_SCALE_DOWN, pod(requests={"memory": "1"}), old, new) is SKIP


def test_fit_tries_a_pod_that_asks_for_less_itself() -> None:
    assert ask("NodeResourcesFit", Event.POD_SCALE_DOWN, pod(gpu=1), pod(gpu=2), pod(gpu=1)) is QUEUE


@pytest.mark.parametrize(("held", "where", "hint"), [(80, "n", QUEUE), (81, "n", SKIP), (80, "", SKIP)])
def test_node_ports_wants_a_port_given_back_that_the_pod_needs(held: int, where: str, hint: Hint) -> None:
    assert ask("NodePorts", Event.ASSIGNED_POD_DELETE, pod(ports=[80]), pod("gone", node=where, ports=[held])) is hint


def test_any_node_may_have_the_port_or_the_name() -> None:
    for plugin in ("NodePorts", "NodeName", "VolumeRestrictions"):
        assert ask(plugin, Event.NODE_ADD, pod(), None, node()) is QUEUE


@pytest.mark.parametrize(("old", "new", "hint"), [(None, (), QUEUE), ((), ("f",), QUEUE), (("f",), ("f",), SKIP)])
def test_declared_features_want_a_node_that_declares_otherwise(
    old: tuple[str, ...] | None, new: tuple[str, ...], hint: Hint
) -> None:
    event = Event.NODE_ADD if old is None else Event.NODE_FEATURE
    before = None if old is None else node(features=old)

    assert ask("NodeDeclaredFeatures", event, pod(), before, node(features=new)) is hint


@pytest.mark.parametrize("event", [Event.POD_UPDATE, Event.POD_LABEL])
def test_declared_features_want_a_pod_that_needs_others(event: Event) -> None:
    needing = pod(host_network=True, host_users=False)

    assert ask("NodeDeclaredFeatures", event, pod(), needing, pod()) is QUEUE
    assert ask("NodeDeclaredFeatures", event, needing, needing, needing) is SKIP
