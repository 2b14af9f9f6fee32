"""GPUTopologyPlugin: free GPUs, model and memory with slack; the tightest and idlest node scores best."""

from collections.abc import Mapping

import numpy as np
import pytest

from cluster_model import objects
from cluster_model.pod import PendingPod, rules
from cluster_model.snapshot import Snapshot
from cluster_model.state import ClusterState
from scheduler_plugins import gpu_topology, registry
from scheduler_plugins.decide import decide
from tests.build import node, pod, raw_pod, said, snapshot

PROFILE = registry.profile(filters=("GPUTopologyPlugin",), scorers=())


def verdict(asking: PendingPod, *nodes: objects.Node, taken: Mapping[str, int] | None = None) -> dict[str, str]:
    return said(decide(asking, snapshot(*nodes, taken=taken), PROFILE))


def helps(asking: PendingPod, one: objects.Node, taken: int = 0) -> bool:
    """Say whether evicting pods is held to be able to help."""
    rejection = decide(asking, snapshot(one, taken={"n": taken}), PROFILE).rejection("n")
    assert rejection is not None
    return all(reason.preemption_may_help for reason in rejection.reasons)


def score(asking: PendingPod, cluster: Snapshot, count: str = "free") -> list[int]:
    rows = np.arange(len(cluster))
    found: list[int] = gpu_topology.score(asking, cluster, rows, gpu_topology.Args(count=count)).tolist()
    return found


def test_as_many_gpus_must_be_free_as_are_asked() -> None:
    assert verdict(pod(gpu=3), node("a"), node("b"), taken={"a": 5, "b": 6}) == {
        "a": "fits",
        "b": "Insufficient nvidia.com/gpu",
    }


def test_evicting_helps_where_gpus_are_taken_and_not_where_they_never_were() -> None:
    assert helps(pod(gpu=3), node(), taken=6)
    assert not helps(pod(gpu=9), node(), taken=6)


def test_evicting_does_not_help_where_even_free_gpus_would_be_of_the_wrong_model() -> None:
    asking = pod(gpu=3, model="H100")
    assert verdict(asking, node("a"), taken={"a": 6}) == {"a": "Insufficient nvidia.com/gpu"}
    assert not helps(asking, node(), taken=6)


def test_the_model_must_be_one_of_those_asked_in_whatever_vocabulary() -> None:
    found = verdict(
        pod(gpu=1, model="A100,H100"),
        node("hopper", model="NVIDIA-H100-80GB-HBM3"),
        node("ampere", model="NVIDIA-A100-SXM4-40GB"),
        node("turing", model="Tesla-T4", memory=15360),
        node("mystery", model=None),
    )
    assert found == {
        "hopper": "fits",
        "ampere": "fits",
        "turing": "node(s) didn't match GPU model",
        "mystery": "node(s) had no known GPU model",
    }


def test_a_model_that_nobody_knows_is_one_that_no_node_has() -> None:
    found = verdict(pod(gpu=1, model="B900"), node("a"), node("b", model=None))

    assert found == {"a": "node(s) didn't match GPU model", "b": "node(s) had no known GPU model"}


def test_a_model_of_the_configuration_is_found_on_nodes_that_have_it() -> None:
    state = ClusterState(("RTX-9090",))
    for one in (node("new", model="NVIDIA-GeForce-RTX-9090"), node("old")):
        state.set_node(one)
    asking = PendingPod.read(raw_pod(gpu=1, model="RTX9090"), rules(("RTX-9090",)))

    assert decide(asking, state.snapshot(), PROFILE).node == "new"


@pytest.mark.parametrize(
    ("memory", "fits"), [(81920, True), (81559, True), (75367, True), (75366, False), (40960, False)]
)
def test_memory_may_show_8_percent_less_than_asked(memory: int, fits: bool) -> None:
    assert verdict(pod(gpu=1, memory="80Gi"), node("a", memory=memory)) == {
        "a": "fits" if fits else "Insufficient GPU memory"
    }


def test_memory_of_exactly_92_percent_will_do() -> None:
    assert verdict(pod(gpu=1, memory="20000"), node("a", memory=18400)) == {"a": "fits"}


def test_unknown_memory_fails_only_a_pod_that_names_some() -> None:
    unknown = node("a", model=None, memory=None)
    assert verdict(pod(gpu=1, memory="1Gi"), unknown) == {"a": "node(s) had no known GPU memory"}
    assert verdict(pod(gpu=1), unknown) == {"a": "fits"}


def test_a_size_holds_for_its_own_model_only() -> None:
    found = verdict(
        pod(gpu=1, model="A100-80GB,T4"),
        node("small", model="NVIDIA-A100-SXM4-40GB", memory=40960),
        node("large"),
        node("turing", model="Tesla-T4", memory=15109),
    )
    assert found == {"small": "Insufficient GPU memory", "large": "fits", "turing": "fits"}


def test_the_memory_annotation_holds_beside_the_size() -> None:
    assert verdict(pod(gpu=1, model="A100-40GB", memory="60Gi"), node("a", memory=40960)) == {
        "a": "Insufficient GPU memory"
    }


def test_a_model_asked_twice_takes_the_easier_size() -> None:
    assert verdict(pod(gpu=1, model="A100-80GB,A100-40GB"), node("a", memory=40960)) == {"a": "fits"}


def test_a_pod_of_slices_needs_no_whole_gpu_yet_its_model() -> None:
    slices = {"nvidia.com/mig-1g.5gb": "1"}
    cut = node("a", gpus=0, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"})
    assert verdict(pod(requests=slices), cut) == {"a": "fits"}
    assert verdict(pod(requests=slices, model="H100"), cut) == {"a": "node(s) didn't match GPU model"}


def test_a_node_that_gave_away_more_than_it_has_still_takes_pods_of_slices() -> None:
    broken = node("a", gpus=2, allocatable={"nvidia.com/mig-1g.5gb": "1"})

    assert verdict(pod(requests={"nvidia.com/mig-1g.5gb": "1"}), broken, taken={"a": 3}) == {"a": "fits"}


def test_a_pod_without_gpus_passes_everywhere() -> None:
    assert verdict(pod(), node("a", gpus=0), node("b", model=None, memory=None)) == {"a": "fits", "b": "fits"}


def test_the_tightest_fit_on_the_idlest_gpus_scores_best() -> None:
    # 8 free of 8, 4 of 8, 2 of 8: fit 40, 80, 100; idle 100, 50, 25
    cluster = snapshot(node("a"), node("b"), node("c"), taken={"b": 4, "c": 6})

    assert score(pod(gpu=2), cluster) == [(7 * 40 + 3 * 100) // 10, (7 * 80 + 3 * 50) // 10, (7 * 100 + 3 * 25) // 10]


def test_the_nodes_own_utilization_goes_before_the_share_assigned() -> None:
    busy = node("a", annotations={"gpu.nvidia.com/utilization": "0.57"})

    # int(100 * (1 - 0.57)) is 43 by float64; cut, not rounded
    assert score(pod(gpu=8), snapshot(busy, node("b"))) == [(700 + 3 * int(100 * (1 - 0.57))) // 10, 100]


def test_by_total_count_the_same_node_scores_alike_full_or_empty() -> None:
    cluster = snapshot(node("a"), node("b"), taken={"b": 4})

    assert score(pod(gpu=8), cluster, "total") == [100, (700 + 3 * 50) // 10]


def test_far_too_many_free_gpus_fit_0_and_not_less() -> None:
    assert score(pod(gpu=1), snapshot(node("a", gpus=16))) == [30]


def test_a_node_without_whole_gpus_scores_0() -> None:
    assert score(pod(requests={"nvidia.com/mig-1g.5gb": "1"}), snapshot(node("a", gpus=0), node("b", gpus=None))) == [
        0,
        0,
    ]
