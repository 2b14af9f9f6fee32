"""PodTopologySpread by hand-made clusters: what the property tests and kube-scheduler's framework say at random."""

from collections.abc import Mapping
from typing import Any

import pytest

from cluster_model import objects
from cluster_model.controller_objects import LabelSelectorSpec, MapSelectorSpec, ReplicaSet, Service
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from cluster_model.verdict import BadRequest, Event
from scheduler_plugins import registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, PluginError
from tests import build
from tests.build import said
from tests.oracle_labels import named

NAME = "PodTopologySpread"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
UNEVEN = "node(s) didn't match pod topology spread constraints"
WEB = {"app": "web"}


def node(name: str, zone: str | None = None, **fields: Any) -> objects.Node:
    labels = {HOSTNAME: name} | ({} if zone is None else {ZONE: zone})
    return build.node(name, labels=labels, **fields)


def constraint(key: str = ZONE, action: str = "DoNotSchedule", **fields: Any) -> objects.TopologySpreadConstraint:
    selector = fields.pop("selector", objects.LabelSelector(match_labels=WEB))
    return objects.TopologySpreadConstraint(
        topology_key=key,
        when_unsatisfiable=action,
        max_skew=fields.pop("max_skew", 1),
        label_selector=selector,
        **fields,
    )


def pod(*constraints: objects.TopologySpreadConstraint, labels: Mapping[str, str] = WEB, **fields: Any) -> PendingPod:
    return build.pod(topology_spread_constraints=constraints, meta={"labels": dict(labels)}, **fields)


def web(on: str, serial: int = 0, **meta: Any) -> PendingPod:
    return build.pod(f"web-{on}-{serial}", node=on, phase="Running", meta={"labels": WEB, **meta})


def settled(cluster: ClusterState, pending: PendingPod, **args: Any) -> Decision:
    return decide(pending, cluster.snapshot(), registry.profile(filters=[NAME], scorers=[(NAME, 2)], args={NAME: args}))


def scores(decision: Decision) -> dict[str, int]:
    given = decision.scores.get(NAME)
    names = [decision.snapshot.names[row] for row in decision.rows]
    return {} if given is None else dict(zip(names, given.tolist(), strict=True))


def test_the_fuller_zone_is_closed_and_a_node_in_no_zone_for_good() -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), node("c"), pods=[web("a")])
    decision = settled(cluster, pod(constraint()))
    assert said(decision) == {"a": UNEVEN, "b": "fits", "c": f"{UNEVEN} (missing required label)"}
    helped = {name: found.reasons[0].preemption_may_help for name in "ac" if (found := decision.rejection(name))}
    assert helped == {"a": True, "c": False}
    assert {Event.ASSIGNED_POD_LABEL, Event.NODE_DELETE, Event.NODE_TAINT} <= decision.cured_by


def test_too_few_domains_count_as_an_empty_one() -> None:
    cluster = build.state(node("a", "x"), pods=[web("a")])
    assert settled(cluster, pod(constraint(min_domains=1))).fits
    assert not settled(cluster, pod(constraint(min_domains=2))).fits


@pytest.mark.parametrize(("policy", "fits"), [("Ignore", False), ("Honor", True)])
def test_a_tainted_zone_holds_the_others_back_unless_taints_are_honoured(policy: str, fits: bool) -> None:
    cluster = build.state(node("a", "x"), node("b", "y", taints=(build.taint("k=v:NoSchedule"),)), pods=[web("a")])
    decision = settled(cluster, pod(constraint(node_taints_policy=policy)))
    assert (said(decision)["a"] == "fits") == fits


@pytest.mark.parametrize(("policy", "fits"), [("Ignore", False), ("", True), ("Honor", True)])
def test_a_zone_that_the_pods_selector_excludes_does_not_count(policy: str, fits: bool) -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), pods=[web("a")])
    decision = settled(cluster, pod(constraint(node_affinity_policy=policy), node_selector={ZONE: "x"}))
    assert (said(decision)["a"] == "fits") == fits


def test_pods_on_their_way_out_and_of_other_namespaces_do_not_count() -> None:
    leaving, foreign = web("a", deletion_timestamp="2026-01-01T00:00:00Z"), web("a", 1, namespace="other")
    cluster = build.state(node("a", "x"), node("b", "y"), pods=[leaving, foreign])
    assert settled(cluster, pod(constraint())).rejectors == set()


def test_a_pod_counts_as_what_it_is_called_now() -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), pods=[web("a")])
    before = cluster.snapshot()
    assert cluster.set_pod(web("a", labels={"app": "db"})) == {Event.ASSIGNED_POD_LABEL}
    assert settled(cluster, pod(constraint())).rejectors == set()
    old = decide(pod(constraint()), before, registry.profile(filters=[NAME], scorers=[]))
    assert said(old)["a"] == UNEVEN


def test_a_pod_on_its_way_out_stops_counting_when_that_is_told() -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), pods=[web("a")])
    cluster.set_pod(web("a", deletion_timestamp="2026-01-01T00:00:00Z"))
    assert settled(cluster, pod(constraint())).rejectors == set()


def test_keys_to_share_narrow_the_selector_to_the_pods_own_revision() -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), pods=[web("a", labels={**WEB, "rev": "1"})])
    new = pod(constraint(match_label_keys=("rev",)), labels={**WEB, "rev": "2"})
    assert settled(cluster, new).rejectors == set()


def test_an_empty_selector_counts_nobody_but_the_pod_itself() -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), pods=[web("a"), web("a", 1)])
    everything = objects.LabelSelector()
    assert settled(cluster, pod(constraint(selector=everything))).fits
    assert not settled(cluster, pod(constraint(selector=everything, max_skew=0))).fits


def test_preferred_constraints_favour_the_emptier_zone_and_give_nothing_outside_all() -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), node("c"), pods=[web("a"), web("a", 1), web("b")])
    assert scores(settled(cluster, pod(constraint(action="ScheduleAnyway")))) == {"a": 33, "b": 100, "c": 0}


def test_pods_of_a_service_are_spread_by_default_also_on_nodes_without_a_zone() -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), node("c"), pods=[web("a"), web("a", 1), web("b")])
    assert scores(settled(cluster, pod())) == {}
    cluster.set_owner(Service(metadata=named("web"), spec=MapSelectorSpec(selector=WEB)))
    assert scores(settled(cluster, pod())) == {"a": 16, "b": 41, "c": 100}
    cluster.remove_owner(Service(metadata=named("web")))
    assert scores(settled(cluster, pod())) == {}


def test_pods_of_a_controller_are_spread_by_its_selector() -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), pods=[web("a")])
    spec = LabelSelectorSpec(selector=objects.LabelSelector(match_labels=WEB))
    cluster.set_owner(ReplicaSet(metadata=named("rs"), spec=spec))
    reference = objects.OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="rs", controller=True)
    owned = build.pod(meta={"labels": WEB, "owner_references": (reference,)})
    assert settled(cluster, owned).node == "b"


def test_the_profiles_own_constraints_reject_as_well() -> None:
    cluster = build.state(node("a", "x"), node("b", "y"), pods=[web("a")])
    cluster.set_owner(Service(metadata=named("web"), spec=MapSelectorSpec(selector=WEB)))
    own = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    decision = settled(cluster, pod(), defaultingType="List", defaultConstraints=[own])
    assert said(decision) == {"a": UNEVEN, "b": "fits"}


def test_a_selector_that_cannot_be_read_fails_the_attempt_in_kube_schedulers_words() -> None:
    broken = objects.LabelSelector(match_expressions=(build.requirement("app", "Near", "web"),))
    with pytest.raises(PluginError) as raised:
        settled(build.state(node("a", "x")), pod(constraint(selector=broken)))
    assert str(raised.value) == (
        'running PreFilter plugin "PodTopologySpread": get constraints from pod: obtaining pod\'s hard topology spread '
        'constraints: "Near" is not a valid label selector operator'
    )


def test_a_preferred_one_fails_only_where_there_is_something_to_score() -> None:
    broken = objects.LabelSelector(match_labels={"a b": "c"})
    pending = pod(constraint(selector=broken, action="ScheduleAnyway"))
    assert settled(build.state(node("a", "x")), pending).node == "a"
    with pytest.raises(PluginError, match='PreScore plugin "PodTopologySpread": calculating preScoreState: obtaining'):
        settled(build.state(node("a", "x"), node("b", "x")), pending)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"defaultingType": "Other"}, 'defaultingType: Invalid value: "Other": must be one of: System, List'),
        ({"defaultConstraints": [{}]}, "when .defaultConstraints are not empty"),
        (
            {"defaultingType": "List", "defaultConstraints": [{}]},
            "maxSkew: Invalid value: 0: not in valid range (0, inf)",
        ),
        ({"defaultingType": "List", "defaultConstraints": [{"topologyKey": "a b"}]}, "name part must consist of"),
        ({"defaultingType": "List", "defaultConstraints": [{"whenUnsatisfiable": "Never"}]}, "must be one of: DoNot"),
        ({"defaultingType": "List", "defaultConstraints": [{"labelSelector": {}}]}, "must not define a selector"),
        ({"defaultingType": "List", "defaultConstraints": [{}, {}]}, "must not be there twice"),
    ],
)
def test_args_that_kubernetes_refuses_are_refused(args: Mapping[str, Any], said: str) -> None:
    with pytest.raises(BadRequest) as raised:
        registry.profile(args={NAME: args})
    assert said in str(raised.value)
