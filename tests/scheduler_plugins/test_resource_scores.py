"""NodeResourcesFit and NodeResourcesBalancedAllocation, the scores, by hand-made figures."""

from collections.abc import Mapping
from typing import Any

import pytest

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from scheduler_plugins import registry
from scheduler_plugins.decide import decide
from tests.build import GPU, node, pod, snapshot

FIT, BALANCED = "NodeResourcesFit", "NodeResourcesBalancedAllocation"
TEN = {"cpu": "10", "memory": "10Gi"}


def scores(
    plugin: str, asking: PendingPod, cluster: Snapshot, args: Mapping[str, Any] | None = None
) -> list[int] | None:
    profile = registry.profile(filters=(), scorers=((plugin, 1),), args={plugin: args or {}})
    found = decide(asking, cluster, profile).scores.get(plugin)
    return None if found is None else found.tolist()


def strategy(kind: str, *resources: tuple[str, int], **more: Any) -> dict[str, Any]:
    weighted = [{"name": name, "weight": weight} for name, weight in resources]
    return {"scoringStrategy": {"type": kind, "resources": weighted, **more}}


def holding(**requests: str) -> PendingPod:
    return pod("running", node="a", phase="Running", requests=requests)


def test_the_emptiest_node_scores_best_by_default() -> None:
    cluster = snapshot(node("a", allocatable=TEN), node("b", allocatable=TEN), pods=[holding(cpu="4", memory="2Gi")])

    assert scores(FIT, pod(requests={"cpu": "1", "memory": "1Gi"}), cluster) == [(50 + 70) // 2, 90]


def test_containers_that_name_no_amount_count_a_default() -> None:
    cluster = snapshot(node("a", allocatable={"cpu": "1", "memory": "1000Mi"}))

    # 100m of 1 and 200Mi of 1000Mi, for the pod that runs there as for the one to come
    assert scores(FIT, pod(), cluster) == [(90 + 80) // 2]
    full = snapshot(node("a", allocatable={"cpu": "1", "memory": "1000Mi"}), pods=[holding()])
    assert scores(FIT, pod(), full) == [(80 + 60) // 2]


def test_a_pod_to_come_is_scored_by_its_containers_and_one_that_runs_by_all_it_asks() -> None:
    as_a_whole = objects.ResourceRequirements(requests={"cpu": "5", "memory": "5Gi"})
    cluster = snapshot(node("a", allocatable=TEN))
    full = snapshot(node("a", allocatable=TEN), pods=[pod("q", node="a", phase="Running", resources=as_a_whole)])
    small = {"cpu": "1", "memory": "1Gi"}

    assert scores(FIT, pod(requests=small, resources=as_a_whole), cluster) == [90]
    assert scores(FIT, pod(requests=small), full) == [40]


def test_what_would_overflow_scores_0_and_not_less() -> None:
    cluster = snapshot(node("a", allocatable=TEN))

    assert scores(FIT, pod(requests={"cpu": "11", "memory": "5Gi"}), cluster) == [25]
    assert scores(FIT, pod(requests={"cpu": "11", "memory": "5Gi"}), cluster, strategy("MostAllocated")) == [75]


def test_the_fullest_node_scores_best_by_most_allocated_with_weights() -> None:
    cluster = snapshot(node("a", allocatable=TEN, gpus=4), node("b", allocatable=TEN), taken={"a": 2})
    args = strategy("MostAllocated", (GPU, 5), ("cpu", 1))

    assert scores(FIT, pod(gpu=1, requests={"cpu": "1"}), cluster, args) == [(5 * 75 + 11) // 6, (5 * 12 + 10) // 6]


def test_an_extended_resource_that_the_pod_does_not_ask_for_counts_nothing() -> None:
    cluster = snapshot(node("a", allocatable=TEN))

    args = strategy("MostAllocated", (GPU, 5), ("cpu", 1))
    assert scores(FIT, pod(requests={"cpu": "1"}), cluster, args) == [10]
    assert scores(FIT, pod(requests={"cpu": "1"}), cluster, strategy("MostAllocated", (GPU, 5))) == [0]


def test_a_resource_that_a_node_lacks_counts_nothing_there() -> None:
    cluster = snapshot(node("a", allocatable={"cpu": "0", "memory": "10Gi"}), node("b", allocatable=TEN))

    assert scores(FIT, pod(requests={"cpu": "0", "memory": "4Gi"}), cluster) == [60, (100 + 60) // 2]


@pytest.mark.parametrize(
    ("shape", "score"),
    [
        ([(0, 0), (100, 10)], 33),
        ([(0, 10), (100, 0)], 67),
        ([(0, 10), (50, 1)], 41),  # 100 + trunc(-90 * 33 / 50): towards zero, as Go divides
        ([(40, 3), (100, 10)], 30),
        ([(0, 0), (20, 7)], 70),
    ],
)
def test_a_line_is_followed_between_its_points_and_flat_outside(shape: list[tuple[int, int]], score: int) -> None:
    points = {"shape": [{"utilization": at, "score": worth} for at, worth in shape]}
    args = strategy("RequestedToCapacityRatio", ("cpu", 1), requestedToCapacityRatio=points)

    assert scores(FIT, pod(requests={"cpu": "3333m"}), snapshot(node("a", allocatable=TEN)), args) == [score]


def test_means_along_a_line_are_rounded_half_up_and_worthless_resources_do_not_count() -> None:
    points = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
    args = strategy("RequestedToCapacityRatio", ("cpu", 1), ("memory", 1), requestedToCapacityRatio=points)
    cluster = snapshot(node("a", allocatable=TEN))

    assert scores(FIT, pod(requests={"cpu": "1", "memory": "2Gi"}), cluster, args) == [15]
    assert scores(FIT, pod(requests={"cpu": "1", "memory": "1536Mi"}), cluster, args) == [13]  # 12.5
    assert scores(FIT, pod(requests={"cpu": "1", "memory": "0"}), cluster, args) == [10]


def test_a_pod_that_changes_no_balance_scores_75() -> None:
    assert scores(BALANCED, pod(requests={"cpu": "1", "memory": "1Gi"}), snapshot(node("a", allocatable=TEN))) == [75]


def test_mending_the_balance_scores_more_and_spoiling_it_less() -> None:
    cluster = snapshot(node("a", allocatable=TEN), node("b", allocatable=TEN), pods=[holding(cpu="4")])

    # a: 40 % and 0 % become 40 % and 40 %: 100 with, 80 without. b: 0 and 0 become 0 and 40 %: 80 with, 100 without.
    assert scores(BALANCED, pod(requests={"memory": "4Gi"}), cluster) == [50 + (50 + 20) // 2, 50 + (50 - 20) // 2]


def test_defaults_do_not_count_for_the_balance() -> None:
    bare = pod("running", node="a", phase="Running")
    cluster = snapshot(node("a", allocatable=TEN), node("b", allocatable=TEN), pods=[bare])

    found = scores(BALANCED, pod(requests={"cpu": "1"}), cluster)

    assert found is not None
    assert found[0] == found[1]


def test_a_pod_that_asks_for_none_of_the_resources_is_skipped() -> None:
    assert scores(BALANCED, pod(gpu=1), snapshot(node("a"))) is None


def test_three_resources_are_balanced_by_their_standard_deviation() -> None:
    args = {"resources": [{"name": name} for name in ("cpu", "memory", GPU)]}
    cluster = snapshot(node("a", allocatable=TEN, gpus=10))

    # shares 0.5, 0, 0.5: sigma 0.2357; without the pod 0
    assert scores(BALANCED, pod(gpu=5, requests={"cpu": "5"}), cluster, args) == [50 + (50 + 76 - 100) // 2]


def test_one_resource_is_always_balanced() -> None:
    assert scores(BALANCED, pod(requests={"cpu": "5"}), snapshot(node("a", allocatable={"memory": "0"}))) == [75]
