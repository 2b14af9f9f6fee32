"""What users read: an event each time, a condition only when it says something new, never in the wrong order."""

import asyncio
from collections.abc import Awaitable, Callable

from gpu_scheduler.queued_pod import QueuedPod
from kube_client.errors import ApiError
from tests.gpu_scheduler.build import pending
from tests.gpu_scheduler.fakes import World


def with_world(test: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        await test(World())

    asyncio.run(run())


def entry(**found: object) -> QueuedPod:
    return QueuedPod(pending(**found), 0.0)  # type: ignore[arg-type]


def test_the_same_words_again_are_an_event_but_no_patch() -> None:
    async def test(world: World) -> None:
        queued = entry()
        for _ in range(3):
            world.reports.failed(queued, "Unschedulable", "no room")
            await world.settle()
        assert world.recorder.notes("FailedScheduling") == ["no room"] * 3
        assert world.client.messages() == ["no room"]

    with_world(test)


def test_a_condition_that_is_there_already_is_not_written_again() -> None:
    async def test(world: World) -> None:
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
        world.reports.failed(entry(conditions=[said]), "Unschedulable", "no room")
        await world.settle()
        assert world.client.patches == []

    with_world(test)


def test_only_the_newest_words_are_written_when_they_come_faster_than_answers() -> None:
    async def test(world: World) -> None:
        queued = entry()
        world.client.gate.clear()
        for message in ("one", "two", "three"):
            world.reports.failed(queued, "Unschedulable", message)
            await world.settle()
        world.client.gate.set()
        await world.settle()
        assert world.client.messages() == ["one", "three"]

    with_world(test)


def test_a_condition_that_could_not_be_written_is_written_at_the_next_attempt() -> None:
    async def test(world: World) -> None:
        queued = entry()
        world.client.failures = [ApiError(500, "InternalError", "no")]
        for _ in range(2):
            world.reports.failed(queued, "Unschedulable", "no room")
            await world.settle()
        assert world.client.messages() == ["no room"]

    with_world(test)


def test_the_patch_names_the_pod_by_uid() -> None:
    async def test(world: World) -> None:
        world.reports.failed(entry(), "SchedulerError", "a bug")
        await world.settle()
        path, body = world.client.patches[0]
        assert path == "/api/v1/namespaces/ns/pods/p/status"
        assert body["metadata"] == {"uid": "uid-p"}

    with_world(test)


def test_settled_waits_for_the_patch_and_drain_for_all() -> None:
    async def test(world: World) -> None:
        world.client.gate.clear()
        world.reports.failed(entry(), "Unschedulable", "no room")
        waiting = asyncio.create_task(world.reports.settled("uid-p"))
        await world.settle()
        assert not waiting.done()
        world.client.gate.set()
        await world.reports.drain(1)
        await waiting
        assert world.client.messages() == ["no room"]

    with_world(test)
