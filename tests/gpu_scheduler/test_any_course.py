"""Whatever plugins answer and whatever happens meanwhile: each pod ends in one place, and none keeps a place."""

import asyncio
from random import Random
from typing import Any

import pytest

from cluster_model import objects
from gpu_scheduler.extension_points import Wait
from gpu_scheduler.queued_pod import Pool
from kube_client.binding import AlreadyBound, Bound, Failed, Gone
from kube_client.changes import Added, Deleted, Modified, Synced
from kube_client.errors import ApiError
from tests.gpu_scheduler.build import pod
from tests.gpu_scheduler.every_point import NO, All, Second, plugin
from tests.gpu_scheduler.plugged import Plugged, with_plugins

ERROR = ApiError(500, "InternalError", "no")
REFUSED = (Failed(ERROR, certain=True), Failed(ERROR, certain=False))
ANSWERS: dict[str, tuple[Any, ...]] = {
    "reserve": (None, None, None, None, None, None, NO, ValueError("r"), "garbage", SystemExit(1)),
    "permit": (None, None, Wait(60), Wait(60), Wait(0.001), NO, ValueError("p"), 7),
    "has_work": (True, False),
    "pre_bind": (None, None, None, None, OSError("b"), asyncio.CancelledError(), "garbage"),
    "bind": (None, None, None, Bound(), Gone(), AlreadyBound("other"), "garbage", OSError("b"), *REFUSED),
    "post_bind": (None, OSError("t")),
    "unreserve": (None, None, None, OSError("u")),
}
NAMES = ("p", "q", "s")
HAPPENINGS = (
    *("step", "step", "step", "settle", "time", "allow", "reject", "recall"),
    *("deleted", "going", "clock", "term ends", "gate", "lost", "led"),
)
BATCH = 20


def asking(name: str, **found: Any) -> objects.Pod:
    return pod(name, gpu=3, **found)


class Course:
    """Three pods on their way, and what comes in between."""

    def __init__(self, world: Plugged, seed: int) -> None:
        self.world = world
        self.random = Random(seed)
        self.gate = asyncio.Event()
        world.told(Synced())
        for name in NAMES:
            world.told(Added(asking(name)))

    def answer(self) -> None:
        """Let each plugin answer as it likes from now on."""
        for name in ("All", "Second"):
            answers = {point: self.random.choice(some) for point, some in ANSWERS.items()}
            plugin(self.world, name).answers = {**answers, "gate": self.random.choice((None, self.gate))}

    async def happen(self) -> None:
        world, name = self.world, self.random.choice(NAMES)
        match self.random.choice(HAPPENINGS):
            case "step":
                world.cycle.step()
            case "settle":
                await world.settle()
            case "time":
                await asyncio.sleep(0.002)
            case "allow" | "reject" as answer:
                self._permit(answer)
            case "recall":
                await asyncio.sleep(0)  # no pod is recalled in the turn of the loop in which it was placed
                world.binder.recall(f"uid-{name}")
            case "deleted":
                world.told(Deleted(asking(name)))
            case "going" if f"uid-{name}" in world.queue:
                world.told(Modified(asking(name, deleted="2026-01-01T00:00:00Z", version="2"), asking(name)))
            case "clock":
                world.clock.move(self.random.choice((1, 5, 60, 400)))
            case "term ends":
                await world.binder.drain(0.01)
            case "gate":
                self.gate.set()
            case "lost" | "led" as lead:
                world.leading = lead == "led"

    async def end(self) -> None:
        """Let everything come to its end, and look at the books."""
        world, self.world.leading = self.world, True
        self.gate.set()
        for name in ("All", "Second"):
            plugin(world, name).answers = {}
        self._permit("reject")
        await world.settle()
        assert await world.binder.drain(1)
        assert (len(world.binder), len(world.handle.waiting), world.queue.in_flight_events()) == (
            0,
            0,
            {"PodPopped": 0},
        )
        assert not any(uid in world.queue for uid in world.state.holdings())
        await self._placed()

    async def _placed(self) -> None:
        """Nothing is stuck: each pod that is left is bound when nobody objects any more."""
        world = self.world
        for _ in range(3 * len(NAMES)):
            world.clock.move(400)
            world.cycle.step()
            await world.settle()
        assert {pool: count for pool, count in world.queue.counts().items() if count} == dict[Pool, int]()
        assert world.used("n") + world.used("other") == 3 * len(world.state.holdings())

    def _permit(self, answer: str) -> None:
        for waiting in self.world.handle.waiting:
            for name in waiting.pending_plugins:
                waiting.allow(name) if answer == "allow" else waiting.reject(name, NO)


@pytest.mark.parametrize("batch", range(8))
def test_nothing_is_lost_and_nothing_stays_taken(batch: int) -> None:
    def course(seed: int) -> None:
        async def test(world: Plugged) -> None:
            found = Course(world, seed)
            for _ in range(found.random.choice((4, 8, 12, 20, 40))):
                found.answer()
                await found.happen()
            await found.end()

        with_plugins(test, All, Second)

    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        course(seed)
