"""GPUScheduler: a GPU pod needs a node with GPUs of some kind; more memory per GPU scores higher."""

import pytest

from cluster_model.snapshot import Snapshot
from scheduler_plugins import registry
from scheduler_plugins.decide import decide
from tests.build import node, pod, said, snapshot

PROFILE = registry.profile(filters=("GPUScheduler",), scorers=(("GPUScheduler", 1),))


def scores(cluster: Snapshot, gpu: int = 1) -> list[int]:
    found: list[int] = decide(pod(gpu=gpu), cluster, PROFILE).scores["GPUScheduler"].tolist()
    return found


def test_a_gpu_pod_needs_a_node_with_gpus() -> None:
    cluster = snapshot(node("gpu"), node("dead", gpus=0), node("cpu", gpus=None))

    assert said(decide(pod(gpu=1), cluster, PROFILE)) == {
        "gpu": "fits",
        "dead": "Node does not have GPU",
        "cpu": "Node does not have GPU",
    }


def test_other_pods_go_anywhere() -> None:
    assert decide(pod(), snapshot(node("cpu", gpus=None)), PROFILE).fits


@pytest.mark.parametrize("resource", ["nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared", "volcano.sh/vgpu-number"])
def test_slices_shares_and_virtual_gpus_are_gpus(resource: str) -> None:
    cluster = snapshot(node("cut", gpus=None, allocatable={resource: "4"}), node("cpu", gpus=None))

    assert said(decide(pod(requests={resource: "1"}), cluster, PROFILE)) == {
        "cut": "fits",
        "cpu": "Node does not have GPU",
    }


def test_memory_is_scored_in_whole_gib_against_the_most() -> None:
    cluster = snapshot(node("a", memory=81920), node("b", memory=40960), node("c", model="Tesla-T4", memory=15109))

    assert scores(cluster) == [100, 50, 14 * 100 // 80]


def test_unknown_memory_scores_0() -> None:
    assert scores(snapshot(node("a"), node("b", model=None, memory=None))) == [100, 0]


def test_all_unknown_scores_0_everywhere() -> None:
    assert scores(snapshot(node("a", model=None, memory=None))) == [0]


def test_a_pod_without_gpus_scores_0() -> None:
    assert scores(snapshot(node("a")), gpu=0) == [0]
