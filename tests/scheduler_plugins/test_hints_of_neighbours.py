"""Hints about the pods around: who counts for a spread, who is company, who is in the way."""

from typing import Any

import pytest

from cluster_model import objects
from cluster_model.label_selectors import Selector, exactly
from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from scheduler_plugins.hints.interest import Hint
from scheduler_plugins.spread_args import Args, DefaultConstraint
from tests.build import node, pod, taint
from tests.scheduler_plugins.hinting import ask

QUEUE, SKIP, ERROR = Hint.QUEUE, Hint.SKIP, Hint.ERROR
ADD, DELETE, LABEL = Event.ASSIGNED_POD_ADD, Event.ASSIGNED_POD_DELETE, Event.ASSIGNED_POD_LABEL
ZONE = "zone"
SPREAD, AFFINITY = "PodTopologySpread", "InterPodAffinity"
WEB = objects.LabelSelector(match_labels={"app": "web"})


def placed(app: str = "web", namespace: str = "default", node: str = "n", **fields: Any) -> PendingPod:
    return pod("other", node=node, meta={"labels": {"app": app}, "namespace": namespace}, **fields)


def spreading(policy: str = "", **fields: Any) -> PendingPod:
    constraint = objects.TopologySpreadConstraint(
        topology_key=ZONE, when_unsatisfiable="DoNotSchedule", max_skew=1, label_selector=WEB, node_taints_policy=policy
    )
    return pod(topology_spread_constraints=(constraint,), **fields)


def wanting(near: str = "", apart: str = "", key: str = ZONE, **fields: Any) -> PendingPod:
    def terms(app: str) -> objects.PodAffinity | None:
        selector = objects.LabelSelector(match_labels={"app": app})
        term = objects.PodAffinityTerm(topology_key=key, label_selector=selector)
        return objects.PodAffinity(required=(term,)) if app else None

    affinity = objects.Affinity(pod_affinity=terms(near), pod_anti_affinity=terms(apart))
    return pod(affinity=affinity, **fields)


OTHERS = [
    (placed(), QUEUE),
    (placed("db"), SKIP),
    (placed(namespace="elsewhere"), SKIP),
    (placed(node=""), SKIP),
    (placed(node="").nominated_to("n"), QUEUE),
]


@pytest.mark.parametrize(("other", "hint"), OTHERS)
def test_spread_wants_a_pod_that_counts_come_or_gone(other: PendingPod, hint: Hint) -> None:
    assert ask(SPREAD, ADD, spreading(), None, other) is hint
    assert ask(SPREAD, DELETE, spreading(), other) is hint


def test_spread_wants_a_pod_that_counts_otherwise_than_before() -> None:
    assert ask(SPREAD, LABEL, spreading(), placed(), placed("db")) is QUEUE
    assert ask(SPREAD, LABEL, spreading(), placed("db"), placed("x")) is SKIP


@pytest.mark.parametrize(("policy", "hint"), [("Honor", QUEUE), ("", SKIP)])
def test_spread_wants_a_toleration_where_taints_leave_nodes_out(policy: str, hint: Hint) -> None:
    old, new = spreading(policy), spreading(policy, tolerations=(objects.Toleration(operator="Exists"),))

    assert ask(SPREAD, Event.POD_TOLERATION, new, old, new) is hint


def test_spread_wants_the_pod_itself_to_count_otherwise() -> None:
    old, new = spreading(), spreading(meta={"labels": {"app": "web"}})

    assert ask(SPREAD, Event.POD_LABEL, new, old, new) is QUEUE
    assert ask(SPREAD, Event.POD_LABEL, old, old, spreading(meta={"labels": {"x": "y"}})) is SKIP


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, {ZONE: "a"}, QUEUE),
        (None, {}, SKIP),
        ({ZONE: "a"}, None, QUEUE),
        ({}, None, SKIP),
        ({}, {ZONE: "a"}, QUEUE),
        ({ZONE: "a"}, {}, QUEUE),
        ({ZONE: "a"}, {ZONE: "b"}, QUEUE),
        ({ZONE: "a"}, {ZONE: "a", "x": "y"}, SKIP),
    ],
)
def test_spread_wants_a_change_of_the_topology(
    old: dict[str, str] | None, new: dict[str, str] | None, hint: Hint
) -> None:
    event = Event.NODE_ADD if old is None else Event.NODE_DELETE if new is None else Event.NODE_LABEL
    before, after = (None if labels is None else node(labels=labels) for labels in (old, new))

    assert ask(SPREAD, event, spreading(), before, after) is hint


def test_spread_wants_other_taints_on_a_node_of_the_topology() -> None:
    tainted = node(labels={ZONE: "a"}, taints=(taint("x:NoSchedule"),))

    assert ask(SPREAD, Event.NODE_TAINT, spreading(), tainted, node(labels={ZONE: "a"})) is QUEUE
    assert ask(SPREAD, Event.NODE_TAINT, spreading(), tainted, tainted) is SKIP


def test_spread_by_the_profiles_constraints_counts_what_the_owners_select() -> None:
    default = DefaultConstraint(topology_key=ZONE, when_unsatisfiable="DoNotSchedule", max_skew=1)
    args = Args(default_constraints=(default,), defaulting_type="List")
    owners = Selector(exactly({"app": "web"}))

    assert ask(SPREAD, ADD, pod(), None, placed(), args, owners) is QUEUE
    assert ask(SPREAD, ADD, pod(), None, placed("db"), args, owners) is SKIP
    assert ask(SPREAD, ADD, pod(), None, placed(), Args(), owners) is SKIP


@pytest.mark.parametrize(("other", "hint"), OTHERS)
def test_affinity_wants_company(other: PendingPod, hint: Hint) -> None:
    assert ask(AFFINITY, ADD, wanting(near="web"), None, other) is hint
    assert ask(AFFINITY, DELETE, wanting(apart="web"), other) is hint
    assert ask(AFFINITY, ADD, wanting(apart="web"), None, other) is SKIP
    assert ask(AFFINITY, DELETE, wanting(near="web"), other) is SKIP


def test_affinity_wants_the_one_gone_that_kept_the_pod_off() -> None:
    keeping_off = wanting(apart="web", node="n")
    web, db = (pod(meta={"labels": {"app": app}}) for app in ("web", "db"))

    assert ask(AFFINITY, DELETE, web, keeping_off) is QUEUE
    assert ask(AFFINITY, DELETE, db, keeping_off) is SKIP


def test_affinity_wants_a_pod_that_becomes_company_or_no_obstacle() -> None:
    assert ask(AFFINITY, LABEL, wanting(near="web"), placed("db"), placed()) is QUEUE
    assert ask(AFFINITY, LABEL, wanting(near="web"), placed(), placed("db")) is SKIP
    assert ask(AFFINITY, LABEL, wanting(apart="web"), placed(), placed("db")) is QUEUE
    assert ask(AFFINITY, LABEL, wanting(apart="web"), placed("db"), placed()) is SKIP


@pytest.mark.parametrize(
    ("old", "new", "near", "apart"),
    [
        (None, {ZONE: "a"}, QUEUE, QUEUE),
        (None, {}, SKIP, QUEUE),
        ({}, {ZONE: "a"}, QUEUE, SKIP),
        ({ZONE: "a"}, {}, SKIP, QUEUE),
        ({ZONE: "a"}, {ZONE: "b"}, QUEUE, QUEUE),
        ({ZONE: "a"}, {ZONE: "a", "x": "y"}, SKIP, SKIP),
    ],
)
def test_affinity_wants_nodes_in_the_topology_and_anti_affinity_out_of_it(
    old: dict[str, str] | None, new: dict[str, str], near: Hint, apart: Hint
) -> None:
    event = Event.NODE_ADD if old is None else Event.NODE_LABEL
    before = None if old is None else node(labels=old)

    assert ask(AFFINITY, event, wanting(near="web"), before, node(labels=new)) is near
    assert ask(AFFINITY, event, wanting(apart="web"), before, node(labels=new)) is apart


def test_a_namespace_that_a_term_selects_by_label_is_not_noticed() -> None:
    """As in kube-scheduler: the pod is tried again after five minutes."""
    team = objects.LabelSelector(match_labels={"team": "a"})
    term = objects.PodAffinityTerm(topology_key=ZONE, label_selector=WEB, namespace_selector=team)
    near = pod(affinity=objects.Affinity(pod_affinity=objects.PodAffinity(required=(term,))))

    assert ask(AFFINITY, ADD, near, None, placed(namespace="of-team-a")) is SKIP


def test_what_cannot_be_read_is_an_error() -> None:
    broken = objects.LabelSelector(match_expressions=(objects.SelectorRequirement(key="app", operator="Like"),))
    term = objects.PodAffinityTerm(topology_key=ZONE, label_selector=broken)
    near = pod(affinity=objects.Affinity(pod_affinity=objects.PodAffinity(required=(term,))))
    constraint = objects.TopologySpreadConstraint(
        topology_key=ZONE, when_unsatisfiable="DoNotSchedule", max_skew=1, label_selector=broken
    )

    assert ask(AFFINITY, ADD, near, None, placed()) is ERROR
    assert ask(AFFINITY, Event.NODE_ADD, near, None, node()) is ERROR
    assert ask(SPREAD, Event.NODE_ADD, pod(topology_spread_constraints=(constraint,)), None, node()) is ERROR
