"""The cycle: decide, assume before the binding leaves, say why not; no pod's trouble is the process's."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gpu_scheduler.queued_pod import Pool
from kube_client.changes import Added
from scheduler_plugins import registry
from scheduler_plugins.framework import Filter, PluginError, Profile
from tests.gpu_scheduler.build import node, pending
from tests.gpu_scheduler.fakes import World


def with_world(test: Callable[[World], Awaitable[None]], **found: Any) -> None:
    async def run() -> None:
        await test(World(**found))

    asyncio.run(run())


def explode(*_: object) -> None:
    raise ZeroDivisionError("a plugin's bug")


def give_up(*_: object) -> None:
    raise PluginError('running "Unsure" filter plugin: 100% unclear')


BROKEN = Profile("gpu-scheduler", (Filter("Broken", explode),), ())


def test_a_pod_that_fits_is_assumed_at_once_and_bound() -> None:
    async def test(world: World) -> None:
        world.nodes()
        world.queue.put(pending(gpu=3))
        assert world.cycle.step()
        assert world.used() == 3
        assert world.bindings.sent == []
        await world.settle()
        assert world.bindings.sent == [("p", "n")]
        assert world.recorder.notes("Scheduled") == ["Successfully assigned ns/p to n"]
        assert "uid-p" not in world.queue

    with_world(test)


def test_pods_decided_while_bindings_are_in_flight_do_not_share_a_gpu() -> None:
    async def test(world: World) -> None:
        world.nodes(["a", "b"], gpu=1)
        world.bindings.gate.clear()
        for name in ("p", "q", "r"):
            world.queue.put(pending(name, gpu=1))
        while world.cycle.step():
            await world.settle()
        assert sorted(place for _, place in world.bindings.sent) == ["a", "b"]
        assert world.queue.counts()[Pool.UNSCHEDULABLE] == 1

    with_world(test)


def test_a_pod_that_fits_nowhere_is_told_why_by_event_and_condition() -> None:
    async def test(world: World) -> None:
        world.nodes(["a", "b"], gpu=2)
        world.queue.put(pending(gpu=3))
        world.cycle.step()
        await world.settle()
        said = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
        assert world.recorder.notes("FailedScheduling") == [said]
        assert world.client.messages() == [said]
        condition = world.client.patches[0][1]["status"]["conditions"][0]
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")

    with_world(test)


def test_a_rejected_pod_is_tried_again_when_a_node_comes_that_fits() -> None:
    async def test(world: World) -> None:
        world.nodes(gpu=2)
        world.queue.put(pending(gpu=3))
        world.cycle.step()
        assert not world.cycle.step()
        world.feed.node(Added(node("bigger", gpu=4)))
        assert world.cycle.step()
        await world.settle()
        assert world.bindings.sent == [("p", "bigger")]

    with_world(test)


def test_without_nodes_a_pod_is_tried_again_and_again_as_after_an_error() -> None:
    async def test(world: World) -> None:
        world.queue.put(pending())
        world.cycle.step()
        assert world.recorder.notes("FailedScheduling") == ["no nodes available to schedule pods"]
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1
        world.nodes()
        world.clock.move(2)
        assert world.cycle.step()

    with_world(test)


def test_what_a_plugin_cannot_judge_is_an_error_in_its_words_and_no_verdict() -> None:
    async def test(world: World) -> None:
        world.nodes()
        world.queue.put(pending())
        assert world.cycle.step()
        await world.settle()
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1
        assert world.recorder.notes("FailedScheduling") == ['running "Unsure" filter plugin: 100% unclear']
        assert world.client.patches[0][1]["status"]["conditions"][0]["reason"] == "SchedulerError"
        assert world.sample("scheduler_schedule_attempts_total", result="error", profile="gpu-scheduler") == 1

    with_world(test, profile=Profile("gpu-scheduler", (Filter("Unsure", give_up),), ()))


def test_a_plugin_that_raises_fails_its_pod_with_an_error_and_not_the_process() -> None:
    async def test(world: World) -> None:
        world.nodes()
        world.queue.put(pending())
        assert world.cycle.step()
        await world.settle()
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1
        assert world.recorder.notes("FailedScheduling") == ["ZeroDivisionError: a plugin's bug"]
        assert world.client.patches[0][1]["status"]["conditions"][0]["reason"] == "SchedulerError"
        attempts = world.sample("scheduler_schedule_attempts_total", result="error", profile="gpu-scheduler")
        assert attempts == 1

    with_world(test, profile=BROKEN)


def test_a_pod_on_its_way_out_is_not_scheduled() -> None:
    async def test(world: World) -> None:
        world.nodes()
        world.queue.put(pending(deleted="2026-01-01T00:00:00Z"))
        assert world.cycle.step()
        await world.settle()
        assert world.bindings.sent == []
        assert world.recorder.notes("FailedScheduling") == ["skip schedule deleting pod: ns/p"]
        assert "uid-p" not in world.queue

    with_world(test)


def test_run_decides_what_comes_and_stops_when_it_may_not_write() -> None:
    async def test(world: World) -> None:
        world.nodes(gpu=8)
        running = asyncio.create_task(world.cycle.run(lambda: world.leading))
        world.queue.put(pending("first", gpu=1))
        world.news.set()
        await asyncio.sleep(0.05)
        world.leading = False
        world.queue.put(pending("second", gpu=1))
        world.news.set()
        await asyncio.sleep(0.25)
        assert world.bindings.sent == [("first", "n")]
        world.leading = True
        await asyncio.sleep(0.25)
        assert world.bindings.sent == [("first", "n"), ("second", "n")]
        running.cancel()

    with_world(test)


def test_run_waits_for_room_before_it_decides_more() -> None:
    async def test(world: World) -> None:
        world.nodes(gpu=8)
        world.bindings.gate.clear()
        for number in range(5):
            world.queue.put(pending(f"p{number}", gpu=1))
        running = asyncio.create_task(world.cycle.run(lambda: True))
        await asyncio.sleep(0.05)
        assert len(world.bindings.sent) == 2
        world.bindings.gate.set()
        await asyncio.sleep(0.05)
        assert len(world.bindings.sent) == 5
        running.cancel()

    with_world(test, in_flight=2)


def test_other_tasks_get_their_turn_between_two_pods() -> None:
    async def test(world: World) -> None:
        world.nodes(gpu=8)
        for number in range(4):
            world.queue.put(pending(f"p{number}", gpu=1))
        turns: list[int] = []

        async def other() -> None:
            while len(turns) < 4:
                turns.append(len(world.bindings.sent))
                await asyncio.sleep(0)

        running = asyncio.create_task(world.cycle.run(lambda: True))
        await other()
        assert turns[-1] < 4, "all pods were decided before anybody else had a turn"
        running.cancel()

    with_world(test)


@pytest.mark.parametrize("result", ["scheduled", "unschedulable"])
def test_attempts_are_counted_by_result(result: str) -> None:
    async def test(world: World) -> None:
        world.nodes(gpu=2)
        world.queue.put(pending(gpu=1 if result == "scheduled" else 3))
        world.cycle.step()
        await world.settle()
        labels = {"result": result, "profile": "gpu-scheduler"}
        assert world.sample("scheduler_schedule_attempts_total", **labels) == 1
        assert world.sample("scheduler_scheduling_attempt_duration_seconds_count", **labels) == 1
        assert world.sample("scheduler_scheduling_algorithm_duration_seconds_count") == 1

    with_world(test)


def test_the_default_profile_is_what_the_registry_says() -> None:
    assert World.__dataclass_fields__["profile"].default_factory is registry.profile
