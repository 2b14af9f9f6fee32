"""Which pod is tried next, which one waits, and for what. Pure bookkeeping: the clock is passed in, nothing is awaited.

The pools are kube-scheduler's: active, backoff (rejected, then woken too early), error backoff (a call or a plugin
failed), unschedulable (waits for an event that could cure its rejection) and gated (a plugin holds it).
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from cluster_model import pod_changes
from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.heaps import Heap, Key
from gpu_scheduler.news import Flights, News
from gpu_scheduler.queued_pod import (
    BACKING_OFF,
    NEVER,
    WAITING,
    Pool,
    PreEnqueue,
    QueuedPod,
    SortKey,
    priority_sort,
    scheduling_gates,
)
from gpu_scheduler.waiting_room import Hints, Only, WaitingRoom

LEFTOVER_SECONDS = 300.0  # a pod that waits is tried again after this long, whatever happened
SWEEP_SECONDS = 30.0  # how often leftovers are looked for

Incoming = Callable[[str, str], None]  # (queue, event): a pod entered that queue because of that event


class SchedulingQueue:
    """Pods without a node: each is in exactly one pool until it is bound or deleted."""

    def __init__(
        self,
        backoff: Backoff,
        now: Callable[[], float],
        incoming: Incoming = lambda _queue, _event: None,
        sort_key: SortKey = priority_sort,
        pre_enqueue: PreEnqueue = scheduling_gates,
    ) -> None:
        self._sort_key = sort_key
        self._pre_enqueue = pre_enqueue
        self._backoff = backoff
        self._now = now
        self._incoming = incoming
        self._pods: dict[str, QueuedPod] = {}
        self._active: Heap[QueuedPod] = Heap()
        self._backing_off: Heap[QueuedPod] = Heap()
        self._erring: Heap[QueuedPod] = Heap()
        self._heaps = {Pool.BACKOFF: self._backing_off, Pool.ERROR_BACKOFF: self._erring}
        self._room = WaitingRoom(Hints.none())
        self._flights = Flights()
        self._next_sweep = now() + SWEEP_SECONDS

    def heed(self, hints: Hints) -> None:
        """Ask these hints from now on, where else the events that a plugin's reasons name would all count."""
        waiting = tuple(self._room)
        self._room = WaitingRoom(hints)
        for queued in waiting:
            self._room.add(queued)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def get(self, uid: str) -> QueuedPod | None:
        """Give the pod's entry, None when the queue does not hold it."""
        return self._pods.get(uid)

    def counts(self) -> dict[Pool, int]:
        """Count the pods of each pool."""
        found = Counter(queued.pool for queued in self._pods.values())
        return {pool: found[pool] for pool in Pool if pool is not Pool.LEFT}

    def rejected_by(self) -> Counter[tuple[str, str]]:
        """Count the pods that are not being tried by the plugins that rejected or hold them, and their profile."""
        queued = [one for one in self._pods.values() if one.pool is not Pool.IN_FLIGHT]
        return Counter((name, one.profile) for one in queued for name in one.cures)

    def in_flight_events(self) -> Mapping[str, int]:
        """Count by event what is remembered for the pods in flight."""
        return self._flights.counts()

    def put(self, pending: PendingPod) -> tuple[Event, ...]:
        """Take in a pod without a node, or the newer form of one that is here; return what changed of that."""
        queued = self._pods.get(pending.pod.metadata.uid)
        if queued is None:
            queued = self._pods[pending.pod.metadata.uid] = QueuedPod(pending, self._now())
            self._activate(queued, "UnscheduledPodAdd")
            return ()
        return self._replace(queued, pending)

    def remove(self, uid: str) -> None:
        """Drop the pod for good: it was deleted, or it has a node. An attempt in flight then ends in nothing."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._flights.end(queued)
            self._leave(queued)

    def pop(self) -> QueuedPod | None:
        """Hand out the next pod to try; while nothing else is to do, also one whose backoff is not over."""
        self._flush()
        queued = self._active.pop() or self._early()
        if queued is None:
            return None
        queued.pool = Pool.IN_FLIGHT
        queued.attempts += 1
        self._flights.start(queued)
        return queued

    def decided(self, queued: QueuedPod) -> None:
        """Note that the pod has its node and is being bound: no event matters to it from here."""
        self._flights.end(queued)

    def reject(self, queued: QueuedPod, cures: Mapping[str, frozenset[Event]]) -> None:
        """Park a pod that fits nowhere until a cure comes; one that came during the attempt counts.

        `cures` are the plugins that rejected it, with the events that each says could cure that. Without any there was
        nothing to reject: the pod is tried again after a while, as if a call had failed.
        """
        if not cures:
            self.fail(queued)
            return
        missed, forced = tuple(self._flights.missed(queued)), self._flights.is_forced(queued)
        if not self._ended(queued, cures):
            return
        queued.rejections += 1
        queued.errors = 0
        if forced or any(self._room.cures(queued, news) for news in missed):
            self._retry(queued, "ScheduleAttemptFailure")
        else:
            self._park(queued, Pool.UNSCHEDULABLE, "ScheduleAttemptFailure")

    def fail(self, queued: QueuedPod) -> None:
        """Back off a pod whose attempt failed without a verdict."""
        if self._ended(queued, {}):
            queued.errors += 1
            self._retry(queued, "ScheduleAttemptFailure")

    def wake(self, events: Collection[Event], old: Any = None, new: Any = None, only: Only | None = None) -> int:
        """Move the pods which one of the events of a change could cure; give their number.

        A pod comes as PendingPod, a node as NodeRecord, all else as the API object. `only` lets some pods hear of it.
        """
        moved = 0
        if not len(self._room) and not len(self._flights):
            return moved
        for news in News.of(events, old, new):
            for queued in self._room.cured(news, only):
                self._leave(queued)
                self._retry(queued, news.event)
                moved += 1
            self._flights.note(news)
        return moved

    def activate(self, uid: str) -> None:
        """Try a pod again at once that waits for an event or for its backoff."""
        queued = self._pods.get(uid)
        if queued is None:
            return
        if queued.pool in WAITING:
            self._activate(queued, "ForceActivate")
        elif queued.pool in BACKING_OFF:
            self._enter(queued, Pool.ACTIVE, "ForceActivate")
        else:
            self._flights.force(queued)

    def wait_seconds(self) -> float:
        """Say how long nothing will be ready unless something comes in."""
        if self._active or self._backing_off:
            return 0.0
        next_error = self._erring.first_key()
        due = self._next_sweep if next_error is None else min(self._next_sweep, next_error[0] + 1)
        return max(0.0, due - self._now())

    def _replace(self, queued: QueuedPod, pending: PendingPod) -> tuple[Event, ...]:
        old, queued.pending = queued.pending, pending
        changes = pod_changes.changes(old, pending)
        if queued.pool in WAITING:
            self._reconsider(queued, News.of(changes, old, pending))
        elif queued in self._flights:
            for news in News.of(changes, old, pending):
                self._flights.note(news, queued)
        elif queued.pool is Pool.ACTIVE:
            self._active.push(queued, self._sort_key(queued))
        elif queued.pool in BACKING_OFF:
            self._heaps[queued.pool].push(queued, self._due(queued))
        return changes

    def _reconsider(self, queued: QueuedPod, updates: Iterable[News]) -> None:
        """Try a waiting pod again if its own update may help it."""
        self._room.discard(queued)
        self._room.add(queued)
        for news in updates:
            if self._room.cures(queued, news):
                self._retry(queued, news.event)
            if queued.pool not in WAITING:
                return

    def _ended(self, queued: QueuedPod, cures: Mapping[str, frozenset[Event]]) -> bool:
        """Close the attempt; False when the pod has left meanwhile."""
        self._flights.end(queued)
        if queued.pool is not Pool.IN_FLIGHT:
            return False
        queued.timestamp = self._now()
        queued.cures, queued.flushed, queued.flushed_at = cures, False, NEVER
        return True

    def _retry(self, queued: QueuedPod, event: str) -> None:
        """Try a pod again, not before its backoff is over."""
        if not self._is_backing_off(queued):
            self._activate(queued, event)
        elif not self._is_held(queued, event):
            self._enter(queued, Pool.BACKOFF if queued.cures else Pool.ERROR_BACKOFF, event)

    def _activate(self, queued: QueuedPod, event: str) -> None:
        if not self._is_held(queued, event):
            self._enter(queued, Pool.ACTIVE, event)

    def _is_held(self, queued: QueuedPod, event: str) -> bool:
        """Ask the plugins that may hold a pod out of the queues; one that does holds it here."""
        held = self._pre_enqueue(queued.pending)
        if held is None:
            return False
        queued.held, queued.flushed = held, False
        queued.cures = {**queued.cures, held.plugin: held.cured_by}
        self._park(queued, Pool.GATED, event)
        return True

    def _park(self, queued: QueuedPod, pool: Pool, event: str) -> None:
        stays = queued.pool in WAITING
        self._leave(queued, pool)
        self._room.add(queued)
        if not stays:
            self._incoming(Pool.UNSCHEDULABLE.value, event)

    def _enter(self, queued: QueuedPod, pool: Pool, event: str) -> None:
        self._leave(queued, pool)
        queued.held = None
        if pool is Pool.ACTIVE:
            if queued.first_active is None:
                queued.first_active = self._now()
            self._active.push(queued, self._sort_key(queued))
        else:
            self._heaps[pool].push(queued, self._due(queued))
        self._incoming("active" if pool is Pool.ACTIVE else "backoff", event)

    def _leave(self, queued: QueuedPod, to: Pool = Pool.LEFT) -> None:
        if queued.pool is Pool.ACTIVE:
            self._active.discard(queued)
        elif queued.pool in BACKING_OFF:
            self._heaps[queued.pool].discard(queued)
        elif queued.pool in WAITING:
            self._room.discard(queued)
        queued.pool = to

    def _due(self, queued: QueuedPod) -> Key:
        """Order by the second in which the backoff ends, then as the active queue does."""
        return (self._backoff_ends(queued), *self._sort_key(queued))

    def _backoff_ends(self, queued: QueuedPod) -> int:
        return math.floor(queued.timestamp + self._backoff.seconds(queued.failures))

    def _is_backing_off(self, queued: QueuedPod) -> bool:
        """A pod backs off until the second is over in which its backoff ends."""
        return queued.failures > 0 and self._backoff_ends(queued) >= math.floor(self._now())

    def _early(self) -> QueuedPod | None:
        """Take a woken pod before its backoff is over: nothing else is to do. A failed call always waits."""
        queued = self._backing_off.pop()
        if queued is not None:
            self._incoming("active", "PopFromBackoffQ")
        return queued

    def _flush(self) -> None:
        now = self._now()
        for heap in (self._backing_off, self._erring):
            while (key := heap.first_key()) is not None and key[0] < math.floor(now):
                queued = heap.pop()
                if queued is not None:
                    self._enter(queued, Pool.ACTIVE, "BackoffComplete")
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            self._sweep(now)

    def _sweep(self, now: float) -> None:
        """Try again what has waited too long since it was tried or swept; what is held is asked whether it still is."""
        for queued in self._room:
            if now - max(queued.timestamp, queued.flushed_at) > LEFTOVER_SECONDS:
                queued.flushed, queued.flushed_at = True, now
                self._leave(queued)
                self._retry(queued, "UnschedulableTimeout")
