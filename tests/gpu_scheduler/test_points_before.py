"""Users' plugins before and in the decision: the queue's order and door, filters, scores, help where nothing fits."""

from typing import Any

import numpy as np
import pytest

from cluster_model.verdict import BadRequest, Event, Reason
from gpu_scheduler import extension_points as points
from gpu_scheduler.extension_points import PostFiltered, Verdict
from gpu_scheduler.queued_pod import Pool
from tests.gpu_scheduler.build import pending
from tests.gpu_scheduler.plugged import Plugged, everywhere, with_plugins

WHY = Reason("node(s) were odd", frozenset({Event.NODE_LABEL}))


class Answers:
    """Answers what the test puts in; what is an exception is raised."""

    answer: Any = None

    def __init__(self, *_: Any) -> None:
        self.asked: list[str] = []

    def _say(self, of: Any) -> Any:
        self.asked.append(of.pod.metadata.name)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(of) if callable(self.answer) else self.answer


class Sorts(Answers, points.QueueSortPlugin):
    """Orders the queue."""

    def queue_sort(self, *found: Any) -> Any:
        return self._say(found[0])


class Holds(Answers, points.PreEnqueuePlugin):
    """Keeps pods out."""

    def pre_enqueue(self, *found: Any) -> Any:
        return self._say(found[0])


class Decides(points.FilterPlugin, points.ScorePlugin):
    """Rejects the first node, and likes the last best."""

    broken: BaseException | None = None

    def __init__(self, *_: Any) -> None:
        self.pods: list[str] = []

    def filter(self, *found: Any) -> Any:
        if self.broken is not None:
            raise self.broken
        self.pods.append(found[0].pod.metadata.name)
        rejected = np.zeros(len(found[1]), np.bool_)
        rejected[:1] = True
        return Verdict.where(rejected, WHY)

    def score(self, *found: Any) -> Any:
        return found[2].astype(np.int64)


class Helps(Answers, points.PostFilterPlugin):
    """Finds help."""

    def post_filter(self, *found: Any) -> Any:
        return self._say(found[0].pod)


class HelpsToo(Helps):
    """Another one."""


def notes(world: Plugged) -> list[str]:
    return world.recorder.notes("FailedScheduling")


def put(world: Plugged, *names: str, gpu: int = 1) -> None:
    for name in names:
        world.queue.put(pending(name, gpu=gpu))


def sorted_by(plugin: str = "Sorts") -> str:
    both = f"queueSort: {{enabled: [{{name: {plugin}}}], disabled: [{{name: PrioritySort}}]}}"
    return f"profiles: [{{plugins: {{{both}}}}}]"


def popped(world: Plugged, count: int) -> list[str]:
    found = (world.queue.pop() for _ in range(count))
    return [queued.pending.pod.metadata.name for queued in found if queued is not None]


def test_a_plugin_orders_the_queue() -> None:
    async def test(world: Plugged) -> None:
        world.plugins["Sorts"].answer = lambda pod: (-len(pod.pod.metadata.name), 0.5)  # type: ignore[attr-defined]
        put(world, "a", "ccc", "bb")
        assert popped(world, 3) == ["ccc", "bb", "a"]

    with_plugins(test, Sorts, text=sorted_by())


def test_a_second_order_beside_the_usual_one_is_refused_in_kube_schedulers_words() -> None:
    with pytest.raises(BadRequest, match=r"only one queue sort plugin required for profile .*, but got 2"):
        with_plugins(_nothing, Sorts, text=everywhere(Sorts))


async def _nothing(_world: Plugged) -> None:
    raise AssertionError("unreachable")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (OSError("gone"), "OSError: gone"),
        ((1, "x"), "TypeError: must return a tuple of numbers, not (1, 'x')"),
        ((float("nan"),), "TypeError: must return a tuple of numbers, not (nan,)"),
        (7, "TypeError: must return a tuple of numbers, not 7"),
    ],
)
def test_a_pod_without_a_place_in_the_queue_comes_last_and_fails(answer: Any, said: str) -> None:
    async def test(world: Plugged) -> None:
        plugin: Any = world.plugins["Sorts"]
        plugin.answer = answer
        put(world, "odd")
        plugin.answer = (0, 0)
        put(world, "plain")
        assert world.cycle.step()
        assert world.cycle.step()
        await world.settle()
        assert notes(world) == [f'running QueueSort plugin "Sorts": {said}']
        assert world.bindings.sent == [("plain", "n")]
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1

    with_plugins(test, Sorts, text=sorted_by())


def test_a_pod_is_held_until_its_event_comes_and_the_plugin_lets_it_in() -> None:
    async def test(world: Plugged) -> None:
        plugin: Any = world.plugins["Holds"]
        plugin.answer = Reason("no budget", frozenset({Event.NODE_LABEL}))
        put(world, "p")
        assert (world.cycle.step(), world.queue.counts()[Pool.GATED]) == (False, 1)
        plugin.answer = None
        world.queue.wake({Event.NODE_TAINT})
        assert world.queue.counts()[Pool.GATED] == 1
        world.queue.wake({Event.NODE_LABEL})
        assert world.cycle.step()
        await world.settle()
        assert world.bindings.sent == [("p", "n")]

    with_plugins(test, Holds)


def test_gates_come_before_plugins_at_the_door() -> None:
    async def test(world: Plugged) -> None:
        world.queue.put(pending("p", gates=["g"]))
        assert world.plugins["Holds"].asked == []  # type: ignore[attr-defined]
        assert world.queue.counts()[Pool.GATED] == 1

    with_plugins(test, Holds)


def test_a_plugin_that_fails_at_the_door_fails_the_pods_attempt() -> None:
    async def test(world: Plugged) -> None:
        plugin: Any = world.plugins["Holds"]
        plugin.answer = OSError("gone")
        put(world, "p")
        assert world.cycle.step()
        await world.settle()
        assert notes(world) == ['running PreEnqueue plugin "Holds": OSError: gone']
        assert world.client.patches[0][1]["status"]["conditions"][0]["reason"] == "SchedulerError"
        plugin.answer = None
        world.clock.move(600)
        assert world.cycle.step()

    with_plugins(test, Holds)


def test_a_filter_and_a_scorer_decide_with_ours() -> None:
    async def test(world: Plugged) -> None:
        world.nodes(["third"], gpu=8)
        put(world, "p", "q")
        world.cycle.step()
        world.cycle.step()
        await world.settle()
        assert world.bindings.sent == [("p", "third"), ("q", "third")]

    with_plugins(test, Decides)


def test_a_pod_that_a_plugin_rejects_everywhere_says_so() -> None:
    async def test(world: Plugged) -> None:
        world.state.remove_node("other")
        put(world, "p")
        world.cycle.step()
        assert notes(world)[0].startswith("0/1 nodes are available: 1 node(s) were odd.")
        assert dict(world.queue.rejected_by()) == {("Decides", "gpu-scheduler"): 1}

    with_plugins(test, Decides)


def test_a_filter_that_raises_fails_that_pod_and_no_other() -> None:
    async def test(world: Plugged) -> None:
        plugin: Any = world.plugins["Decides"]
        plugin.broken = ZeroDivisionError("division by zero")
        put(world, "p")
        world.cycle.step()
        plugin.broken = None
        put(world, "q")
        world.cycle.step()
        await world.settle()
        assert notes(world) == ['running "Decides" filter plugin: ZeroDivisionError: division by zero']
        assert world.bindings.sent == [("q", "other")]

    with_plugins(test, Decides)


def test_help_is_looked_for_only_where_nothing_fits() -> None:
    async def test(world: Plugged) -> None:
        put(world, "p")
        world.cycle.step()
        assert world.plugins["Helps"].asked == []  # type: ignore[attr-defined]

    with_plugins(test, Helps)


NO_PREEMPTION = "postFilter: {disabled: [{name: DefaultPreemption}]}"
FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


@pytest.mark.parametrize(
    ("first", "second", "said", "asked"),
    [
        (None, None, "", 2),
        (PostFiltered("ask for more"), None, " ask for more", 2),
        (PostFiltered("ask for more"), PostFiltered("or less"), " ask for more, or less", 2),
        (PostFiltered("never", final=True), PostFiltered("or less"), " never", 1),
        (PostFiltered("soon", nominated="n"), PostFiltered("or less"), " soon", 1),
        (PostFiltered("ask"), PostFiltered("soon", nominated="n"), " soon", 2),
    ],
)
def test_what_helpers_say_ends_the_sentence(first: Any, second: Any, said: str, asked: int) -> None:
    async def test(world: Plugged) -> None:
        helpers: list[Any] = [world.plugins["Helps"], world.plugins["HelpsToo"]]
        helpers[0].answer, helpers[1].answer = first, second
        put(world, "p", gpu=9)
        world.cycle.step()
        assert notes(world) == [FULL + said]
        assert len(helpers[0].asked) + len(helpers[1].asked) == asked

    with_plugins(test, Helps, HelpsToo, text=with_helpers())


def with_helpers() -> str:
    return (
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: Helps}}, {{name: HelpsToo}}]}}, {NO_PREEMPTION}}}}}]"
    )


def test_a_helper_may_name_the_node_where_the_pod_waits() -> None:
    async def test(world: Plugged) -> None:
        helper: Any = world.plugins["Helps"]
        helper.answer = PostFiltered("soon", nominated="other")
        put(world, "p", gpu=9)
        world.cycle.step()
        await world.settle()
        assert world.state.nominations.node("uid-p") == "other"
        assert world.client.patches[0][1]["status"]["nominatedNodeName"] == "other"

    with_plugins(test, Helps, HelpsToo, text=with_helpers())


def test_a_helper_that_raises_fails_the_pod() -> None:
    async def test(world: Plugged) -> None:
        helper: Any = world.plugins["Helps"]
        helper.answer = OSError("gone")
        put(world, "p", gpu=9)
        world.cycle.step()
        assert notes(world) == ['running PostFilter plugin "Helps": OSError: gone']
        assert world.queue.counts()[Pool.ERROR_BACKOFF] == 1

    with_plugins(test, Helps)


def test_preemption_stands_among_the_helpers_where_the_profile_has_it() -> None:
    async def test(world: Plugged) -> None:
        helper: Any = world.plugins["Helps"]
        helper.answer = PostFiltered("ask for less")
        put(world, "p", gpu=9)
        world.cycle.step()
        assert notes(world)[0].startswith(f"{FULL} preemption: ")
        assert notes(world)[0].endswith(", ask for less")

    with_plugins(test, Helps)
