"""What the watches say wakes whom it may help, and nobody else; each event is timed under kube-scheduler's name."""

import asyncio
from typing import Any

import msgspec
import pytest

from cluster_model import objects
from gpu_scheduler.queued_pod import Pool
from kube_client.changes import Added, Deleted, Modified
from tests.gpu_scheduler.build import pod
from tests.gpu_scheduler.fakes import World
from tests.gpu_scheduler.feeding import stepped, told_world, waiting


@pytest.fixture
def world() -> World:
    """A world whose first list has been told."""
    return told_world()


async def rejected(world: World, *names: str, **fields: Any) -> None:
    """Let pods of ours wait for room that the node does not have."""
    for name in names:
        world.feed.pod(Added(pod(name, gpu=8, **fields)))
        world.cycle.step()
    await world.settle()
    world.clock.move(30)
    assert world.queue.counts()[Pool.UNSCHEDULABLE] == len(names)


def fill(world: World, **fields: Any) -> objects.Pod:
    """Take one GPU of the node."""
    found = pod("full", node="n", gpu=1, **fields)
    world.feed.pod(Added(found))
    return found


def nominated(name: str, node: str, **fields: Any) -> objects.Pod:
    found = pod(name, gpu=8, **fields)
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, nominated_node_name=node))


def test_a_nomination_that_ends_wakes_those_who_are_no_more_important(world: World) -> None:
    fill(world)
    asyncio.run(rejected(world, "weak", "equal", priority=3))
    asyncio.run(stepped(world))
    world.feed.pod(Added(nominated("there", "n", priority=3, gates=["wait"])))
    before = nominated("there", "n", priority=3, gates=["wait"])
    world.feed.pod(Modified(nominated("there", "", priority=3, gates=["wait"], version="2"), before))

    assert sorted(waiting(world)) == ["equal", "weak"]


@pytest.mark.parametrize(("node", "woken"), [("n", []), ("m", ["waits"])])
def test_a_nominated_pod_that_comes_to_another_node_leaves_room_where_it_waited(
    world: World, node: str, woken: list[str]
) -> None:
    fill(world)
    asyncio.run(rejected(world, "waits"))
    asyncio.run(stepped(world))
    before = nominated("there", "n", scheduler="another", priority=3)
    world.feed.pod(Added(before))
    world.feed.pod(Modified(pod("there", gpu=8, node=node, scheduler="another", priority=3, version="2"), before))

    assert waiting(world) == woken


@pytest.mark.parametrize(("priority", "woken"), [(2, []), (3, ["waits"]), (4, ["waits"])])
def test_a_nominated_pod_that_goes_leaves_room_to_those_who_are_no_more_important(
    world: World, priority: int, woken: list[str]
) -> None:
    fill(world)
    asyncio.run(rejected(world, "waits", priority=3))
    there = nominated("there", "n", priority=priority, scheduler="another")
    world.feed.pod(Added(there))
    world.feed.pod(Deleted(there))

    assert waiting(world) == woken


def test_an_assumed_pod_that_is_deleted_leaves_room_on_its_node(world: World) -> None:
    world.feed.pod(Added(pod("first", gpu=8)))
    world.bindings.gate.clear()
    asyncio.run(stepped(world))
    asyncio.run(rejected(world, "next"))
    world.feed.pod(Deleted(pod("first", gpu=8)))

    assert waiting(world) == ["next"]


def test_a_running_pod_that_shrinks_wakes_those_who_want_what_it_gave_back(world: World) -> None:
    full = pod("full", node="n", gpu=2)
    world.feed.pod(Added(full))
    asyncio.run(rejected(world, "waits"))
    world.feed.pod(Modified(pod("full", node="n", gpu=1, version="2"), full))

    assert waiting(world) == ["waits"]


@pytest.mark.parametrize(
    "newer",
    [
        {"labels": {"a": "b"}},
        {"annotations": {"a": "b"}},
        {"conditions": [{"type": "PodScheduled", "status": "False"}]},
    ],
)
def test_an_update_that_gives_no_room_does_not_try_a_pod_again(world: World, newer: dict[str, Any]) -> None:
    fill(world)
    asyncio.run(rejected(world, "waits"))
    world.feed.pod(Modified(pod("waits", gpu=8, version="2", **newer), pod("waits", gpu=8)))

    assert waiting(world) == []


def test_a_pod_that_asks_for_less_is_tried_again(world: World) -> None:
    fill(world)
    asyncio.run(rejected(world, "waits"))
    world.feed.pod(Modified(pod("waits", gpu=4, version="2"), pod("waits", gpu=8)))

    assert waiting(world) == ["waits"]


def test_the_handling_of_each_event_is_timed_under_kube_schedulers_name(world: World) -> None:
    full = fill(world)
    world.feed.pod(Added(pod("waits")))
    world.feed.pod(Modified(pod("waits", version="2", labels={"a": "b"}), pod("waits")))
    world.feed.pod(Deleted(pod("waits")))
    world.feed.pod(Modified(pod("full", node="n", gpu=1, version="2", phase="Running"), full))
    world.feed.pod(Deleted(full))

    name = "scheduler_event_handling_duration_seconds_count"
    assert {event: world.sample(name, event=event) for event in TIMED} == dict.fromkeys(TIMED, 1)


TIMED = (
    "NodeAdd",
    "AssignedPodAdd",
    "AssignedPodUpdate",
    "AssignedPodDelete",
    "UnscheduledPodAdd",
    "UnscheduledPodUpdate",
    "UnscheduledPodUpdatePodLabel",
    "UnscheduledPodDelete",
)
