"""Room is made for a more important pod: who had to go is told, the room is held, and a failure is tried again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from gpu_scheduler.preemptor import UNDER_WAY, holding
from gpu_scheduler.queued_pod import Pool
from kube_client.changes import Added, Deleted, Modified
from kube_client.errors import ApiError
from scheduler_plugins import registry
from scheduler_plugins.framework import Filter, PluginError, Profile, Sampling
from tests.gpu_scheduler.build import pending, pod
from tests.gpu_scheduler.fakes import POINTS, World

PREEMPTING = replace(registry.profile(), preemption=Sampling())
FOUND = "found a potential placement for pod on node n, preempting 1 victims"
TEXT = f"0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: {FOUND}"


def give_up(*_: object) -> None:
    raise PluginError("unclear")


UNSURE = Profile("gpu-scheduler", (Filter("Unsure", give_up),), ())


def with_world(test: Callable[[World], Awaitable[None]]) -> None:
    """Run with one node that a pod of no importance fills."""

    async def run() -> None:
        world = World(profile=PREEMPTING)
        world.nodes(gpu=1)
        world.feed.pod(Added(pod("weak", node="n", gpu=1, phase="Running")))
        await test(world)

    asyncio.run(run())


async def attempt(world: World, name: str = "strong", priority: int = 9) -> None:
    world.queue.put(pending(name, gpu=1, priority=priority))
    assert world.cycle.step()
    await world.settle()


def test_victim_is_marked_deleted_and_told() -> None:
    async def test(world: World) -> None:
        await attempt(world)
        marks = [body["status"] for path, body in world.client.patches if path.endswith("/weak/status")]
        assert [mark["conditions"][0]["reason"] for mark in marks] == ["PreemptionByScheduler"]
        assert world.client.deleted == ["weak"]
        assert world.recorder.notes("Preempted") == ["Preempted by pod uid-strong on node n"]

    with_world(test)


def test_pod_is_told_where_room_is_made() -> None:
    async def test(world: World) -> None:
        await attempt(world)
        [status] = [body["status"] for path, body in world.client.patches if path.endswith("/strong/status")]
        assert (status["nominatedNodeName"], status["conditions"][0]["message"]) == ("n", TEXT)
        assert world.recorder.notes("FailedScheduling") == [TEXT]
        assert world.state.nominations.node("uid-strong") == "n"

    with_world(test)


def test_looks_for_room_and_victims_are_counted() -> None:
    async def test(world: World) -> None:
        await attempt(world)
        await attempt(world, "equal", priority=0)
        text = world.metrics.text().decode()
        assert "scheduler_preemption_attempts_total 2.0" in text
        assert "scheduler_preemption_victims_sum 1.0" in text
        assert "scheduler_preemption_victims_count 1.0" in text

    with_world(test)


def test_retry_in_between_picks_no_more_victims() -> None:
    async def test(world: World) -> None:
        world.nodes(("m",), gpu=1)
        world.feed.pod(Added(pod("other", node="m", gpu=1, phase="Running", priority=1)))
        await attempt(world)
        world.queue.activate("uid-strong")
        assert world.cycle.step()
        await world.settle()
        assert world.client.deleted == ["weak"]
        last = world.recorder.notes("FailedScheduling")[-1]
        assert last.endswith("preemption: not eligible due to a terminating pod on the nominated node.")

    with_world(test)


def test_pod_is_bound_when_its_victim_is_gone_and_nobody_takes_its_place() -> None:
    async def test(world: World) -> None:
        await attempt(world)
        world.feed.pod(Deleted(pod("weak", node="n", gpu=1)))
        world.clock.move(60)
        await attempt(world, "late", priority=8)
        while world.cycle.step():
            await world.settle()
        assert world.bindings.sent == [("strong", "n")]
        assert world.state.nominations.node("uid-strong") == ""

    with_world(test)


def test_failed_eviction_is_tried_again() -> None:
    async def test(world: World) -> None:
        world.client.failures = [ApiError(500, "InternalError", "no")]
        world.client.failures.append(ApiError(500, "InternalError", "no"))
        await attempt(world)
        queued = world.queue.get("uid-strong")
        assert queued is not None
        assert (queued.pool, world.client.deleted, world.state.evicting) == (Pool.ACTIVE, [], set())
        assert world.cycle.step()
        await world.settle()
        assert world.client.deleted == ["weak"]

    with_world(test)


def test_weaker_pods_wait_there_no_more() -> None:
    async def test(world: World) -> None:
        world.state.nominations.set(pending("middle", gpu=1, priority=5), "n")
        await attempt(world)
        cleared = [body["status"] for path, body in world.client.patches if path.endswith("/middle/status")]
        assert cleared == [{"nominatedNodeName": None}]
        assert world.state.nominations.node("uid-middle") == ""

    with_world(test)


def test_nomination_ends_where_nothing_helps() -> None:
    async def test(world: World) -> None:
        world.state.nominations.set(pending("strong", gpu=1, priority=0), "n")
        await attempt(world, priority=0)
        [status] = [body["status"] for path, body in world.client.patches if path.endswith("/strong/status")]
        assert status["nominatedNodeName"] is None
        assert world.state.nominations.node("uid-strong") == ""

    with_world(test)


@pytest.mark.parametrize("without", ["nodes", "PostFilter plugins", "an answer"])
def test_nomination_ends_where_nobody_looks_for_help(without: str) -> None:
    """As in kube-scheduler: in an error, without any node, and in a profile that never preempts."""

    async def run() -> None:
        profile = UNSURE if without == "an answer" else registry.profile()
        world = World(profile=profile, points={} if without == "PostFilter plugins" else POINTS)
        if without != "nodes":
            world.nodes(gpu=0)
        world.state.nominations.set(pending("strong", gpu=1), "n")
        await attempt(world)
        [status] = [body["status"] for path, body in world.client.patches if path.endswith("/strong/status")]
        assert status["nominatedNodeName"] is None
        assert world.state.nominations.node("uid-strong") == ""

    asyncio.run(run())


def test_watch_tells_of_nominations_of_others() -> None:
    """One that ends wakes those whom its room may help."""

    async def test(world: World) -> None:
        before = pod("theirs", scheduler="other", gpu=1, priority=20)
        waiting = pod("theirs", scheduler="other", gpu=1, priority=20)
        waiting = type(waiting)(
            metadata=waiting.metadata, spec=waiting.spec, status=type(waiting.status)(nominated_node_name="n")
        )
        world.feed.pod(Added(waiting))
        assert world.state.nominations.node("uid-theirs") == "n"
        await attempt(world, priority=0)
        world.feed.pod(Modified(before, waiting))
        queued = world.queue.get("uid-strong")
        assert queued is not None
        assert (world.state.nominations.node("uid-theirs"), queued.pool) == ("", Pool.BACKOFF)

    with_world(test)


def test_a_pod_is_held_while_others_are_evicted_for_it() -> None:
    """Another pod that leaves meanwhile must not let it look for more victims."""

    async def test(world: World) -> None:
        world.nodes(("m",), gpu=1)
        world.feed.pod(Added(pod("other", node="m", gpu=1, phase="Running", priority=1)))
        world.queue.put(pending("strong", gpu=1, priority=9))
        assert world.cycle.step()
        world.feed.pod(Deleted(pod("other", node="m", gpu=1)))
        queued = world.queue.get("uid-strong")
        assert queued is not None
        assert (queued.pool, queued.held) == (Pool.GATED, UNDER_WAY)
        await world.settle()
        assert world.state.preempting == {}
        world.feed.pod(Deleted(pod("weak", node="n", gpu=1)))
        assert queued.pool is Pool.BACKOFF

    with_world(test)


def test_a_pod_is_held_until_its_last_victim_is_on_its_way_out() -> None:
    async def test(world: World) -> None:
        held = holding(world.state, lambda _: None)
        strong = pending("strong")
        assert held(strong) is None
        world.state.preempting["uid-strong"] = None
        assert held(strong) == UNDER_WAY
        world.state.preempting["uid-strong"] = "uid-weak"
        assert held(strong) == UNDER_WAY
        world.feed.pod(Modified(pod("weak", node="n", gpu=1, deleted="2026-01-01T00:00:00Z"), pod("weak", node="n")))
        assert held(strong) is None
        world.feed.pod(Deleted(pod("weak", node="n", gpu=1)))
        assert held(strong) is None

    with_world(test)


def test_a_failed_eviction_leaves_nobody_held() -> None:
    async def test(world: World) -> None:
        world.client.failures = [ApiError(500, "InternalError", "no") for _ in range(2)]
        await attempt(world)
        assert world.state.preempting == {}

    with_world(test)


def test_a_victim_that_goes_by_itself_before_its_turn_leaves_nobody_held() -> None:
    """Its end was told while the pod was held: nothing else would let the pod in."""

    async def test(world: World) -> None:
        world.client.failures = [ApiError(404, "NotFound", "gone"), ApiError(404, "NotFound", "gone")]
        world.queue.put(pending("strong", gpu=1, priority=9))
        assert world.cycle.step()
        world.feed.pod(Deleted(pod("weak", node="n", gpu=1)))
        queued = world.queue.get("uid-strong")
        assert queued is not None
        assert queued.held == UNDER_WAY
        await world.settle()
        assert queued.pool is Pool.ACTIVE

    with_world(test)


def test_nothing_is_evicted_any_more_once_another_may_decide() -> None:
    async def test(world: World) -> None:
        world.queue.put(pending("strong", gpu=1, priority=9))
        assert world.cycle.step()
        world.leading = False
        await world.settle()
        assert (world.client.patches, world.client.deleted) == ([], [])
        assert (world.state.preempting, world.state.evicting) == ({}, set())

    with_world(test)


def test_a_bug_in_an_eviction_leaves_nobody_held() -> None:
    async def test(world: World) -> None:
        world.client.failures = [ApiError(500, "InternalError", "of the condition"), ZeroDivisionError()]
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        await attempt(world)
        assert (world.state.preempting, world.preemptor.results["error"]) == ({}, 1)

    with_world(test)
