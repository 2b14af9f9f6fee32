"""Users' plugins after the decision: in order, with what each answer means for the pod, its place and its words."""

import asyncio
from typing import Any

import pytest

from cluster_model.verdict import Event, Reason
from gpu_scheduler import built_in, config, profiles, wiring
from gpu_scheduler.discovery import Found
from gpu_scheduler.extension_points import Handle
from gpu_scheduler.point_metrics import Measures
from gpu_scheduler.queued_pod import Pool, priority_sort, scheduling_gates
from gpu_scheduler.waiting_pods import WaitingPods
from kube_client.binding import Bound, Failed, Gone
from kube_client.errors import ApiError
from tests.gpu_scheduler.build import pending
from tests.gpu_scheduler.every_point import NO, All, Second, assert_given_back, attempt, notes, plugin
from tests.gpu_scheduler.fakes import World
from tests.gpu_scheduler.plugged import HEAD, Plugged, announced, assembled, with_plugins


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


def test_where_no_plugin_of_a_user_is_enabled_ours_run_bare_and_nothing_is_asked_in_vain() -> None:
    async def run() -> None:
        world = World()
        measures = Measures(world.metrics.points, world.clock, lambda: 1.0)
        plan = {"s": assembled("profiles: [{}]", Found(), Handle(WaitingPods()))}
        door = wiring.entrance(plan, measures)
        parts = built_in.Parts(world.bindings, world.queue, world.metrics, world.volumes, world.preemptor)
        hooks = wiring.frameworks(plan, parts, door, measures)["s"].hooks
        assert (hooks.permits, hooks.post_binds) == ((), ())
        steps: tuple[Any, ...] = (
            *hooks.reserves,
            *hooks.unreserves,
            *hooks.post_filters,
            *(has for has, _ in hooks.pre_binds),
        )
        assert [step.run.__self__.__class__.__name__ for step in steps] == [
            "VolumeBinding",
            "VolumeBinding",
            "DefaultPreemption",
            "VolumeBinding",
        ]
        assert (door.sort_key(), door.pre_enqueue()) == (priority_sort, scheduling_gates)

    asyncio.run(run())


def test_each_profile_has_a_plugin_of_its_own() -> None:
    found = announced(All)
    enabled = "plugins: {multiPoint: {enabled: [{name: All}]}}"
    text = f"profiles: [{{schedulerName: a, {enabled}}}, {{schedulerName: b, {enabled}}}, {{schedulerName: c}}]"
    read = config.parse(HEAD + text, profiles.known(found), "own")
    made = profiles.assemble(read.profiles, found, Handle(WaitingPods()))

    assert made["a"].users["All"] is not made["b"].users["All"]
    assert made["c"].users == {}
