"""A watch hands on every change, and lists anew when asked to without losing or repeating one."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from cluster_model import objects
from kube_client.changes import Added, Change, Deleted, Modified, Synced
from kube_client.listing import Resource
from kube_client.watch import Reflector
from kube_client.watches import Watch
from tests.kube_client.fake_api import FakeApi, connected

PODS = "/api/v1/namespaces/ns/pods"


def document(name: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {}, "status": {}}


def watched(folder: Path, test: Callable[[FakeApi, "Watch[objects.Pod]", list[str]], Awaitable[None]]) -> None:
    """Run the test beside a running watch; the list says what it was told."""
    told: list[str] = []

    def take(change: Change[objects.Pod]) -> None:
        match change:
            case Added(pod) | Modified(pod) | Deleted(pod):
                told.append(f"{type(change).__name__} {pod.metadata.name}")
            case Synced():
                told.append("Synced")

    async def run() -> None:
        async with connected(folder) as (api, client):
            api.put(PODS, document("a"))
            watch = Watch(Reflector(client, Resource(PODS, objects.Pod)), take, asyncio.Event())
            running = asyncio.create_task(watch.run())
            await watch.synced()
            await test(api, watch, told)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(run())


async def until(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not seen():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def test_changes_are_handed_on(tmp_path: Path) -> None:
    async def test(api: FakeApi, watch: "Watch[objects.Pod]", told: list[str]) -> None:
        api.put(PODS, document("b"))
        await until(lambda: "Added b" in told)
        assert told == ["Added a", "Synced", "Added b"]
        assert watch.healthy

    watched(tmp_path, test)


def test_a_new_list_tells_only_what_the_watch_had_not_told_yet(tmp_path: Path) -> None:
    async def test(api: FakeApi, watch: "Watch[objects.Pod]", told: list[str]) -> None:
        api.put(PODS, document("b"))
        api.delete(f"{PODS}/a")
        await watch.relist()
        assert sorted(told) == ["Added a", "Added b", "Deleted a", "Synced", "Synced"]
        api.put(PODS, document("c"))
        await until(lambda: "Added c" in told)
        assert api.methods("/pods").count("GET") == 2

    watched(tmp_path, test)


def test_lists_may_be_asked_for_again_and_again(tmp_path: Path) -> None:
    async def test(api: FakeApi, watch: "Watch[objects.Pod]", told: list[str]) -> None:
        for _ in range(3):
            await watch.relist()
        assert told.count("Synced") == 4
        assert told.count("Added a") == 1

    watched(tmp_path, test)


def test_a_consumer_that_breaks_ends_the_watch_loudly(tmp_path: Path) -> None:
    def explode(_: object) -> None:
        raise ZeroDivisionError

    async def run() -> None:
        async with connected(tmp_path) as (api, client):
            api.put(PODS, document("a"))
            await Watch(Reflector(client, Resource(PODS, objects.Pod)), explode, asyncio.Event()).run()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())
