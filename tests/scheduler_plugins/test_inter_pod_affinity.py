"""InterPodAffinity by hand-made clusters: what the property tests and kube-scheduler's framework say at random."""

from collections.abc import Mapping
from typing import Any

import pytest

from cluster_model import objects
from cluster_model.controller_objects import Namespace
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from cluster_model.verdict import BadRequest, Event
from scheduler_plugins import registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, PluginError
from tests import build
from tests.build import said
from tests.oracle_labels import named

NAME = "InterPodAffinity"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"
KEPT_OFF = "node(s) didn't satisfy existing pods anti-affinity rules"


def node(name: str, zone: str | None = None) -> objects.Node:
    return build.node(name, labels={HOSTNAME: name} | ({} if zone is None else {ZONE: zone}))


def term(app: str, key: str = ZONE, **fields: Any) -> objects.PodAffinityTerm:
    selector = fields.pop("selector", objects.LabelSelector(match_labels={"app": app}))
    return objects.PodAffinityTerm(topology_key=key, label_selector=selector, **fields)


def required(*terms: objects.PodAffinityTerm) -> objects.PodAffinity:
    return objects.PodAffinity(required=terms)


def preferred(weight: int, *terms: objects.PodAffinityTerm) -> objects.PodAffinity:
    wishes = tuple(objects.WeightedPodAffinityTerm(weight=weight, pod_affinity_term=one) for one in terms)
    return objects.PodAffinity(preferred=wishes)


def pod(
    near: objects.PodAffinity | None = None, apart: objects.PodAffinity | None = None, app: str = "web", **fields: Any
) -> PendingPod:
    meta = {"labels": {"app": app}, "namespace": fields.pop("namespace", "default")}
    affinity = objects.Affinity(pod_affinity=near, pod_anti_affinity=apart)
    return build.pod(fields.pop("name", "p"), affinity=affinity, meta=meta, **fields)


def placed(app: str, on: str, **fields: Any) -> PendingPod:
    return pod(app=app, name=f"{app}-{on}", node=on, phase="Running", **fields)


def settled(cluster: ClusterState, pending: PendingPod, **args: Any) -> Decision:
    return decide(pending, cluster.snapshot(), registry.profile(filters=[NAME], scorers=[(NAME, 2)], args={NAME: args}))


def scores(decision: Decision) -> dict[str, int]:
    given = decision.scores.get(NAME)
    names = [decision.snapshot.names[row] for row in decision.rows]
    return {} if given is None else dict(zip(names, given.tolist(), strict=True))


ZONES = (node("a", "x"), node("b", "x"), node("c", "y"), node("d"))


def test_a_pod_goes_where_the_one_it_needs_is_near() -> None:
    decision = settled(build.state(*ZONES, pods=[placed("db", "a")]), pod(near=required(term("db"))))
    assert said(decision) == {"a": "fits", "b": "fits", "c": NOT_NEAR, "d": NOT_NEAR}
    rejected = decision.rejection("c")
    assert rejected is not None
    assert not rejected.reasons[0].preemption_may_help
    assert Event.ASSIGNED_POD_ADD in decision.cured_by


def test_one_pod_must_be_all_that_the_terms_ask_for() -> None:
    both = (term("db"), term("", selector=objects.LabelSelector(match_labels={"tier": "x"})))
    half = [placed("db", "a"), build.pod("other", node="a", phase="Running", meta={"labels": {"tier": "x"}})]
    assert not settled(build.state(*ZONES, pods=half), pod(near=required(*both))).fits
    whole = build.pod("both", node="a", phase="Running", meta={"labels": {"app": "db", "tier": "x"}})
    assert settled(build.state(*ZONES, pods=[whole]), pod(near=required(*both))).node == "a"


def test_the_first_of_its_kind_may_go_anywhere_in_a_domain() -> None:
    decision = settled(build.state(*ZONES), pod(near=required(term("web"))))
    assert said(decision) == {"a": "fits", "b": "fits", "c": "fits", "d": NOT_NEAR}
    assert not settled(build.state(*ZONES), pod(near=required(term("web")), app="db")).fits


def test_a_pod_stays_apart_from_those_it_means() -> None:
    decision = settled(build.state(*ZONES, pods=[placed("db", "a")]), pod(apart=required(term("db"))))
    assert said(decision) == {"a": NOT_APART, "b": NOT_APART, "c": "fits", "d": "fits"}
    assert {Event.ASSIGNED_POD_DELETE, Event.ASSIGNED_POD_LABEL, Event.NODE_LABEL} <= decision.cured_by
    assert Event.ASSIGNED_POD_ADD not in decision.cured_by


def test_those_that_are_there_keep_it_off_until_they_end() -> None:
    loner = placed("db", "a", apart=required(term("web")))
    cluster = build.state(*ZONES, pods=[loner])
    assert said(settled(cluster, pod())) == {"a": KEPT_OFF, "b": KEPT_OFF, "c": "fits", "d": "fits"}
    assert settled(cluster, pod(app="other")).rejectors == set()
    cluster.remove_pod(loner.pod.metadata.uid)
    assert settled(cluster, pod()).rejectors == set()


def test_what_was_assumed_counts_and_what_failed_does_not() -> None:
    cluster, web = build.state(*ZONES), pod(apart=required(term("web", HOSTNAME)))
    cluster.assume(web, "a")
    other = pod(apart=required(term("web", HOSTNAME)), name="q")
    assert said(settled(cluster, other))["a"] == NOT_APART
    cluster.forget(web.pod.metadata.uid)
    assert settled(cluster, other).rejectors == set()


def test_an_old_snapshot_knows_nothing_of_what_came_later() -> None:
    cluster = build.state(*ZONES)
    before = cluster.snapshot()
    cluster.set_pod(placed("db", "a"))
    pending = pod(apart=required(term("db")))
    profile = registry.profile(filters=[NAME], scorers=[])
    assert decide(pending, cluster.snapshot(), profile).rejectors == {NAME}
    assert decide(pending, before, profile).rejectors == set()
    assert decide(pending, cluster.snapshot(), profile).rejectors == {NAME}


def test_pods_count_once_their_node_appears_and_again_when_it_returns() -> None:
    cluster = build.state(ZONES[2], pods=[placed("db", "a")])
    pending = pod(near=required(term("db", HOSTNAME)))
    assert not settled(cluster, pending).fits
    cluster.set_node(ZONES[0])
    assert settled(cluster, pending).node == "a"
    cluster.remove_node("a")
    assert not settled(cluster, pending).fits
    cluster.set_node(ZONES[0])
    assert settled(cluster, pending).node == "a"


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({}, False),
        ({"namespaces": ("other",)}, True),
        ({"namespaces": ("third",)}, False),
        ({"namespace_selector": objects.LabelSelector()}, True),
        ({"namespace_selector": objects.LabelSelector(match_labels={"team": "b"})}, True),
        ({"namespace_selector": objects.LabelSelector(match_labels={"team": "a"})}, False),
        ({"namespace_selector": objects.LabelSelector(match_labels={"team": "a"}), "namespaces": ("other",)}, True),
    ],
)
def test_a_term_names_namespaces_or_selects_them(fields: Mapping[str, Any], fits: bool) -> None:
    cluster = build.state(*ZONES[:3], pods=[placed("db", "a", namespace="other")])
    cluster.set_namespace(Namespace(metadata=named("other", "", {"team": "b"})))
    assert settled(cluster, pod(near=required(term("db", **fields)))).fits == fits


@pytest.mark.parametrize(("team", "kept_off"), [("a", False), ("b", True)])
def test_a_placed_pods_term_reads_the_labels_of_the_namespace_now(team: str, kept_off: bool) -> None:
    by_team = objects.LabelSelector(match_labels={"team": "b"})
    loner = placed("db", "a", apart=required(term("web", namespace_selector=by_team)), namespace="other")
    cluster = build.state(*ZONES[:1], pods=[loner])
    cluster.set_namespace(Namespace(metadata=named("default", "", {"team": team})))
    assert (said(settled(cluster, pod()))["a"] == KEPT_OFF) == kept_off
    cluster.remove_namespace("default")
    assert settled(cluster, pod()).fits


def test_wishes_add_up_by_weight_in_both_directions() -> None:
    own = pod(near=preferred(10, term("db")), apart=preferred(4, term("cache", HOSTNAME)))
    placed_pods = [placed("db", "a"), placed("cache", "b"), placed("fan", "c", near=preferred(5, term("web")))]
    assert scores(settled(build.state(*ZONES, pods=placed_pods), own)) == {"a": 100, "b": 60, "c": 50, "d": 0}


def test_required_affinity_of_placed_pods_draws_the_pod_by_the_weight_of_the_args() -> None:
    cluster = build.state(*ZONES, pods=[placed("fan", "c", near=required(term("web")))])
    assert scores(settled(cluster, pod())) == {"a": 0, "b": 0, "c": 100, "d": 0}
    assert scores(settled(cluster, pod(), hardPodAffinityWeight=0)) == {}


def test_wishes_of_placed_pods_can_be_ignored_for_pods_without_any() -> None:
    cluster = build.state(*ZONES, pods=[placed("fan", "c", near=preferred(5, term("web")))])
    ignoring = {"ignorePreferredTermsOfExistingPods": True}
    assert scores(settled(cluster, pod(), **ignoring)) == {}
    assert scores(settled(cluster, pod(near=preferred(1, term("none"))), **ignoring))["c"] == 100


def test_wishes_that_cancel_out_score_all_alike_and_no_wish_scores_nothing() -> None:
    own = pod(near=preferred(5, term("db")), apart=preferred(5, term("db")))
    assert scores(settled(build.state(*ZONES, pods=[placed("db", "a")]), own)) == dict.fromkeys("abcd", 0)
    assert scores(settled(build.state(*ZONES), own)) == {}


def test_quotient_comes_first() -> None:
    """29 of 100 is 28, for the float below 0.29 is multiplied."""
    wishes = preferred(100, term("a", HOSTNAME)).preferred + preferred(29, term("b", HOSTNAME)).preferred
    own = pod(near=objects.PodAffinity(preferred=wishes))
    cluster = build.state(*ZONES[:3], pods=[placed("a", "a"), placed("b", "b")])
    assert scores(settled(cluster, own)) == {"a": 100, "b": 28, "c": 0}


def test_terms_that_cannot_be_read_refuse_the_pod_in_kube_schedulers_words() -> None:
    broken = objects.LabelSelector(match_expressions=(build.requirement("app", "Near"),))
    pending = pod(near=required(term("", selector=broken)), apart=preferred(1, term("", selector=broken)))
    text = '"Near" is not a valid label selector operator'
    decision = settled(build.state(*ZONES[:1]), pending)
    assert said(decision) == {"a": f"parsing pod: [requiredAffinityTerms: {text}, preferredAntiAffinityTerms: {text}]"}
    assert Event.POD_LABEL in decision.cured_by
    assert Event.ASSIGNED_POD_DELETE not in decision.cured_by


def test_where_nothing_filters_they_fail_the_scoring() -> None:
    broken = objects.LabelSelector(match_labels={"": "x"})
    pending = pod(near=preferred(1, term("", selector=broken)))
    profile = registry.profile(filters=[], scorers=[(NAME, 1)])
    assert decide(pending, build.snapshot(ZONES[0]), profile).fits
    with pytest.raises(
        PluginError, match='running PreScore plugin "InterPodAffinity": failed to parse pod: preferredA'
    ):
        decide(pending, build.snapshot(*ZONES), profile)


def test_a_list_of_a_placed_pod_that_cannot_be_read_says_nothing() -> None:
    """The lists beside it hold."""
    broken = objects.LabelSelector(match_labels={"": "x"})
    wishes = preferred(1, term("web")).preferred
    apart = objects.PodAffinity(required=(term("", selector=broken), term("web")), preferred=wishes)
    cluster = build.state(*ZONES[:3], pods=[placed("db", "a", apart=apart)])
    assert scores(settled(cluster, pod())) == {"a": 0, "b": 0, "c": 100}


@pytest.mark.parametrize("weight", [-1, 101])
def test_a_weight_out_of_range_is_refused(weight: int) -> None:
    with pytest.raises(BadRequest, match="hardPodAffinityWeight: Invalid value"):
        registry.profile(args={NAME: {"hardPodAffinityWeight": weight}})
