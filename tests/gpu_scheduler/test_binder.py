"""Bindings: a place is given back only when it is certain that the binding does not exist."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gpu_scheduler.queued_pod import Pool
from kube_client.binding import AlreadyBound, Failed, Gone, Outcome
from kube_client.changes import Deleted, Modified
from kube_client.errors import ApiError
from tests.gpu_scheduler.build import pending, pod
from tests.gpu_scheduler.fakes import World

REFUSED = Failed(ApiError(403, "Forbidden", "no rights"), certain=True)
UNKNOWN = Failed(ApiError(0, "TimeoutError", "no answer in time"), certain=False)


def started(answers: list[Outcome], test: Callable[[World], Awaitable[None]], **found: Any) -> None:
    """Run the test with a pod of three GPUs whose binding is on its way to node n."""

    async def run() -> None:
        world = World(**found)
        world.nodes()
        world.bindings.answers = answers
        world.queue.put(pending(gpu=3))
        world.cycle.step()
        await test(world)

    asyncio.run(run())


def test_a_refused_binding_gives_the_place_back_and_is_tried_again_later() -> None:
    async def test(world: World) -> None:
        await world.settle()
        assert world.used() == 0
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1
        said = 'running Bind plugin "DefaultBinder": no rights'
        assert world.recorder.notes("FailedScheduling") == [said]
        assert world.client.patches[0][1]["status"]["conditions"][0]["reason"] == "SchedulerError"
        world.clock.move(2)
        world.cycle.step()
        await world.settle()
        assert world.recorder.notes("Scheduled") == ["Successfully assigned ns/p to n"]
        assert world.used() == 3

    started([REFUSED], test)


def test_a_freed_place_wakes_who_waits_for_it() -> None:
    async def test(world: World) -> None:
        world.queue.put(pending("waiting", gpu=8))
        world.cycle.step()
        assert world.queue.counts()[Pool.UNSCHEDULABLE] == 1
        await world.settle()
        assert world.queue.counts()[Pool.BACKOFF] == 1

    started([REFUSED], test)


@pytest.mark.parametrize("outcome", [AlreadyBound("elsewhere"), Gone()])
def test_a_pod_that_we_will_never_bind_leaves_nothing_behind(outcome: Outcome) -> None:
    async def test(world: World) -> None:
        await world.settle()
        assert world.used() == 0
        assert "uid-p" not in world.queue
        assert world.recorder.words == []

    started([outcome], test)


def test_while_nobody_knows_the_place_stays_taken_and_the_same_binding_is_sent_again() -> None:
    async def test(world: World) -> None:
        world.nodes(["n", "emptier"], gpu=8)
        await world.settle()
        assert world.bindings.sent == [("p", "n")] * 3
        assert world.naps == [1.0, 2.0]
        assert world.used() == 3
        assert world.recorder.notes("Scheduled") == ["Successfully assigned ns/p to n"]

    started([UNKNOWN, UNKNOWN], test)


def test_users_read_that_the_server_could_not_say() -> None:
    async def test(world: World) -> None:
        await world.settle()
        said = 'running Bind plugin "DefaultBinder": no answer in time'
        assert world.recorder.notes("FailedScheduling") == [said]

    started([UNKNOWN], test)


def test_a_binding_in_doubt_ends_when_the_watch_shows_it() -> None:
    async def test(world: World) -> None:
        world.bindings.gate.clear()
        await world.settle()
        world.feed.pod(Modified(pod(gpu=3, node="n", version="2"), pod(gpu=3)))
        world.bindings.gate.set()
        await world.settle()
        assert world.bindings.sent == [("p", "n")]
        assert world.used() == 3
        assert len(world.binder) == 0

    started([UNKNOWN], test)


def test_a_pod_deleted_while_its_binding_is_in_flight_leaves_nothing_behind() -> None:
    async def test(world: World) -> None:
        world.bindings.gate.clear()
        await world.settle()
        world.feed.pod(Deleted(pod(gpu=3)))
        world.bindings.gate.set()
        await world.settle()
        assert world.used() == 0
        assert "uid-p" not in world.queue
        assert world.cycle.step() is False

    started([REFUSED], test)


def test_a_watch_that_is_ahead_of_the_answer_changes_nothing() -> None:
    async def test(world: World) -> None:
        world.bindings.gate.clear()
        await world.settle()
        world.feed.pod(Modified(pod(gpu=3, node="n", version="2"), pod(gpu=3)))
        world.bindings.gate.set()
        await world.settle()
        assert world.used() == 3
        assert world.recorder.notes("Scheduled") == ["Successfully assigned ns/p to n"]

    started([], test)


def test_a_watch_that_is_behind_the_answer_does_not_queue_the_pod_again() -> None:
    async def test(world: World) -> None:
        await world.settle()
        world.feed.pod(Modified(pod(gpu=3, labels={"a": "b"}, version="2"), pod(gpu=3)))
        assert "uid-p" not in world.queue
        assert world.used() == 3

    started([], test)


def test_a_node_that_vanished_before_the_binding_left_is_not_bound_to() -> None:
    async def test(world: World) -> None:
        world.state.remove_node("n")
        await world.settle()
        assert world.bindings.sent == []
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1

    started([], test)


def test_nothing_is_sent_once_we_may_not_write() -> None:
    async def test(world: World) -> None:
        world.leading = False
        await world.settle()
        assert world.bindings.sent == []
        assert world.used() == 0
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1

    started([], test)


def test_a_binding_in_doubt_is_not_repeated_while_another_may_lead() -> None:
    async def test(world: World) -> None:
        world.bindings.gate.clear()
        await world.settle()
        world.leading = False
        world.bindings.gate.set()
        await world.settle()
        assert world.bindings.sent == [("p", "n")]
        assert world.used() == 3
        world.leading = True
        await world.settle()
        assert world.bindings.sent == [("p", "n")] * 2

    started([UNKNOWN], test)


def test_a_condition_on_its_way_arrives_before_the_binding_leaves() -> None:
    async def test(world: World) -> None:
        await world.settle()
        world.client.gate.clear()
        world.queue.put(pending("late", gpu=6))
        world.cycle.step()
        world.feed.pod(Deleted(pod(gpu=3, node="n")))
        world.cycle.step()
        await world.settle()
        assert ("late", "n") not in world.bindings.sent
        world.client.gate.set()
        await world.settle()
        assert world.bindings.sent[-1] == ("late", "n")

    started([], test)


def test_a_drain_waits_for_answers_but_not_for_ever() -> None:
    async def test(world: World) -> None:
        world.bindings.gate.clear()
        assert not await world.binder.drain(0.01)
        world.bindings.gate.set()
        assert await world.binder.drain(1)
        assert await world.binder.drain(0)

    started([], test)


def test_what_is_abandoned_is_cancelled() -> None:
    async def test(world: World) -> None:
        world.bindings.gate.clear()
        await world.settle()
        await world.binder.abandon()
        assert len(world.binder) == 0
        assert world.recorder.words == []

    started([], test)


def test_a_bug_in_a_binding_reaches_the_cycle() -> None:
    async def test(world: World) -> None:
        world.bindings.answers = ["nonsense"]  # type: ignore[list-item]
        world.metrics.ended = None  # type: ignore[assignment,method-assign]
        world.bindings.answers = []
        await world.settle()
        with pytest.raises(TypeError):
            await world.binder.room()

    started([], test)


def test_a_bound_pod_is_counted_with_its_attempts() -> None:
    async def test(world: World) -> None:
        await world.settle()
        world.clock.move(2)
        world.cycle.step()
        await world.settle()
        assert world.sample("scheduler_pod_scheduling_attempts_sum") == 2
        assert world.sample("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="2") == 2

    started([REFUSED], test)
