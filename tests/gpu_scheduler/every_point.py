"""A plugin at every point after the decision, and how a test lets a pod pass them."""

from typing import Any

from cluster_model.verdict import Event, Reason
from gpu_scheduler import extension_points as points
from gpu_scheduler.extension_points import Handle
from tests.gpu_scheduler.build import pending
from tests.gpu_scheduler.plugged import Plugged

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
