"""Whatever happens to a cluster: a pod that waits and could be placed after it has been woken by it.

InterPodAffinity is left out: its hints are held to kube-scheduler's own, which pass over some changes.
"""

import logging
from random import Random
from typing import Any

import msgspec
import pytest

from cluster_model import objects
from cluster_model.capacity_type import ANNOTATION, Capacity
from cluster_model.storage_objects import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from gpu_scheduler import waiting_room
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.feed import Feed
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.queued_pod import Pool
from gpu_scheduler.surroundings import COLLECTIONS, carried
from gpu_scheduler.teller import Teller
from gpu_scheduler.waiting_room import Hints
from kube_client.changes import Added, Change, Deleted, Modified, Synced
from scheduler_plugins import inter_pod_affinity, node_less_pods, registry, spot_scheduler
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, PluginError
from tests import generate, generate_volumes
from tests.generate_source import Source
from tests.gpu_scheduler.build import SCHEDULER, Clock

PROFILE = registry.profile(filters=(*registry.FILTERS, spot_scheduler.NAME, node_less_pods.NAME))
KINDS: dict[type, str] = {
    PersistentVolume: "persistentvolumes",
    PersistentVolumeClaim: "persistentvolumeclaims",
    StorageClass: "storageclasses",
    CsiNode: "csinodes",
    CsiDriver: "csidrivers",
    CsiStorageCapacity: "csistoragecapacities",
    VolumeAttachment: "volumeattachments",
}
EVENTS = ("node", "node", "node", "node gone", "came", "left", "left", "changed", "own", "storage", "storage gone")
BATCH = 25
change = msgspec.structs.replace


class Life:
    """One pod in the queue of a random cluster, and what happens around it."""

    def __init__(self, seed: int) -> None:
        self.source = Source(Random(seed).choice)
        self.clock = Clock()
        self.state = generate.cluster(self.source)
        self.queue = SchedulingQueue(Backoff(), self.clock)
        hints = waiting_room.known({SCHEDULER: PROFILE}, self.state.selector_of)
        self.queue.heed(Hints(hints, self.clock, lambda *_: None))
        teller = Teller(self.queue, self.clock, lambda *_: None)
        self.feed = Feed(self.state, teller, [SCHEDULER], lambda _: None)
        self.feed.pod(Synced())
        self.take = {kind: carried(COLLECTIONS[name], self.state, teller) for kind, name in KINDS.items()}
        self.nodes = {name: record.node for name in self.state.snapshot().names if (record := self.state.node(name))}
        self.pods = {uid: held.pod.pod for uid, held in self.state.holdings().items()}
        self.stored: dict[Any, Any] = {}
        for _ in range(30):
            self._storage()
        self.feed.pod(Added(self._asking()))

    def decide(self) -> Decision | None:
        """What would become of the pod now; None where a plugin cannot say."""
        queued = self.queue.get("uid-pending")
        assert queued is not None
        try:
            return decide(queued.pending, self.state.snapshot(), PROFILE)
        except PluginError:
            return None

    def attempt(self) -> bool:
        """Try the pod as the cycle does; tell whether it waits again."""
        self.clock.move(60)
        queued = self.queue.pop()
        assert queued is not None
        decision = self.decide()
        if decision is None or decision.best is not None or inter_pod_affinity.NAME in decision.cures:
            return False
        self.queue.reject(queued, decision.cures)
        return True

    def waits(self) -> bool:
        return self.queue.counts()[Pool.UNSCHEDULABLE] == 1

    def happen(self) -> str:
        """Let something happen; say what."""
        event = self.source.of(EVENTS)
        steps = {"node": self._node, "node gone": self._node_gone, "came": self._came, "left": self._left}
        steps |= {"changed": self._changed, "own": self._own, "storage": self._storage, "storage gone": self._removed}
        steps[event]()
        return event

    def _asking(self) -> objects.Pod:
        made = generate.pod(self.source).pod
        demands = {ANNOTATION: self.source.of(list(Capacity))} if self.source.seldom(3) else {}
        meta = change(made.metadata, annotations={**made.metadata.annotations, **demands})
        return change(made, metadata=meta, spec=change(made.spec, scheduler_name=SCHEDULER))

    def _node(self) -> None:
        """Let a node come, or become another in one respect or in all."""
        name = self.source.of(generate.NODE_NAMES)
        new, old = generate.node(self.source, name), self.nodes.get(name)
        if old is not None and not self.source.seldom():
            part = self.source.of(("metadata", "spec", "status"))
            new = change(old, **{part: getattr(new, part)})
        self.nodes[name] = new
        self.feed.node(Added(new) if old is None else Modified(new, old))

    def _node_gone(self) -> None:
        if self.nodes:
            self.feed.node(Deleted(self.nodes.pop(self.source.of(tuple(self.nodes)))))

    def _came(self) -> None:
        if self.nodes:
            name = f"more-{len(self.pods)}-{self.clock()}"
            new = generate.pod(self.source, name, self.source.of(tuple(self.nodes))).pod
            self.pods[new.metadata.uid] = new
            self.feed.pod(Added(new))

    def _left(self) -> None:
        if self.pods:
            self.feed.pod(Deleted(self.pods.pop(self.source.of(tuple(self.pods)))))

    def _changed(self) -> None:
        """Let a pod be relabelled, resized or deleted with grace."""
        if self.pods:
            old, other = self.pods[self.source.of(tuple(self.pods))], generate.pod(self.source).pod
            going = change(old.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
            relabelled = change(old.metadata, labels=other.metadata.labels)
            (container, *_), (like, *_) = old.spec.containers, other.spec.containers
            resized = change(old.spec, containers=(change(container, resources=like.resources),))
            parts: tuple[dict[str, Any], ...] = ({"metadata": going}, {"metadata": relabelled}, {"spec": resized})
            new = self.pods[old.metadata.uid] = change(old, **self.source.of(parts))
            self.feed.pod(Modified(new, old))

    def _own(self) -> None:
        """Let the pod itself get other labels or more tolerations."""
        queued = self.queue.get("uid-pending")
        assert queued is not None
        old, other = queued.pending.pod, generate.pod(self.source).pod
        tolerant = change(old.spec, tolerations=old.spec.tolerations + other.spec.tolerations)
        relabelled = change(old.metadata, labels=other.metadata.labels)
        parts: tuple[dict[str, Any], ...] = ({"metadata": relabelled}, {"spec": tolerant})
        self.feed.pod(Modified(change(old, **self.source.of(parts)), old))

    def _storage(self) -> None:
        found = self.source.of(generate_volumes.storage(self.source, generate.NODE_NAMES))
        key = type(found), getattr(found, "key", found.metadata.name)
        told: Change[Any] = Modified(found, self.stored[key]) if key in self.stored else Added(found)
        self.stored[key] = found
        self.take[type(found)](told)

    def _removed(self) -> None:
        if self.stored:
            found = self.stored.pop(self.source.of(tuple(self.stored)))
            self.take[type(found)](Deleted(found))


def follow(seed: int) -> tuple[int, int]:
    """Follow one pod for a while; return how often it was woken, and how often that was worth it."""
    life = Life(seed)
    waits, woken, placed = life.attempt(), 0, 0
    while waits and life.clock() < 6000:
        event = life.happen()
        life.clock.move(60)
        decision = life.decide()
        fits = decision is not None and decision.best is not None
        if life.waits():
            assert not fits, f"seed {seed}: {event} lets the pod in, and it is not woken"
            continue
        woken, placed = woken + 1, placed + fits
        waits = not fits and life.attempt()
    return woken, placed


@pytest.mark.parametrize("batch", range(16))
def test_a_pod_that_could_be_placed_is_woken(batch: int) -> None:
    logging.getLogger("gpu_scheduler.feed").setLevel(logging.ERROR)
    found = [follow(seed) for seed in range(batch * BATCH, (batch + 1) * BATCH)]
    assert sum(woken for woken, _ in found) > 4 * BATCH
    assert any(placed for _, placed in found)
