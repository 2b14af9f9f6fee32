"""What is measured of extension points and plugins: which series, with which status, and in which attempts."""

import asyncio
from typing import Any

import pytest

from cluster_model.verdict import Event, Reason
from gpu_scheduler.extension_points import Wait
from gpu_scheduler.point_metrics import SAMPLED
from tests.gpu_scheduler.build import pending
from tests.gpu_scheduler.every_point import All, attempt
from tests.gpu_scheduler.fakes import World
from tests.gpu_scheduler.plugged import Plugged, with_plugins
from tests.gpu_scheduler.test_points_before import Decides, Holds

POINTS = "scheduler_framework_extension_point_duration_seconds_count"
PLUGINS = "scheduler_plugin_execution_duration_seconds_count"
EVALUATIONS = "scheduler_plugin_evaluation_total"
NO = Reason("no", frozenset({Event.NODE_LABEL}))


def series(world: World, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    """The values of all series of that name, by some of their labels."""
    samples = (sample for family in world.metrics.registry.collect() for sample in family.samples)
    return {tuple(one.labels[label] for label in labels): one.value for one in samples if one.name == name}


def points(world: World) -> dict[tuple[str, ...], float]:
    return series(world, POINTS, "extension_point", "status")


def plain(test: Any, **found: Any) -> None:
    async def run() -> None:
        world = World(**found)
        world.nodes(gpu=8)
        await test(world)

    asyncio.run(run())


def test_every_attempt_is_measured_at_the_points_where_something_runs() -> None:
    async def test(world: World) -> None:
        world.queue.put(pending(gpu=1))
        world.cycle.step()
        await world.settle()
        wanted = [("Filter", "Success"), ("Score", "Success"), ("Reserve", "Success"), ("Bind", "Success")]
        assert points(world) == dict.fromkeys(wanted, 1)

    plain(test)


def test_a_pod_that_fits_nowhere_is_not_scored_and_preemption_is_measured() -> None:
    async def test(world: World) -> None:
        world.queue.put(pending(gpu=9))
        world.cycle.step()
        assert points(world) == {("Filter", "Success"): 1, ("PostFilter", "Unschedulable"): 1}

    plain(test)


def test_a_users_points_are_measured_too() -> None:
    async def test(world: Plugged) -> None:
        await attempt(world)
        passed = ("Filter", "Score", "Reserve", "Permit", "PreBind", "Bind", "PostBind")
        assert points(world) == {(point, "Success"): 1 for point in passed}

    with_plugins(test, All)


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ({"reserve": NO}, ("Reserve", "Unschedulable")),
        ({"reserve": OSError()}, ("Reserve", "Error")),
        ({"permit": NO}, ("Permit", "Unschedulable")),
        ({"permit": OSError()}, ("Permit", "Error")),
        ({"permit": Wait(60)}, ("Permit", "Wait")),
        ({"pre_bind": OSError()}, ("PreBind", "Error")),
        ({"bind": OSError()}, ("Bind", "Error")),
    ],
)
def test_the_status_is_what_became_of_the_point(answers: dict[str, Any], status: tuple[str, str]) -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, **answers)
        assert points(world)[status] == 1
        assert ("Unreserve", "Success") in points(world) or status[1] == "Wait"

    with_plugins(test, All)


def test_a_failing_filter_is_an_error_of_its_point() -> None:
    async def test(world: Plugged) -> None:
        world.plugins["Decides"].broken = OSError()  # type: ignore[attr-defined]
        world.queue.put(pending(gpu=1))
        world.cycle.step()
        assert points(world) == {("Filter", "Error"): 1}

    with_plugins(test, Decides)


@pytest.mark.parametrize("answer", [None, NO, OSError()])
@pytest.mark.parametrize("drawn", [0.0, 1.0])
def test_the_door_is_measured_where_a_plugin_stands_there_and_says_success_as_in_kube_scheduler(
    answer: Any, drawn: float
) -> None:
    async def test(world: Plugged) -> None:
        world.drawn = drawn
        world.plugins["Holds"].answer = answer  # type: ignore[attr-defined]
        world.queue.put(pending(gpu=1))
        assert points(world) == {("PreEnqueue", "Success"): 1}
        status = "Error" if isinstance(answer, OSError) else "Success"
        timed = {("Holds", "PreEnqueue", status): 1} if drawn == 0.0 else {}
        assert series(world, PLUGINS, "plugin", "extension_point", "status") == timed

    with_plugins(test, Holds)


@pytest.mark.parametrize(("drawn", "timed"), [(0.0, True), (SAMPLED - 0.001, True), (SAMPLED, False), (0.99, False)])
def test_plugins_are_timed_in_a_tenth_of_the_attempts(drawn: float, timed: bool) -> None:
    async def test(world: World) -> None:
        world.queue.put(pending(gpu=1))
        world.cycle.step()
        assert bool(series(world, PLUGINS, "plugin")) is timed

    plain(test, drawn=drawn)


def test_a_sampled_attempt_times_each_plugin_that_is_asked() -> None:
    async def test(world: Plugged) -> None:
        world.drawn = 0.0
        await attempt(world)
        found = series(world, PLUGINS, "plugin", "extension_point", "status")
        passed = ("Reserve", "Permit", "PreBind", "Bind", "PostBind")
        assert {("All", point, "Success") for point in passed} <= found.keys()
        assert {("NodeResourcesFit", "Filter", "Success"), ("ImageLocality", "Score", "Success")} <= found.keys()
        assert ("DefaultBinder", "Bind", "Success") in found

    with_plugins(test, All)


def test_a_refusal_before_nodes_are_judged_has_its_own_status() -> None:
    async def test(world: World) -> None:
        world.queue.put(pending(gpu=1, claims=["missing"]))
        world.cycle.step()
        found = series(world, PLUGINS, "plugin", "extension_point", "status")
        assert ("VolumeRestrictions", "PreFilter", "UnschedulableAndUnresolvable") in found

    plain(test, drawn=0.0)


def test_sampling_changes_no_decision() -> None:
    async def test(world: World) -> None:
        world.nodes([f"n{number}" for number in range(5)], gpu=4)
        for number in range(20):
            world.drawn = 0.0 if number % 3 == 0 else 1.0
            world.queue.put(pending(f"p{number}", gpu=1))
            world.cycle.step()
        await world.settle()
        places.append(dict(world.bindings.sent))

    places: list[dict[str, str]] = []
    plain(test, in_flight=100)
    plain(lambda world: _unsampled(world, places), in_flight=100)
    assert places[0] == places[1]


async def _unsampled(world: World, places: list[dict[str, str]]) -> None:
    world.nodes([f"n{number}" for number in range(5)], gpu=4)
    for number in range(20):
        world.queue.put(pending(f"p{number}", gpu=1))
        world.cycle.step()
    await world.settle()
    places.append(dict(world.bindings.sent))


def test_who_takes_part_in_an_attempt_is_counted_once() -> None:
    async def test(world: World) -> None:
        for number in range(3):
            world.queue.put(pending(f"p{number}", gpu=1))
            world.cycle.step()
        found = series(world, EVALUATIONS, "plugin", "extension_point", "profile")
        assert found["NodeName", "Filter", "gpu-scheduler"] == 3
        assert found["NodeAffinity", "PreFilter", "gpu-scheduler"] == 3
        assert found["ImageLocality", "Score", "gpu-scheduler"] == 3
        assert ("InterPodAffinity", "Score", "gpu-scheduler") not in found, "it has nothing to say about these pods"
        assert not any("Unsupported" in plugin for plugin, _, _ in found)

    plain(test)


def test_a_pod_refused_beforehand_is_asked_no_more() -> None:
    async def test(world: World) -> None:
        world.queue.put(pending(gpu=1, claims=["missing"]))
        world.cycle.step()
        found = series(world, EVALUATIONS, "plugin", "extension_point")
        assert found["VolumeRestrictions", "PreFilter"] == 1
        assert ("VolumeRestrictions", "Filter") not in found

    plain(test)


@pytest.mark.parametrize(
    ("end", "result"),
    [
        (lambda waiting: waiting.allow("All"), "Success"),
        (lambda waiting: waiting.reject("All", NO), "Unschedulable"),
        (lambda waiting: waiting.preempt("preempted"), "Error"),
    ],
)
def test_waiting_for_permission_is_measured_by_its_result(end: Any, result: str) -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, permit=Wait(60))
        [waiting] = world.handle.waiting
        end(waiting)
        await world.settle()
        assert series(world, "scheduler_permit_wait_duration_seconds_count", "result") == {(result,): 1}

    with_plugins(test, All)
