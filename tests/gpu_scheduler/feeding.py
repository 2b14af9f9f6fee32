"""A world whose first list has been told, and what the tests of the feed ask of it."""

import asyncio

from kube_client.changes import Added, Synced
from tests.gpu_scheduler.build import node
from tests.gpu_scheduler.fakes import World


def told_world() -> World:
    """One node, no pods, and everything that existed was told."""

    async def build() -> World:
        found = World()
        found.feed.node(Added(node()))
        found.feed.pod(Synced())
        return found

    return asyncio.run(build())


def waiting(world: World) -> list[str]:
    found = []
    while (queued := world.queue.pop()) is not None:
        found.append(queued.pending.pod.metadata.name)
    return found


async def stepped(world: World) -> None:
    world.cycle.step()
    await world.settle()
