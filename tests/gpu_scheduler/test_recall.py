"""Pods whose place is taken back before they are bound: only as long as that can be, and whatever their plugins do."""

import asyncio
from contextlib import suppress

from tests.gpu_scheduler.every_point import All, assert_given_back, attempt, notes, plugin
from tests.gpu_scheduler.plugged import Plugged, with_plugins


def test_only_what_is_not_being_bound_yet_can_be_recalled() -> None:
    async def test(world: Plugged) -> None:
        assert not world.binder.recall("uid-stranger")
        gate = asyncio.Event()
        await attempt(world, gate=gate)
        gate.set()
        await asyncio.sleep(0)
        await world.settle()
        assert not world.binder.recall("uid-p")
        assert world.bindings.sent == [("p", "n")]

    with_plugins(test, All)


def test_a_recalled_pod_can_be_stopped_like_any_other_in_its_next_attempt() -> None:
    async def test(world: Plugged) -> None:
        await attempt(world, gate=asyncio.Event())
        assert world.binder.recall("uid-p")
        await world.settle()
        assert len(notes(world)) == 1
        world.clock.move(60)
        world.cycle.step()
        await world.settle()
        assert await world.binder.drain(1)
        assert len(notes(world)) == 1, "a stop is not the pod's fault"
        assert_given_back(world)

    with_plugins(test, All)


def test_a_plugin_that_goes_on_when_its_pod_is_recalled_gets_no_place_for_it() -> None:
    class Stubborn:
        async def wait(self) -> None:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    async def test(world: Plugged) -> None:
        await attempt(world, gate=Stubborn())
        assert world.binder.recall("uid-p")
        await world.settle()
        assert (world.bindings.sent, plugin(world).calls[-1]) == ([], "unreserve")

    with_plugins(test, All)
