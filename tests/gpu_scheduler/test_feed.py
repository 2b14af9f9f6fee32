"""What the watches say reaches the ledger and the queue: once, in any order, and only what is ours to decide."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from cluster_model import objects
from cluster_model.label_selectors import EVERYTHING
from cluster_model.pod import rules
from cluster_model.pod_counts import Pods, Wanted
from gpu_scheduler.feed import Feed
from gpu_scheduler.queued_pod import Pool
from kube_client.changes import Added, Deleted, Modified, Synced
from tests.gpu_scheduler.build import SCHEDULER, node, pod
from tests.gpu_scheduler.fakes import World
from tests.gpu_scheduler.feeding import stepped, told_world, waiting


@pytest.fixture
def world() -> World:
    """A world whose first list has been told."""

    return told_world()


def test_a_pod_without_a_node_waits(world: World) -> None:
    world.feed.pod(Added(pod()))

    assert waiting(world) == ["p"]


@pytest.mark.parametrize("other", [{"scheduler": "default-scheduler"}, {"gates": ["wait"]}, {"phase": "Failed"}])
def test_what_is_not_ours_to_bind_is_not_tried(world: World, other: dict[str, Any]) -> None:
    world.feed.pod(Added(pod(**other)))

    assert waiting(world) == []


def test_a_bound_pod_counts_whoever_bound_it(world: World) -> None:
    world.feed.pod(Added(pod(node="n", gpu=2, scheduler="default-scheduler")))

    assert world.used() == 2


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_gives_its_place_back(world: World, phase: str) -> None:
    bound = pod(node="n", gpu=2, phase="Running")
    world.feed.pod(Added(bound))
    world.feed.pod(Modified(pod(node="n", gpu=2, phase=phase, version="2"), bound))

    assert world.used() == 0


def test_a_deletion_that_is_only_marked_gives_nothing_back(world: World) -> None:
    bound = pod(node="n", gpu=2, phase="Running")
    world.feed.pod(Added(bound))
    world.feed.pod(Modified(pod(node="n", gpu=2, phase="Running", deleted="2026-01-01T00:00:00Z"), bound))

    assert world.used() == 2


def test_a_pod_on_its_way_out_no_longer_counts_for_spreading(world: World) -> None:
    bound = pod(node="n", labels={"app": "web"})
    world.feed.pod(Added(bound))
    question = Pods((Wanted(None, EVERYTHING),), with_terminating=False)
    assert world.state.snapshot().pods.matching(question).tolist() == [1]
    world.feed.pod(Modified(pod(node="n", labels={"app": "web"}, deleted="2026-01-01T00:00:00Z"), bound))

    assert world.state.snapshot().pods.matching(question).tolist() == [0]


def test_a_deleted_pod_gives_its_place_back_and_wakes_who_waits(world: World) -> None:
    world.feed.pod(Added(pod("full", node="n", gpu=8)))
    world.feed.pod(Added(pod("next", gpu=1)))
    asyncio.run(stepped(world))
    world.feed.pod(Deleted(pod("full", node="n", gpu=8)))

    assert waiting(world) == ["next"]


def test_a_pod_bound_by_somebody_else_leaves_the_queue(world: World) -> None:
    world.feed.pod(Added(pod(gpu=1)))
    world.feed.pod(Modified(pod(gpu=1, node="n", version="2"), pod(gpu=1)))

    assert waiting(world) == []
    assert world.used() == 1


def resized(found: objects.Pod, used: str, version: str) -> objects.Pod:
    """Give a pod the status in which its container uses so many GPUs."""
    name = found.spec.containers[0].name
    in_use = objects.ResourceRequirements(requests={"nvidia.com/gpu": used})
    using = objects.ContainerStatus(name=name, resources=in_use)
    meta = msgspec.structs.replace(found.metadata, resource_version=version)
    status = msgspec.structs.replace(found.status, container_statuses=(using,))
    return msgspec.structs.replace(found, metadata=meta, status=status)


def test_a_status_of_a_running_pod_costs_nothing(world: World) -> None:
    bound = pod(node="n", gpu=2)
    world.feed.pod(Added(bound))
    before = world.state.snapshot()
    world.feed.pod(Modified(pod(node="n", gpu=2, phase="Running", version="2"), bound))

    assert world.state.snapshot() is before


def test_a_pod_that_is_resized_counts_with_its_new_size(world: World) -> None:
    bound = pod(node="n", gpu=2)
    world.feed.pod(Added(bound))
    world.feed.pod(Modified(pod(node="n", gpu=1, version="2"), bound))

    assert world.used() == 1


def test_a_size_that_is_in_use_still_counts_until_the_status_says_otherwise(world: World) -> None:
    """A pod asked to shrink holds what it had for as long as the node has not taken it away."""
    shrinking = resized(pod(node="n", gpu=1), used="3", version="2")
    world.feed.pod(Added(shrinking))
    assert world.used() == 3

    world.feed.pod(Modified(resized(shrinking, used="1", version="3"), shrinking))
    assert world.used() == 1


def test_pods_are_read_with_the_models_of_the_configuration(world: World) -> None:
    feed = Feed(world.state, world.teller, [SCHEDULER], world.metrics.unreadable, rules(("B900",)))
    feed.pod(Synced())
    feed.pod(Added(pod(gpu=1, annotations={"gpu.nvidia.com/model": "NVIDIA B900"})))

    queued = world.queue.get("uid-p")
    assert queued is not None
    assert [model.name for model in queued.pending.request.gpu.models] == ["B900"]


def test_a_reading_holds_on_while_only_node_and_status_are_new(world: World) -> None:
    world.feed.pod(Added(pod(gpu=1)))
    queued = world.queue.get("uid-p")
    assert queued is not None
    before = queued.pending.request
    world.feed.pod(Modified(pod(gpu=1, version="2", phase="Pending"), pod(gpu=1)))

    assert queued.pending.request is before
    assert queued.pending.pod.metadata.resource_version == "2"


def test_the_reading_of_an_assumed_pod_is_what_confirms_it(world: World) -> None:
    world.feed.pod(Added(pod(gpu=1)))
    asyncio.run(stepped(world))
    before = world.state.held("uid-p")
    world.feed.pod(Modified(pod(gpu=1, node="n", version="2"), pod(gpu=1)))

    confirmed = world.state.held("uid-p")
    assert before is not None
    assert confirmed is not None
    assert confirmed.request is before.request
    assert not world.state.holdings()["uid-p"].assumed


def test_an_annotation_makes_a_new_reading(world: World) -> None:
    world.feed.pod(Added(pod(gpu=1)))
    world.feed.pod(Modified(pod(gpu=1, annotations={"gpu.nvidia.com/model": "H100"}), pod(gpu=1)))

    queued = world.queue.get("uid-p")
    assert queued is not None
    assert [model.name for model in queued.pending.request.gpu.models] == ["H100"]


def test_what_waited_before_us_is_queued_by_age_not_by_name() -> None:
    async def build() -> World:
        found = World()
        for name, created in (("a", "2026-03-01"), ("b", "2026-01-01"), ("c", "2026-02-01")):
            found.feed.pod(Added(pod(name, created=f"{created}T00:00:00Z")))
        found.feed.pod(Deleted(pod("c")))
        assert waiting(found) == []
        found.feed.pod(Synced())
        return found

    assert waiting(asyncio.run(build())) == ["b", "a"]


def test_a_second_list_queues_what_is_new_at_once(world: World) -> None:
    world.feed.pod(Synced())
    world.feed.pod(Added(pod()))

    assert waiting(world) == ["p"]


def test_a_pod_that_is_assumed_is_not_queued_again(world: World) -> None:
    world.feed.pod(Added(pod(gpu=1)))
    asyncio.run(stepped(world))
    world.feed.pod(Modified(pod(gpu=1, version="2", labels={"a": "b"}), pod(gpu=1)))

    assert waiting(world) == []


def test_a_pod_in_flight_keeps_up_with_its_updates(world: World) -> None:
    world.feed.pod(Added(pod(gpu=1)))
    queued = world.queue.pop()
    assert queued is not None
    world.state.assume(queued.pending, "n")
    world.feed.pod(Modified(pod(gpu=1, version="2", labels={"a": "b"}), pod(gpu=1)))

    assert queued.pending.pod.metadata.labels == {"a": "b"}
    assert queued.pool is Pool.IN_FLIGHT


@pytest.mark.parametrize(
    "mend",
    [
        lambda: node(labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}),
        lambda: node("other", labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}),
    ],
    ids=["label", "node"],
)
def test_a_node_that_is_or_becomes_right_wakes_the_pod(world: World, mend: Callable[[], Any]) -> None:
    world.feed.pod(Added(pod(gpu=1, annotations={"gpu.nvidia.com/model": "H100"})))
    asyncio.run(stepped(world))
    assert waiting(world) == []
    fixed = mend()
    world.feed.node(Modified(fixed, node()) if fixed.metadata.name == "n" else Added(fixed))

    assert waiting(world) == ["p"]


def test_a_node_that_goes_takes_its_row_along(world: World) -> None:
    world.feed.node(Deleted(node()))

    assert world.state.snapshot().names == ()


def test_an_unreadable_fact_is_counted_and_logged_once_per_change(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    bad, worse = node(labels={"nvidia.com/gpu.memory": "much"}), node(labels={"nvidia.com/gpu.memory": "more"})
    with caplog.at_level(logging.WARNING):
        for change in (Modified(bad, node()), Modified(bad, bad), Modified(worse, bad), Modified(node(), worse)):
            world.feed.node(change)

    label = "nvidia.com/gpu.memory"
    assert world.sample("gpu_scheduler_unreadable_node_facts_total", label=label) == 2
    said = [record.getMessage() for record in caplog.records if "facts unreadable" in record.getMessage()]
    assert len(said) == 2
    assert "node=n" in said[0]
    assert "much" in said[0]
    assert world.state.snapshot().names == ("n",)
