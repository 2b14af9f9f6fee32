"""decide(): who speaks for a node, who wins, and what a decision says of itself."""

import sys
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np
import pytest

from cluster_model import objects
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins import registry, reuse
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Filter, PluginError, Profile, Scorer, Verdict
from tests import build
from tests.build import node, pod, said, snapshot, taint

PROFILE = registry.profile()


def test_the_first_plugin_in_profile_order_speaks_for_a_node() -> None:
    cluster = snapshot(node("a", gpus=0, unschedulable=True, taints=(taint("x:NoSchedule"),)))

    assert said(decide(pod(gpu=1), cluster, PROFILE)) == {"a": "node(s) were unschedulable"}


def test_another_order_of_filters_lets_another_plugin_speak() -> None:
    cluster = snapshot(node("a", gpus=0, unschedulable=True))
    profile = registry.profile(filters=("GPUScheduler", "NodeUnschedulable"))

    assert said(decide(pod(gpu=1), cluster, profile)) == {"a": "Node does not have GPU"}


@pytest.mark.parametrize("row_local", [True, False])
@pytest.mark.parametrize("cordoned", [True, False])
def test_a_plugin_that_fails_matters_only_where_a_node_is_left_for_it(row_local: bool, cordoned: bool) -> None:
    """kube-scheduler never asks it of a node that an earlier plugin rejects."""
    unsure = Filter("Unsure", _fail, row_local=row_local)
    profile = replace(PROFILE, filters=(*PROFILE.filters, unsure))
    cluster = snapshot(node("a", unschedulable=True), node("b", unschedulable=cordoned))

    for decided in (decide, lambda *asked: reuse.Memory(profile).decide(*asked[:2])):
        if cordoned:
            assert set(said(decided(pod(), cluster, profile)).values()) == {"node(s) were unschedulable"}
        else:
            with pytest.raises(PluginError, match="unclear"):
                decided(pod(), cluster, profile)


def _fail(*_: object) -> None:
    raise PluginError("unclear")


def test_the_default_order_is_the_documented_one() -> None:
    assert [plugin.name for plugin in PROFILE.filters] == [
        "UnsupportedConstraints",
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "GPUScheduler",
        "GPUTopologyPlugin",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeDeclaredFeatures",
    ]
    assert {scorer.name: scorer.weight for scorer in PROFILE.scorers} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "GPUScheduler": 1,
        "GPUTopologyPlugin": 10,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_equal_totals_go_to_the_first_row() -> None:
    decision = decide(pod(gpu=1), snapshot(node("b"), node("a"), node("c")), PROFILE)

    assert (decision.node, decision.fits) == ("b", True)


def test_the_highest_weighted_total_wins() -> None:
    decision = decide(pod(gpu=2), snapshot(node("empty"), node("tight"), taken={"tight": 6}), PROFILE)

    assert decision.node == "tight"
    names = [decision.snapshot.names[row] for row in decision.rows]
    weights = {scorer.name: scorer.weight for scorer in PROFILE.scorers}
    tight = names.index("tight")
    assert decision.total[tight] == sum(weights[name] * scores[tight] for name, scores in decision.scores.items())


def test_a_single_feasible_node_is_scored_too() -> None:
    decision = decide(pod(gpu=1), snapshot(node("only"), node("none", gpus=0)), PROFILE)

    assert decision.node == "only"
    assert decision.scores["GPUTopologyPlugin"].tolist() == [51]


def test_a_pod_without_gpus_gets_no_points_from_the_gpu_plugins() -> None:
    decision = decide(pod(requests={"cpu": "1"}), snapshot(node("gpu"), node("plain", gpus=None)), PROFILE)

    assert decision.scores["GPUTopologyPlugin"].tolist() == [0, 0]
    assert decision.scores["GPUScheduler"].tolist() == [0, 0]


def test_scorers_that_skip_are_left_out() -> None:
    decision = decide(pod(), snapshot(node("a")), PROFILE)

    assert set(decision.scores) == set(dict(registry.SCORERS)) - {
        "NodeAffinity",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesBalancedAllocation",
    }


def test_a_decision_names_its_rejectors_and_what_could_cure_them() -> None:
    cluster = snapshot(node("full"), node("tainted", taints=(taint("x:NoExecute"),)), taken={"full": 8})

    decision = decide(pod(gpu=1), cluster, PROFILE)

    assert decision.rejectors == {"GPUTopologyPlugin", "TaintToleration"}
    assert {Event.ASSIGNED_POD_DELETE, Event.NODE_TAINT, Event.NODE_ADD} <= decision.cured_by
    assert Event.NODE_CONDITION not in decision.cured_by


def test_without_nodes_only_a_node_cures() -> None:
    decision = decide(pod(gpu=1), snapshot(), PROFILE)

    assert (decision.node, set(decision.rejectors), set(decision.cured_by)) == (None, set(), {Event.NODE_ADD})


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        (
            {"annotations": {"gpu.nvidia.com/fraction": "0.5"}, "gpu": 1},
            "metadata.annotations[gpu.nvidia.com/fraction]",
        ),
        ({"resource_claims": (objects.PodResourceClaim(name="c"),)}, "spec.resourceClaims[0]"),
    ],
)
def test_a_constraint_that_nothing_here_keeps_refuses_the_pod_by_its_field(fields: dict[str, Any], path: str) -> None:
    decision = decide(pod(**fields), snapshot(node("a"), node("b", gpus=0)), PROFILE)

    assert said(decision) == dict.fromkeys("ab", f"{path} is not supported by this scheduler yet")
    assert (set(decision.rejectors), set(decision.cured_by)) == ({"UnsupportedConstraints"}, {Event.POD_UPDATE})


def test_a_malformed_annotation_refuses_the_pod_with_the_parsers_own_words() -> None:
    decision = decide(pod(gpu=1, memory="lots"), snapshot(node("a")), PROFILE)

    assert said(decision)["a"].startswith('metadata.annotations[gpu.nvidia.com/memory]: Invalid value: "lots": must be')


def test_no_profile_can_leave_unsupported_constraints_out() -> None:
    profile = registry.profile(filters=(), scorers=())

    assert not decide(pod(resource_claims=(objects.PodResourceClaim(name="c"),)), snapshot(node("a")), profile).fits


def test_more_than_255_sets_of_reasons_get_wider_codes() -> None:
    count = 300
    cluster = snapshot(*(node(f"n{index}") for index in range(count)))
    table = tuple((Reason(f"reason {index}", frozenset()),) for index in range(count))
    many = Filter("Many", lambda _pod, _snapshot: Verdict(np.arange(1, count + 1, dtype=np.uint16), table))
    late = Filter(
        "Late", lambda _pod, cluster: Verdict.where(np.ones(len(cluster), np.bool_), Reason("late", frozenset()))
    )

    decision = decide(pod(), cluster, Profile("p", (many, late), ()))

    assert decision.codes.dtype == np.uint16
    assert said(decision) == {f"n{index}": f"reason {index}" for index in range(count)}


def test_weights_multiply_what_is_already_normalised() -> None:
    scorer = Scorer("Rows", 3, lambda _pod, _snapshot, rows: rows.astype(np.int64), lambda scores: scores * 10)

    decision = decide(pod(), snapshot(node("a"), node("b")), Profile("p", (), (scorer,)))

    assert (decision.scores["Rows"].tolist(), decision.total.tolist(), decision.node) == ([0, 10], [0, 30], "b")


def calls(cluster: Snapshot) -> int:
    """Count the function calls, Python's and C's, of one decision whose columns were already worked out."""
    asking = pod(
        gpu=1, model="A100", memory="40Gi", requests={"cpu": "1", "memory": "1Gi"}, node_selector={"zone": "a"}
    )
    decide(asking, cluster, PROFILE)
    counted = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        decide(asking, cluster, PROFILE)
    finally:
        sys.setprofile(None)
    return counted


def test_a_decision_makes_as_many_calls_for_500_nodes_as_for_5() -> None:
    """No Python loop over nodes: their number changes only the length of the arrays."""
    small, large = (
        snapshot(*(node(f"n{index}", labels={"zone": "a"}) for index in range(count)), taken={"n0": 8})
        for count in (5, 500)
    )

    assert calls(large) == calls(small)


def test_builders_say_what_they_build() -> None:
    cluster = build.snapshot(node("a", gpus=4), taken={"a": 3})

    assert (cluster.allocatable(build.GPU).tolist(), cluster.requested(build.GPU).tolist()) == ([4], [3])
