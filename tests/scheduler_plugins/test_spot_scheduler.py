"""SpotScheduler: who prefers spot nodes, who demands them, and which nodes are held to be spot."""

from typing import Any

import pytest

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.verdict import BadRequest
from scheduler_plugins import registry
from scheduler_plugins.decide import decide
from tests.build import node, pod, said, snapshot, taint

PROFILE = registry.profile(filters=("SpotScheduler",), scorers=(("SpotScheduler", 5),))
MARK = {"karpenter.sh/capacity-type": "spot"}
SPOT, BASE = node("spot", labels=MARK), node("base", labels={"karpenter.sh/capacity-type": "on-demand"})
OTHER = "node(s) didn't match the requested capacity type"
AKS = "kubernetes.azure.com/scalesetpriority"


def asking(word: str, **fields: Any) -> PendingPod:
    return pod(annotations={"scheduling.gpu/capacity": word}, **fields)


def scores(one: PendingPod, *nodes: objects.Node) -> dict[str, list[int]]:
    return {name: found.tolist() for name, found in decide(one, snapshot(*nodes), PROFILE).scores.items()}


def test_a_pod_that_says_nothing_prefers_on_demand_nodes_and_takes_spot_ones() -> None:
    assert scores(pod(), SPOT, BASE) == {"SpotScheduler": [0, 100]}
    assert decide(pod(), snapshot(SPOT), PROFILE).node == "spot"


def test_a_pod_that_tolerates_a_spot_taint_prefers_spot_nodes_and_takes_the_others() -> None:
    tolerant = pod(tolerations=(objects.Toleration(key=AKS, value="spot", effect="NoSchedule"),))

    assert scores(tolerant, SPOT, BASE) == {"SpotScheduler": [100, 0]}
    assert decide(tolerant, snapshot(BASE), PROFILE).node == "base"


@pytest.mark.parametrize(("word", "expected"), [("spot", ["fits", OTHER]), ("on-demand", [OTHER, "fits"])])
def test_a_demand_keeps_the_pod_off_the_other_kind(word: str, expected: list[str]) -> None:
    decision = decide(asking(word), snapshot(SPOT, BASE), PROFILE)

    assert list(said(decision).values()) == expected
    assert decision.rejectors == {"SpotScheduler"}
    assert {event.value for event in decision.cured_by} == {
        "NodeAdd",
        "NodeUpdateNodeLabel",
        "NodeUpdateNodeTaint",
        "TargetPodUpdate",
    }


def test_the_annotation_has_the_last_word_over_tolerations() -> None:
    anything = (objects.Toleration(operator="Exists"),)

    assert said(decide(asking("on-demand", tolerations=anything), snapshot(SPOT, BASE), PROFILE))["spot"] == OTHER
    assert scores(asking("any", tolerations=anything), SPOT, BASE) == {}
    assert set(said(decide(asking("any"), snapshot(SPOT, BASE), PROFILE)).values()) == {"fits"}


@pytest.mark.parametrize(
    "one",
    [
        node(labels={"eks.amazonaws.com/capacityType": "SPOT"}),
        node(labels={"cloud.google.com/gke-spot": "true"}),
        node(labels={"cloud.google.com/gke-preemptible": "true"}),
        node(labels={AKS: "spot"}),
        node(labels={"oci.oraclecloud.com/oke-is-preemptible": "true"}),
        node(taints=(taint("oci.oraclecloud.com/oke-is-preemptible=present:NoSchedule"),)),
        node(taints=(taint("cloud.google.com/gke-spot=true:NoSchedule"),)),
    ],
    ids=["EKS", "GKE", "GKE preemptible", "AKS", "OKE", "OKE taint", "GKE taint"],
)
def test_each_clouds_mark_makes_a_spot_node(one: objects.Node) -> None:
    assert decide(asking("spot"), snapshot(one), PROFILE).fits
    assert not decide(asking("on-demand"), snapshot(one), PROFILE).fits


@pytest.mark.parametrize(
    "labels",
    [
        {"karpenter.sh/capacity-type": "reserved"},
        {"eks.amazonaws.com/capacityType": "ON_DEMAND"},
        {"cloud.google.com/gke-spot": "false"},
        {"karpenter.sh/capacity-type": "SPOT"},
    ],
)
def test_any_other_node_is_on_demand(labels: dict[str, str]) -> None:
    assert decide(asking("on-demand"), snapshot(node(labels=labels)), PROFILE).fits


def test_marks_of_ones_own_are_configured() -> None:
    own = {"SpotScheduler": {"spotMarks": ["example.com/pool=cheap"]}}
    profile = registry.profile(filters=("SpotScheduler",), scorers=(), args=own)

    assert decide(asking("spot"), snapshot(node(labels={"example.com/pool": "cheap"})), profile).fits
    assert decide(asking("spot"), snapshot(SPOT), profile).fits


@pytest.mark.parametrize("text", ["spot", "=spot", "example.com/pool="])
def test_a_mark_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=r'spotMarks\[0\]: Invalid value: ".*": must be key=value'):
        registry.profile(args={"SpotScheduler": {"spotMarks": [text]}})


def test_a_word_that_is_none_of_the_three_keeps_the_pod_pending_and_says_so() -> None:
    decision = decide(asking("cheap"), snapshot(SPOT, BASE), PROFILE)

    expected = 'metadata.annotations[scheduling.gpu/capacity]: Invalid value: "cheap": must be one of'
    assert decision.refused
    assert said(decision)["spot"].startswith(expected)


@pytest.mark.parametrize("word", ["spot", "on-demand"])
def test_a_demand_in_a_profile_without_the_plugin_keeps_the_pod_pending(word: str) -> None:
    decision = decide(asking(word), snapshot(SPOT, BASE), registry.profile())

    needs = "metadata.annotations[scheduling.gpu/capacity] needs SpotScheduler, which this profile lacks"
    assert set(said(decision).values()) == {needs}
    assert decide(asking("any"), snapshot(SPOT, BASE), registry.profile()).fits
