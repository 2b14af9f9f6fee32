"""Volumes before pods: what is written in which form, what is waited for, and what becomes of all of it on failure."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest

from cluster_model.storage_objects import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
)
from gpu_scheduler.queued_pod import Pool
from kube_client.changes import Deleted
from kube_client.errors import ApiError
from scheduler_plugins import registry
from tests import build_storage as make
from tests.build import stored
from tests.build_storage import ZONE
from tests.gpu_scheduler.build import node, pending, pod
from tests.gpu_scheduler.fakes import FakeClient, World

LOCAL = make.storage_class("fast", "kubernetes.io/no-provisioner")
MADE = make.storage_class("fast")
VOLUME = "/api/v1/persistentvolumes/volume"
CLAIM = "/api/v1/namespaces/ns/persistentvolumeclaims/claim"
FAILED = 'running PreBind plugin "VolumeBinding": '
CONFLICT = ApiError(409, "Conflict", 'Operation cannot be fulfilled on persistentvolumes "volume": it has changed')


class Server(FakeClient):
    """Applies patches to what the world was told, and keeps the outcome until the world is told of that too."""

    def __init__(self, world: "Volumes") -> None:
        super().__init__()
        self.world = world
        self.written: list[PersistentVolume | PersistentVolumeClaim] = []

    async def patch(self, path: str, body: Any, content_type: str = "") -> bytes:
        answer = await super().patch(path, body, content_type)
        if "/persistentvolume" not in path:
            return answer
        self.written.append(self.patched(path, body))
        return msgspec.json.encode(self.written[-1])

    def patched(self, path: str, body: Mapping[str, Any]) -> Any:
        storage, name = self.world.state.storage, path.rpartition("/")[2]
        told: Any = storage.volumes.told(name) if path == VOLUME else storage.claims.told(f"ns/{name}")
        assert body["metadata"]["resourceVersion"] == told.metadata.resource_version
        plain = msgspec.to_builtins(told)
        plain["spec"] |= body.get("spec", {})
        notes = {**told.metadata.annotations, **body["metadata"].get("annotations", {})}
        plain["metadata"] |= {"annotations": notes, "resourceVersion": f"{int(told.metadata.resource_version) + 1}"}
        return msgspec.convert(plain, type(told))

    def of_storage(self) -> list[tuple[str, Mapping[str, Any]]]:
        return [(path, body) for path, body in self.patches if "/persistentvolume" in path]


class Volumes(World):
    """A scheduler with two nodes; time passes while it naps."""

    def __post_init__(self) -> None:
        self.client = self.server = Server(self)
        super().__post_init__()
        for name in "ab":
            self.state.set_node(node(name, labels={ZONE: name}))

    async def nap(self, seconds: float) -> None:
        self.clock.move(seconds)
        await super().nap(seconds)

    async def tell(self, *found: Any) -> None:
        stored(self.state, *found)
        await self.settle()

    def claim(self) -> PersistentVolumeClaim:
        return self.state.snapshot().storage.claims["ns/claim"]

    def notes(self) -> list[str]:
        return self.recorder.notes("FailedScheduling")

    def place(self) -> str | None:
        return self.state.holds("uid-p")


def claim(**fields: Any) -> PersistentVolumeClaim:
    return make.claim(namespace="ns", **fields)


def bound(version: str = "9", **notes: str) -> PersistentVolumeClaim:
    """The claim as the volume controller leaves it."""
    return claim(on="volume", version=version, phase="Bound", annotations=notes)


def tried(test: Callable[[Volumes], Awaitable[None]], *found: Any, **more: Any) -> None:
    """Run the test with a pod on its way that uses the claim `claim`."""

    async def run() -> None:
        world = Volumes(**more)
        stored(world.state, *found)
        world.queue.put(pending(gpu=1, claims=("claim",)))
        world.cycle.step()
        await test(world)
        await world.binder.abandon()

    asyncio.run(run())


def reference(uid: str = "uid-claim") -> Any:
    return make.reference(uid=uid, namespace="ns")


def test_a_volume_is_written_for_the_claim_before_the_pod_is_bound() -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        (sent,) = world.server.of_storage()
        assert sent[0] == VOLUME
        assert sent[1]["metadata"] == {"resourceVersion": "1", "annotations": {BOUND_BY_CONTROLLER: "yes"}}
        wanted = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "ns", "name": "claim"}
        assert sent[1]["spec"] == {"claimRef": {**wanted, "uid": "uid-claim", "resourceVersion": "1"}}
        assert world.bindings.sent == []

    tried(test, LOCAL, claim(), make.volume(zone="b"))


def test_the_pod_is_bound_once_the_watches_tell_that_its_claim_is() -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await world.tell(*world.server.written, bound())
        assert world.bindings.sent == [("p", "b")]
        assert world.recorder.notes("Scheduled") == ["Successfully assigned ns/p to b"]

    tried(test, LOCAL, claim(), make.volume(zone="b"))


def test_a_claim_is_sent_to_the_node_and_its_new_volume_waited_for() -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        notes = {SELECTED_NODE: "b"}
        assert world.server.of_storage() == [
            (CLAIM, {"metadata": {"resourceVersion": "1", "annotations": notes}}),
        ]
        await world.tell(bound(**notes))
        assert world.bindings.sent == []  # the volume itself is not told yet
        await world.tell(make.volume(claimed=reference(), zone="b", phase="Bound"))
        assert world.bindings.sent == [("p", "b")]

    tried(test, make.storage_class("fast", topologies=({ZONE: "b"},)), claim())


def test_a_volume_that_names_the_claim_by_hand_keeps_saying_so() -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert "annotations" not in world.server.of_storage()[0][1]["metadata"]

    tried(test, LOCAL, claim(), make.volume(claimed=reference("")))


def test_a_pod_whose_claims_are_bound_is_bound_at_once() -> None:
    async def test(world: Volumes) -> None:
        await world.settle()
        assert world.server.of_storage() == []
        assert len(world.bindings.sent) == 1

    tried(test, LOCAL, bound(), make.volume(phase="Bound"))


def test_what_is_on_its_way_is_taken_for_the_next_pod() -> None:
    async def test(world: Volumes) -> None:
        world.queue.put(pending("q", gpu=1, claims=("other",)))
        world.cycle.step()
        assert world.notes() == ["0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."]

    other = make.claim("other", namespace="ns")
    tried(test, LOCAL, claim(), other, make.volume())


def test_a_refused_write_gives_volume_and_place_back() -> None:
    async def test(world: Volumes) -> None:
        world.server.failures = [CONFLICT]
        await world.settle()
        assert world.notes() == [f"{FAILED}{CONFLICT.message}"]
        assert (world.place(), world.queue.counts()[Pool.ERROR_BACKOFF]) == (None, 1)
        assert [one.name for one in world.state.snapshot().storage.free["fast"]] == ["volume"]
        assert world.bindings.sent == []

    tried(test, LOCAL, claim(), make.volume())


def test_what_was_written_is_reckoned_with_after_a_failure() -> None:
    """The volume is the claim's by then: the next attempt builds on it, and nobody else takes it."""

    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        world.state.storage.remove_claim("ns/claim")
        await world.settle()
        said = 'binding volumes: failed to check binding: persistentvolumeclaim "claim" not found'
        assert world.notes() == [FAILED + said]
        assert world.state.snapshot().storage.free["fast"] == ()

    tried(test, LOCAL, claim(), make.volume())


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ((claim(version="9"),), 'selectedNode annotation reset for PVC "claim"'),
        ((claim(version="9", annotations={"x": "y"}),), 'provisioning failed for PVC "claim"'),
        ((claim(version="9", annotations={SELECTED_NODE: "a"}),), 'provisioning failed for PVC "claim"'),
        (
            (bound(**{SELECTED_NODE: "b"}), make.volume(zone="a")),
            'pv "volume" node affinity doesn\'t match node "b": no matching NodeSelectorTerms',
        ),
    ],
)
def test_a_claim_that_will_never_be_bound_there_fails_the_attempt(told: tuple[Any, ...], said: str) -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await world.tell(*told)
        assert world.notes() == [f"{FAILED}binding volumes: {said}"]
        assert world.place() is None

    tried(test, make.storage_class("fast", topologies=({ZONE: "b"},)), claim())


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ((make.volume(version="9"),), 'ClaimRef got reset for pv "volume"'),
        ((make.volume(version="9", claimed=reference("")),), 'ClaimRef got reset for pv "volume"'),
        (
            (make.volume(version="9", claimed=reference(), zone="c"),),
            'pv "volume" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
        ),
    ],
)
def test_a_volume_that_is_taken_away_fails_the_attempt(told: tuple[Any, ...], said: str) -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await world.tell(*told)
        assert world.notes() == [f"{FAILED}binding volumes: {said}"]

    tried(test, LOCAL, claim(), make.volume(zone="a"))


def test_older_news_than_the_own_write_is_waited_over() -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        stored(world.state, make.volume(labels={"x": "y"}))
        await asyncio.sleep(0)
        assert world.notes() == []

    tried(test, LOCAL, claim(), make.volume())


def test_waiting_ends_with_the_time_that_the_profile_gives() -> None:
    async def test(world: Volumes) -> None:
        await world.settle()
        assert world.notes() == [f"{FAILED}binding volumes: context deadline exceeded"]
        assert 1002 <= world.clock() < 1004
        assert (world.place(), world.queue.counts()[Pool.ERROR_BACKOFF]) == (None, 1)

    profile = registry.profile(args={"VolumeBinding": {"bindTimeoutSeconds": 2}})
    tried(test, LOCAL, claim(), make.volume(), profile=profile)


def test_a_deleted_pod_is_waited_for_no_longer_and_nothing_is_said() -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        world.feed.pod(Deleted(pod()))
        await world.settle()
        assert (len(world.binder), world.notes(), world.place()) == (0, [], None)
        assert sum(world.queue.counts().values()) == 0

    tried(test, LOCAL, claim(), make.volume())


def test_a_node_that_goes_fails_the_attempt() -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        world.state.remove_node("a")
        await world.settle()
        assert world.notes() == [f'{FAILED}binding volumes: failed to get node "a": node "a" not found']

    tried(test, LOCAL, claim(), make.volume(zone="a"))


def test_nothing_is_written_while_another_leads() -> None:
    async def test(world: Volumes) -> None:
        world.leading = False
        await world.settle()
        assert world.server.of_storage() == []
        assert world.place() is None

    tried(test, LOCAL, claim(), make.volume())


def test_pods_that_wait_for_volumes_leave_room_for_others() -> None:
    async def test(world: Volumes) -> None:
        world.queue.put(pending("q", gpu=1))
        await world.binder.room()
        assert world.cycle.step()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [name for name, _ in world.bindings.sent] == ["q"]

    tried(test, LOCAL, claim(), make.volume(), in_flight=1)


def test_at_the_end_of_a_term_nothing_waits_and_no_place_stays_taken() -> None:
    async def test(world: Volumes) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert await world.binder.drain(1)
        assert (len(world.binder), world.place()) == (0, None)

    tried(test, LOCAL, claim(), make.volume())


def test_two_pods_with_one_claim_send_it_once() -> None:
    """The second finds it sent, or meets a conflict that the first one's write explains."""

    async def test(world: Volumes) -> None:
        world.queue.put(pending("q", gpu=1, claims=("claim",)))
        world.cycle.step()
        world.server.failures = []
        await asyncio.sleep(0)
        first = world.server.written[0]
        world.server.failures = [CONFLICT] if len(world.server.written) == 1 else []
        await world.tell(first)
        world.server.failures = []
        notes = first.metadata.annotations
        await world.tell(bound(**{**notes, BIND_COMPLETED: "yes"}), make.volume(claimed=reference(), phase="Bound"))
        assert sorted(name for name, _ in world.bindings.sent) == ["p", "q"]
        assert world.notes() == []

    tried(test, MADE, claim())
