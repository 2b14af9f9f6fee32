"""Pods that have a node and wait for a plugin: what they hold, what ends the wait, and what becomes of them then."""

import asyncio
from typing import Any

import msgspec
import pytest

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from gpu_scheduler.extension_points import Wait
from gpu_scheduler.queued_pod import Pool
from kube_client.changes import Deleted, Modified
from kube_client.errors import ApiError
from tests.gpu_scheduler.build import pending, pod
from tests.gpu_scheduler.every_point import NO, All, Second, assert_given_back, attempt, notes, plugin
from tests.gpu_scheduler.plugged import Plugged, with_plugins


def test_a_waiting_pod_keeps_its_place_and_counts_for_no_binding_in_flight() -> None:
    async def test(world: Plugged) -> None:
        world.in_flight = 1
        await attempt(world, permit=Wait(60), has_work=False)
        assert (world.used("n"), world.bindings.sent) == (3, [])
        assert [waiting.node for waiting in world.handle.waiting] == ["n"]
        for number in range(4):
            world.queue.put(pending(f"other{number}", gpu=1))
            world.cycle.step()
        await asyncio.wait_for(world.binder.room(), 1)
        assert len(world.handle.waiting) == 5

    with_plugins(test, All)


def test_a_waiting_pod_is_bound_once_it_is_allowed() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, permit=Wait(60))
        [waiting] = world.handle.waiting
        waiting.allow("All")
        await world.settle()
        assert found.calls == ["reserve", "permit", "pre_bind", "bind", "post_bind"]
        assert (world.bindings.sent, len(world.handle.waiting)) == ([("p", "n")], 0)

    with_plugins(test, All)


def test_a_waiting_pod_may_be_rejected_later() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, permit=Wait(60))
        [waiting] = world.handle.waiting
        waiting.reject("All", NO)
        await world.settle()
        assert notes(world) == ["0/1 nodes are available: 1 node(s) had no licence."]
        assert dict(world.queue.rejected_by()) == {("All", "gpu-scheduler"): 1}
        assert found.calls == ["reserve", "permit", "unreserve"]
        assert_given_back(world)

    with_plugins(test, All)


def test_what_happens_while_it_waits_is_not_lost_on_a_pod_that_is_rejected() -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, permit=Wait(60))
        world.queue.wake({Event.NODE_LABEL})
        [waiting] = world.handle.waiting
        waiting.reject("All", NO)
        await world.settle()
        assert world.queue.counts()[Pool.UNSCHEDULABLE] == 0
        assert sum(world.queue.counts().values()) == 1

    with_plugins(test, All)


def test_permission_that_does_not_come_in_time_is_a_rejection() -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, permit=Wait(0.02))
        await asyncio.sleep(0.1)
        said = "0/1 nodes are available: 1 rejected due to timeout after waiting 20ms at plugin All."
        assert notes(world) == [said]
        assert_given_back(world)

    with_plugins(test, All)


def test_one_who_denies_ends_it_though_another_would_wait() -> None:
    async def test(world: Plugged) -> None:
        plugin(world, "Second").answers = {"permit": NO}
        await attempt(world, permit=Wait(60))
        assert dict(world.queue.rejected_by()) == {("Second", "gpu-scheduler"): 1}
        assert_given_back(world)

    with_plugins(test, All, Second)


def test_a_preempted_pod_fails_and_is_tried_again_without_a_verdict() -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, permit=Wait(60))
        [waiting] = world.handle.waiting
        waiting.preempt("preempted")
        await world.settle()
        assert notes(world) == ["waiting on permit for pod: preempted"]
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1
        assert_given_back(world)

    with_plugins(test, All)


def test_a_pod_whose_deletion_has_begun_waits_no_more() -> None:
    """A finalizer may keep it for long: others need its place."""

    async def test(world: Plugged) -> None:
        await attempt(world, permit=Wait(60))
        world.told(Modified(pod(gpu=3, deleted="2026-01-01T00:00:00Z", version="2"), pod(gpu=3)))
        await world.settle()
        assert notes(world) == ["0/1 nodes are available: 1 removed."]
        assert_given_back(world)

    with_plugins(test, All)


def test_a_wait_that_was_not_even_told_of_ends_with_the_term() -> None:
    async def test(world: Plugged) -> None:
        world.client.hearing.clear()
        await attempt(world, permit=Wait(60))
        [waiting] = world.handle.waiting
        assert await world.binder.drain(1)
        assert not waiting.reject("All", NO)
        assert_given_back(world)

    with_plugins(test, All)


@pytest.mark.parametrize("bound", [False, True])
def test_a_pod_that_leaves_while_it_waits_is_forgotten_in_silence(bound: bool) -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, permit=Wait(60))
        left = pod(gpu=3, node="other", version="2") if bound else pod(gpu=3)
        world.told(Modified(left, pod(gpu=3)) if bound else Deleted(left))
        await world.settle()
        assert (notes(world), found.calls[-1]) == ([], "unreserve")
        assert (len(world.handle.waiting), sum(world.queue.counts().values())) == (0, 0)
        assert world.used("other") == (3 if bound else 0)

    with_plugins(test, All)


def test_a_scheduler_that_stops_lets_nobody_wait() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, permit=Wait(60))
        assert await world.binder.drain(1)
        assert (found.calls[-1], notes(world)) == ("unreserve", [])
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1
        assert_given_back(world)

    with_plugins(test, All)


def test_a_failed_attempt_takes_back_that_the_pod_waits_for_a_node() -> None:
    async def test(world: Plugged) -> None:
        plugin(world).answers = {"pre_bind": OSError("gone")}
        waits = msgspec.structs.replace(pod(gpu=3), status=objects.PodStatus(nominated_node_name="n"))
        world.queue.put(PendingPod.read(waits))
        world.cycle.step()
        await world.settle()
        assert world.client.patches[0][1]["status"]["nominatedNodeName"] is None

    with_plugins(test, All)


async def preempted_by(world: Plugged) -> None:
    """Let a more important pod want all GPUs of both nodes' worth on node n."""
    world.state.remove_node("other")
    world.queue.put(pending("boss", gpu=8, priority=10))
    world.cycle.step()
    await world.settle()


def test_preemption_recalls_a_pod_that_waits_instead_of_deleting_it() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, permit=Wait(60))
        found.answers = {}
        await preempted_by(world)
        assert world.client.deleted == []
        assert notes(world)[-1] == "waiting on permit for pod: preempted"
        [said] = world.recorder.notes("Preempted")
        assert said == "Preempted by pod uid-boss on node n (in kube-scheduler memory)."
        world.cycle.step()
        await world.settle()
        assert world.bindings.sent == [("boss", "n")]

    with_plugins(test, All)


def test_preemption_recalls_a_pod_that_is_prepared_for_its_binding() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, gate=asyncio.Event())
        found.answers = {}
        await preempted_by(world)
        assert world.client.deleted == []
        assert notes(world)[-1] == 'running PreBind plugin "All": preempted by DefaultPreemption'
        assert found.calls[:3] == ["reserve", "permit", "unreserve"]
        world.cycle.step()
        await world.settle()
        assert world.bindings.sent == [("boss", "n")]

    with_plugins(test, All)


def test_preemption_deletes_a_pod_whose_binding_is_on_its_way() -> None:
    async def test(world: Plugged) -> None:
        world.bindings.gate.clear()
        await attempt(world)
        await preempted_by(world)
        assert world.client.deleted == ["p"]

    with_plugins(test, All)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"permit": Wait(60), "has_work": False}, [("p", "n")]),
        ({"has_work": True}, [("p", "n")]),
        ({"has_work": False}, []),
    ],
)
def test_others_are_told_where_a_pod_will_be_if_it_is_not_bound_at_once(
    answers: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, **answers)
        assert world.client.expected == expected

    with_plugins(test, All)


def test_that_others_cannot_be_told_holds_up_nobody() -> None:
    async def test(world: Plugged) -> None:
        world.client.deaf = ApiError(403, "Forbidden", "no rights")
        await attempt(world)
        assert world.bindings.sent == [("p", "n")]

    with_plugins(test, All)


def test_what_others_were_told_is_taken_back_each_time_it_fails() -> None:
    """Though the pod's status does not say so yet, and the words are the same as the last time."""

    async def test(world: Plugged) -> None:
        for count in (1, 2):
            await attempt(world, pre_bind=OSError("gone"))
            assert [body["status"]["nominatedNodeName"] for _, body in world.client.patches] == [None] * count
            world.clock.move(60)

    with_plugins(test, All)


def test_a_pod_on_its_way_holds_its_room_once_though_its_status_names_the_node() -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, permit=Wait(60))
        told = msgspec.structs.replace(pod(gpu=3, version="2"), status=objects.PodStatus(nominated_node_name="n"))
        world.told(Modified(told, pod(gpu=3)))
        assert world.state.nominations.node("uid-p") in ("", None)
        assert world.used("n") == 3

    with_plugins(test, All)
