"""Configurations that people have: they load as the process loads them, run what they name, and decide as they say."""

from pathlib import Path

import pytest

from cluster_model import objects
from gpu_scheduler import config, profiles
from gpu_scheduler.config import Config
from scheduler_plugins import registry, unsupported
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Profile
from tests import build

DATA = Path(__file__).parents[1] / "data" / "scheduler_configs"
FILES = ("full", "less-pods", "topology")
ZONE = "topology.kubernetes.io/zone"
SPOT = {"karpenter.sh/capacity-type": "spot"}


def loaded(name: str) -> Config:
    return config.load(DATA / f"{name}.yaml", profiles.KNOWN, "own")


def profile(name: str) -> Profile:
    return profiles.build(loaded(name).profiles)["gpu-scheduler"]


@pytest.mark.parametrize("name", FILES)
def test_each_is_valid_and_names_nothing_that_does_not_exist_here(name: str) -> None:
    verdict = profiles.check((DATA / f"{name}.yaml").read_text(encoding="utf-8"))

    assert (verdict.valid, verdict.errors, verdict.unknown_plugins) == (True, (), ())
    assert [read.name for read in verdict.reads] == ["gpu-scheduler"]


@pytest.mark.parametrize("name", FILES)
def test_what_each_says_is_heeded_but_for_its_old_version(name: str) -> None:
    old = "is no longer served by Kubernetes; write kubescheduler.config.k8s.io/v1"

    said = [warning for warning in loaded(name).warnings if not warning.endswith(old)]
    assert all("runs as a whole at filter and score" in warning for warning in said)
    assert len(said) < len(loaded(name).warnings)


def test_the_full_one_filters_with_what_it_names_and_with_the_volume_limits_of_today() -> None:
    filters = {found.name for found in profile("full").filters}

    assert filters == {unsupported.NAME, *registry.FILTERS}
    assert {"NodeVolumeLimits", "GPUScheduler", "VolumeZone", "InterPodAffinity"} < filters


def test_the_full_one_scores_with_its_weights() -> None:
    weights = {scorer.name: scorer.weight for scorer in profile("full").scorers}

    ones = ("NodeResourcesBalancedAllocation", "ImageLocality", "InterPodAffinity", "NodeResourcesFit", "NodeAffinity")
    others = {"PodTopologySpread": 2, "GPUScheduler": 10, "SpotScheduler": 5, "AZScheduler": 3}
    assert {name: weights[name] for name in (*ones, "TaintToleration", *others)} == {
        **dict.fromkeys((*ones, "TaintToleration"), 1),
        **others,
    }


def test_the_full_one_sends_a_plain_pod_to_an_on_demand_node_and_a_tolerant_one_to_spot() -> None:
    cluster = build.snapshot(build.node("spot", labels=SPOT), build.node("base"))
    tolerant = (objects.Toleration(key="karpenter.sh/capacity-type", operator="Exists"),)

    found = [decide(one, cluster, profile("full")) for one in (build.pod(), build.pod(tolerations=tolerant))]
    assert [decision.node for decision in found] == ["base", "spot"]


def test_the_full_one_only_prefers_for_it_names_the_plugin_at_score_alone() -> None:
    asking = build.pod(annotations={"scheduling.gpu/capacity": "spot"})

    both = build.snapshot(build.node("base"), build.node("spot", labels=SPOT))
    assert decide(asking, both, profile("full")).node == "spot"
    assert decide(asking, build.snapshot(build.node("base")), profile("full")).node == "base"


def test_the_full_one_balances_the_pods_of_a_controller_over_zones() -> None:
    owner = {"owner_references": (objects.OwnerReference(kind="ReplicaSet", uid="one", controller=True),)}
    nodes = [build.node(f"{zone}{number}", labels={ZONE: zone}) for zone in "abc" for number in range(2)]
    cluster, found = build.state(*nodes), profile("full")
    for number in range(9):
        pod = build.pod(f"p{number}", gpu=1, meta=owner)
        cluster.assume(pod, str(decide(pod, cluster.snapshot(), found).node))

    placed = [cluster.holds(f"uid-p{number}") or "" for number in range(9)]
    assert sorted(name[0] for name in placed) == [*"aaabbbccc"]


def test_a_star_leaves_only_what_is_named() -> None:
    found = profile("less-pods")

    assert [one.name for one in found.filters] == [unsupported.NAME, "NodeLessPods"]
    assert [(one.name, one.weight) for one in found.scorers] == [("NodeLessPods", 1)]


def test_the_one_with_a_star_takes_the_node_with_the_fewest_pods_and_none_that_is_full() -> None:
    held = [build.pod(f"p{number}", node="some", phase="Running") for number in range(2)]
    held += [build.pod("q", node="full", phase="Running")]
    nodes = build.node("some"), build.node("full", allocatable={"pods": "1"}), build.node("more")
    decision = decide(build.pod(gpu=99), build.snapshot(*nodes, pods=held), profile("less-pods"))

    assert decision.node == "more"
    assert build.said(decision) == {"some": "fits", "full": "Too many pods", "more": "fits"}
    assert decision.total.tolist() == [98, 100]


def test_one_more_weight_keeps_the_defaults() -> None:
    found = profile("topology")

    assert (found.scorers[0].name, found.scorers[0].weight) == ("GPUTopologyPlugin", 10)
    assert {one.name for one in found.filters} == {unsupported.NAME, *registry.FILTERS}
    assert loaded("topology").profiles[0].points["queueSort"] == ("PrioritySort",)


def test_the_one_for_topology_takes_the_tightest_node() -> None:
    cluster = build.snapshot(build.node("roomy"), build.node("tight"), taken={"tight": 6})

    assert decide(build.pod(gpu=2), cluster, profile("topology")).node == "tight"
