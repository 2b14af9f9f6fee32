"""What beside nodes and pods is followed reaches the state, and goes again."""

import asyncio
from typing import Any

import msgspec
import pytest

from cluster_model.label_selectors import EVERYTHING, Selector, exactly
from gpu_scheduler import surroundings
from gpu_scheduler.surroundings import COLLECTIONS
from kube_client.changes import Added, Deleted, Modified, Synced
from tests.gpu_scheduler.build import pod
from tests.gpu_scheduler.fakes import World

WEB = {"app": "web"}
BY_MAP, BY_SELECTOR = {"selector": WEB}, {"selector": {"matchLabels": WEB}}
OWNERS = {
    "services": ("v1", "Service", BY_MAP),
    "replicationcontrollers": ("v1", "ReplicationController", BY_MAP),
    "replicasets": ("apps/v1", "ReplicaSet", BY_SELECTOR),
    "statefulsets": ("apps/v1", "StatefulSet", BY_SELECTOR),
}


@pytest.fixture
def world() -> World:
    async def build() -> World:
        return World()

    return asyncio.run(build())


def told(world: World, name: str, *changes: Any) -> None:
    take = surroundings.carried(COLLECTIONS[name], world.state, world.teller)
    for change in changes:
        take(change)


def read(name: str, found: dict[str, Any], **metadata: Any) -> Any:
    meta = {"name": "own", "namespace": "ns", **metadata}
    return msgspec.convert({"metadata": meta, **found}, COLLECTIONS[name].resource.kind)


def selector(world: World, version: str, kind: str) -> Selector:
    reference = {"apiVersion": version, "kind": kind, "name": "own", "controller": True}
    owned = msgspec.to_builtins(pod(labels=WEB))
    owned["metadata"]["ownerReferences"] = [reference]
    return world.state.snapshot().owners.selector(msgspec.convert(owned, type(pod())))


@pytest.mark.parametrize("name", OWNERS)
def test_an_owner_selects_pods_until_it_goes(world: World, name: str) -> None:
    version, kind, spec = OWNERS[name]
    told(world, name, Added(read(name, {"spec": spec})), Synced())
    assert selector(world, version, kind) == Selector(exactly(WEB))
    told(world, name, Deleted(read(name, {"spec": spec})))
    assert selector(world, version, kind) == EVERYTHING


def test_a_namespaces_labels_are_those_told_last(world: World) -> None:
    first, then = read("namespaces", {}, labels={"team": "a"}), read("namespaces", {}, labels={"team": "b"})
    told(world, "namespaces", Added(first), Modified(then, first))
    assert world.state.snapshot().namespaces.labels_of("own") == {"team": "b"}
    told(world, "namespaces", Deleted(then))
    assert world.state.snapshot().namespaces.labels_of("own") == {}


def test_what_changes_no_selector_leaves_the_snapshot_as_it_is(world: World) -> None:
    """A controller's status changes all the time."""
    found = read("replicasets", {"spec": BY_SELECTOR})
    told(world, "replicasets", Added(found))
    before = world.state.snapshot()
    told(world, "replicasets", Modified(read("replicasets", {"spec": BY_SELECTOR}, resourceVersion="2"), found))
    assert world.state.snapshot() is before
