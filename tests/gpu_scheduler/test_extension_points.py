"""Users' plugins after the decision: in order, with what each answer means for the pod, its place and its words."""

import asyncio
from typing import Any

import msgspec
import pytest

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.verdict import Event, Reason
from gpu_scheduler import extension_points as points
from gpu_scheduler.extension_points import Handle, Wait
from gpu_scheduler.queued_pod import Pool
from kube_client.binding import Bound, Failed, Gone
from kube_client.changes import Deleted, Modified
from kube_client.errors import ApiError
from tests.gpu_scheduler.build import pending, pod
from tests.gpu_scheduler.plugged import Plugged, with_plugins

NO = Reason("node(s) had no licence", frozenset({Event.NODE_LABEL}))


class Told:
    """Remembers its calls and answers as the test wants; what is an exception is raised."""

    answers: dict[str, Any]

    def __init__(self, _args: Any, handle: Handle) -> None:
        self.handle = handle
        self.calls: list[str] = []
        self.answers = {}

    def _say(self, point: str) -> Any:
        self.calls.append(point)
        answer = self.answers.get(point)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class All(
    Told,
    points.ReservePlugin,
    points.PermitPlugin,
    points.PreBindPlugin,
    points.BindPlugin,
    points.PostBindPlugin,
):
    """Works at every point after the decision."""

    def reserve(self, *_: Any) -> Any:
        return self._say("reserve")

    def unreserve(self, *_: Any) -> None:
        self._say("unreserve")

    def permit(self, *_: Any) -> Any:
        return self._say("permit")

    def has_work(self, *_: Any) -> bool:
        return bool(self.answers.get("has_work", True))

    async def pre_bind(self, *_: Any) -> None:
        gate = self.answers.get("gate")
        if gate is not None:
            await gate.wait()
        self._say("pre_bind")

    async def bind(self, *_: Any) -> Any:
        return self._say("bind")

    async def post_bind(self, *_: Any) -> None:
        self._say("post_bind")


class Second(All):
    """Another one."""


def plugin(world: Plugged, name: str = "All") -> Any:
    return world.plugins[name]


async def attempt(world: Plugged, **answers: Any) -> Any:
    """Try a pod of three GPUs; return the plugin."""
    plugin(world).answers = answers
    world.queue.put(pending(gpu=3))
    world.cycle.step()
    await world.settle()
    return plugin(world)


def notes(world: Plugged) -> list[str]:
    return world.recorder.notes("FailedScheduling")


def assert_given_back(world: Plugged) -> None:
    assert world.used("n") + world.used("other") == 0
    assert (len(world.binder), len(world.handle.waiting)) == (0, 0)


def test_points_are_passed_in_kube_schedulers_order() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world)
        assert found.calls == ["reserve", "permit", "pre_bind", "bind", "post_bind"]
        assert world.bindings.sent == [("p", "n")]
        assert world.recorder.notes("Scheduled") == ["Successfully assigned ns/p to n"]

    with_plugins(test, All)


def test_a_pod_without_work_before_its_binding_is_bound_at_once() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, has_work=False)
        assert found.calls == ["reserve", "permit", "bind", "post_bind"]

    with_plugins(test, All)


def test_a_binder_that_binds_leaves_nothing_to_the_next() -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, bind=Bound())
        assert plugin(world, "Second").calls == ["reserve", "permit", "pre_bind", "post_bind"]
        assert world.bindings.sent == []
        assert world.recorder.notes("Scheduled") == ["Successfully assigned ns/p to n"]

    with_plugins(test, All, Second)


def alone(*disabled: str) -> str:
    names = ", ".join(f"{{name: {name}}}" for name in disabled)
    return f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: All}}]}}, bind: {{disabled: [{names}]}}}}}}]"


def test_a_pod_that_nobody_binds_fails() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world)
        assert notes(world) == ["running Bind plugins: none of them binds the pod"]
        assert found.calls[-1] == "unreserve"
        assert_given_back(world)

    with_plugins(test, All, text=alone("DefaultBinder"))


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("reserve", 'running Reserve plugin "All": OSError: gone'),
        ("permit", 'running Permit plugin "All": OSError: gone'),
        ("pre_bind", 'running PreBind plugin "All": OSError: gone'),
        ("bind", 'running Bind plugin "All": OSError: gone'),
    ],
)
def test_what_a_plugin_raises_fails_the_pod_and_gives_its_place_back(point: str, said: str) -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, **{point: OSError("gone")})
        assert notes(world) == [said]
        assert world.client.patches[0][1]["status"]["conditions"][0]["reason"] == "SchedulerError"
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1
        assert (found.calls[-1], found.calls.count("unreserve")) == ("unreserve", 1)
        assert_given_back(world)

    with_plugins(test, All)


@pytest.mark.parametrize("raised", [SystemExit(1), asyncio.CancelledError()])
@pytest.mark.parametrize("point", ["pre_bind", "bind"])
def test_a_plugin_can_neither_end_the_process_nor_pass_for_a_cancelled_task(point: str, raised: BaseException) -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, **{point: raised})
        assert len(notes(world)) == 1
        assert type(raised).__name__ in notes(world)[0]
        await world.binder.room()
        assert_given_back(world)

    with_plugins(test, All)


@pytest.mark.parametrize(
    ("point", "wanted"),
    [
        ("reserve", "Reason or None"),
        ("permit", "Reason or Wait or None"),
        ("bind", "Bound or AlreadyBound or Gone or Failed or None"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_an_error(point: str, wanted: str) -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, **{point: "yes"})
        name = point.capitalize()
        assert notes(world) == [f'running {name} plugin "All": TypeError: must return {wanted}, not str']
        assert_given_back(world)

    with_plugins(test, All)


@pytest.mark.parametrize("point", ["reserve", "permit"])
def test_a_denied_pod_is_unschedulable_with_the_plugin_as_rejector(point: str) -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, **{point: NO})
        assert notes(world) == ["0/1 nodes are available: 1 node(s) had no licence."]
        assert world.client.patches[0][1]["status"]["conditions"][0]["reason"] == "Unschedulable"
        assert dict(world.queue.rejected_by()) == {("All", "gpu-scheduler"): 1}
        assert found.calls[-1] == "unreserve"
        assert_given_back(world)

    with_plugins(test, All)


def test_a_denied_pod_is_woken_by_the_events_of_its_reason_alone() -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, permit=NO)
        world.nodes(["new"])
        assert world.queue.counts()[Pool.UNSCHEDULABLE] == 1
        world.queue.wake(world.state.remove_node("new"))
        assert world.queue.counts()[Pool.UNSCHEDULABLE] == 1
        world.queue.wake({Event.NODE_LABEL})
        assert world.queue.counts()[Pool.UNSCHEDULABLE] == 0

    with_plugins(test, All)


def test_that_its_own_place_is_free_again_does_not_wake_a_denied_pod() -> None:
    async def test(world: Plugged) -> None:
        reason = Reason("no", frozenset({Event.ASSIGNED_POD_DELETE}))
        await attempt(world, permit=reason)
        assert world.queue.counts()[Pool.UNSCHEDULABLE] == 1

    with_plugins(test, All)


def test_unreserve_runs_in_reverse_order_for_all_and_one_that_fails_stops_no_other() -> None:
    order: list[str] = []

    async def test(world: Plugged) -> None:
        for name in ("All", "Second"):
            plugin(world, name)._say = lambda point, name=name: _noted(order, name, point)
        world.queue.put(pending(gpu=3))
        world.cycle.step()
        assert order == ["All.reserve", "Second.reserve", "Second.unreserve", "All.unreserve"]
        assert notes(world) == ['running Reserve plugin "Second": OSError: gone']
        assert_given_back(world)

    with_plugins(test, All, Second)


def _noted(order: list[str], name: str, point: str) -> None:
    order.append(f"{name}.{point}")
    if name == "Second":
        raise OSError("gone")


def test_a_bound_pod_stays_bound_whatever_is_raised_afterwards() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, post_bind=OSError("gone"))
        assert world.recorder.notes("Scheduled") == ["Successfully assigned ns/p to n"]
        assert (notes(world), world.used("n")) == ([], 3)
        assert found.calls[-1] == "post_bind"

    with_plugins(test, All)


def test_a_users_binder_may_leave_the_outcome_open_and_is_asked_again() -> None:
    async def test(world: Plugged) -> None:
        world.queue.put(pending(gpu=3))
        open_ = Failed(ApiError(0, "TimeoutError", "no answer"), certain=False)
        outcomes: list[Any] = [open_, Gone()]
        plugin(world)._say = lambda point: outcomes.pop(0) if point == "bind" else None
        world.cycle.step()
        await world.settle()
        assert notes(world) == ['running Bind plugin "All": no answer']
        assert (outcomes, world.naps, world.bindings.sent) == ([], [1.0], [])
        assert "uid-p" not in world.queue

    with_plugins(test, All, text=alone("DefaultBinder"))


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


def test_a_stop_during_what_comes_before_the_binding_is_not_the_plugins_fault() -> None:
    async def test(world: Plugged) -> None:
        found = await attempt(world, gate=asyncio.Event())
        assert await world.binder.drain(1)
        assert (found.calls, notes(world)) == (["reserve", "permit", "unreserve"], [])
        assert_given_back(world)

    with_plugins(test, All)


def test_a_drain_lets_those_be_told_who_follow_bindings() -> None:
    async def test(world: Plugged) -> None:
        world.bindings.gate.clear()
        found = await attempt(world, has_work=False)
        draining = asyncio.create_task(world.binder.drain(5))
        await world.settle()
        world.bindings.gate.set()
        assert await draining
        assert found.calls[-1] == "post_bind"

    with_plugins(test, All)


def test_a_plugin_that_cannot_say_whether_it_has_work_fails_the_pod() -> None:
    class Vague(All):
        def has_work(self, *_: Any) -> bool:
            raise OSError("gone")

    async def test(world: Plugged) -> None:
        world.queue.put(pending(gpu=3))
        world.cycle.step()
        await world.settle()
        assert notes(world) == ['running PreBindPreFlight "Vague": OSError: gone']
        assert_given_back(world)

    with_plugins(test, Vague)


def test_a_failed_attempt_takes_back_that_the_pod_waits_for_a_node() -> None:
    async def test(world: Plugged) -> None:
        plugin(world).answers = {"pre_bind": OSError("gone")}
        waits = msgspec.structs.replace(pod(gpu=3), status=objects.PodStatus(nominated_node_name="n"))
        world.queue.put(PendingPod.read(waits))
        world.cycle.step()
        await world.settle()
        assert world.client.patches[0][1]["status"]["nominatedNodeName"] is None

    with_plugins(test, All)


def test_a_pod_is_not_where_a_plugin_looks_until_it_is_reserved_and_is_after() -> None:
    seen: list[int] = []

    class Looks(All):
        def _say(self, point: str) -> Any:
            if point in ("reserve", "permit"):
                seen.append(int(self.handle.snapshot().requested("nvidia.com/gpu").sum()))
            return None

    async def test(world: Plugged) -> None:
        world.queue.put(pending(gpu=3))
        world.cycle.step()
        assert seen == [0, 3]

    with_plugins(test, Looks)


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
