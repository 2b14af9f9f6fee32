"""Hints of our own plugins: GPUs given back, and nodes whose GPUs would do."""

import pytest

from cluster_model.verdict import Event
from scheduler_plugins.hints.interest import Hint
from tests.build import MODEL, node, pod
from tests.scheduler_plugins.hinting import ask

QUEUE, SKIP = Hint.QUEUE, Hint.SKIP
TOPOLOGY, GPU = "GPUTopologyPlugin", "GPUScheduler"
H100 = "NVIDIA-H100-80GB-HBM3"


@pytest.mark.parametrize(("old", "new", "hint"), [(None, 8, QUEUE), (None, 0, SKIP), (0, 8, QUEUE), (4, 8, SKIP)])
def test_gpu_scheduler_wants_a_node_that_has_gpus_now(old: int | None, new: int, hint: Hint) -> None:
    event = Event.NODE_ADD if old is None else Event.NODE_ALLOCATABLE
    before = None if old is None else node(gpus=old)

    assert ask(GPU, event, pod(gpu=1), before, node(gpus=new)) is hint


@pytest.mark.parametrize(("gpus", "where", "hint"), [(1, "n", QUEUE), (0, "n", SKIP), (1, "", SKIP)])
def test_gpus_must_have_been_held_to_be_given_back(gpus: int, where: str, hint: Hint) -> None:
    assert ask(TOPOLOGY, Event.ASSIGNED_POD_DELETE, pod(gpu=1), pod("gone", gpu=gpus, node=where)) is hint


@pytest.mark.parametrize(("before", "after", "hint"), [(2, 1, QUEUE), (1, 1, SKIP)])
def test_a_pod_that_shrinks_gives_gpus_back(before: int, after: int, hint: Hint) -> None:
    old, new = pod("o", gpu=before, node="n"), pod("o", gpu=after, node="n")

    assert ask(TOPOLOGY, Event.ASSIGNED_POD_SCALE_DOWN, pod(gpu=1), old, new) is hint


@pytest.mark.parametrize(
    ("gpus", "model", "hint"), [(8, None, QUEUE), (3, None, SKIP), (8, "A100", QUEUE), (8, "H100", SKIP)]
)
def test_a_new_node_must_have_enough_gpus_of_the_model(gpus: int, model: str | None, hint: Hint) -> None:
    assert ask(TOPOLOGY, Event.NODE_ADD, pod(gpu=4, model=model), None, node(gpus=gpus)) is hint


def test_a_node_must_have_become_another() -> None:
    wanting, a100, h100 = pod(gpu=4, model="H100"), node(), node(labels={MODEL: H100})

    assert ask(TOPOLOGY, Event.NODE_LABEL, wanting, a100, h100) is QUEUE
    assert ask(TOPOLOGY, Event.NODE_LABEL, wanting, h100, node(labels={MODEL: H100, "a": "b"})) is SKIP
    assert ask(TOPOLOGY, Event.NODE_ALLOCATABLE, pod(gpu=4), node(gpus=2), node(gpus=4)) is QUEUE
    assert ask(TOPOLOGY, Event.NODE_ALLOCATABLE, pod(gpu=4), node(gpus=4), node(gpus=4)) is SKIP


@pytest.mark.parametrize("plugin", [TOPOLOGY, GPU])
def test_the_pod_must_ask_for_other_gpus(plugin: str) -> None:
    old, new = pod(gpu=1, model="H100"), pod(gpu=1, model="A100")

    assert ask(plugin, Event.POD_UPDATE, new, old, new) is QUEUE
    assert ask(plugin, Event.POD_LABEL, old, old, pod(gpu=1, model="H100", meta={"labels": {"a": "b"}})) is SKIP
