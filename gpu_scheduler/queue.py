"""Which pod is tried next, which one waits, and for what. Pure bookkeeping: the clock is passed in, nothing is awaited.

The pools are kube-scheduler's: active, backoff (rejected, then woken too early), error backoff (a call or a plugin
failed), unschedulable (waits for an event that could cure its rejection) and gated (never tried before its gates go).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.heaps import Heap, Key

LEFTOVER_SECONDS = 300.0  # an unschedulable pod is tried again after this long, whatever happened
SWEEP_SECONDS = 30.0  # how often leftovers are looked for


class Pool(StrEnum):
    """Where a pod is; the values are the labels of `scheduler_pending_pods`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class Held:
    """What keeps a pod out of the queues: the plugin that says so, and its words."""

    plugin: str
    message: str


@dataclass(frozen=True, slots=True)
class Said:
    """What was last written into a pod's status about its wait."""

    reason: Literal["Unschedulable", "SchedulerError"]
    message: str
    nominated: str | None = None  # node; None: left as it was


@dataclass(slots=True, eq=False)
class QueuedPod:
    """A pod that waits for a node, with the history of its attempts. Only the queue writes to it, but for `said`."""

    pending: PendingPod
    timestamp: float  # when it came, or when its last attempt failed
    pool: Pool = Pool.LEFT
    attempts: int = 0
    rejections: int = 0
    errors: int = 0  # in a row
    first_active: float | None = None
    flushed: bool = False  # it is tried again only because it has waited long
    # Of the last verdict: the plugins, with what each says could cure it.
    cures: Mapping[str, frozenset[Event]] = field(default_factory=dict)
    missed: set[Event] = field(default_factory=set)  # events since it was popped
    held: Held | None = None  # why it is gated
    said: Said | None = None  # the reports keep it

    @property
    def uid(self) -> str:
        return self.pending.pod.metadata.uid

    @property
    def cured_by(self) -> frozenset[Event]:
        """All events that could cure the last verdict."""
        return frozenset(event for events in self.cures.values() for event in events)

    @property
    def failures(self) -> int:
        """The count its backoff grows with: errors in a row, else rejections."""
        return self.errors or self.rejections


Incoming = Callable[[str, str], None]  # (queue, event): a pod entered that queue because of that event


def _uncounted(_queue: str, _event: str) -> None:
    return None


SortKey = Callable[[QueuedPod], Key]  # the lowest key is tried first; it may change only where the pod does
PreEnqueue = Callable[[PendingPod], Held | None]  # asked before a pod enters active or backoff; None lets it in


def priority_sort(queued: QueuedPod) -> Key:
    """Higher priority first, then who waits longer."""
    return (-queued.pending.pod.spec.priority, queued.timestamp)


def scheduling_gates(pending: PendingPod) -> Held | None:
    """Hold a pod while it has gates."""
    gates = pending.pod.spec.scheduling_gates
    if not gates:
        return None
    return Held("SchedulingGates", f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")


class SchedulingQueue:
    """Pods without a node: each is in exactly one pool until it is bound or deleted."""

    def __init__(
        self,
        backoff: Backoff,
        now: Callable[[], float],
        incoming: Incoming = _uncounted,
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
        self._waiting: dict[Event, dict[QueuedPod, None]] = {event: {} for event in Event}
        self._deciding: dict[QueuedPod, None] = {}
        self._next_sweep = now() + SWEEP_SECONDS

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
        """Count the unschedulable pods by the plugins that rejected them and their scheduler's name."""
        waiting = [queued for queued in self._pods.values() if queued.pool is Pool.UNSCHEDULABLE]
        return Counter((name, q.pending.pod.spec.scheduler_name) for q in waiting for name in q.cures)

    def put(self, pending: PendingPod) -> None:
        """Take in a pod without a node, or the newer form of one that is here."""
        queued = self._pods.get(pending.pod.metadata.uid)
        if queued is None:
            self._admit(pending)
        else:
            self._replace(queued, pending)

    def remove(self, uid: str) -> None:
        """Drop the pod for good: it was deleted, or it has a node. An attempt in flight then ends in nothing."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._leave(queued)

    def pop(self) -> QueuedPod | None:
        """Hand out the next pod to try; while nothing else is to do, also one whose backoff is not over."""
        self._flush()
        queued = self._active.pop() or self._early()
        if queued is None:
            return None
        queued.pool = Pool.IN_FLIGHT
        queued.attempts += 1
        queued.missed.clear()
        self._deciding[queued] = None
        return queued

    def decided(self, queued: QueuedPod) -> None:
        """Note that the pod has its node and is being bound: no event matters to it from here."""
        self._deciding.pop(queued, None)

    def reject(self, queued: QueuedPod, cures: Mapping[str, frozenset[Event]]) -> None:
        """Park a pod that fits nowhere until a cure comes; one that came during the attempt counts.

        `cures` are the plugins that rejected it, with the events that each says could cure that. Without any there was
        nothing to reject: the pod is tried again after a while, as if a call had failed.
        """
        if not cures:
            self.fail(queued)
            return
        if not self._ended(queued):
            return
        queued.rejections += 1
        queued.errors = 0
        queued.cures = cures
        cure = next((one for one in sorted(queued.missed) if one in queued.cured_by or one is Event.POD_UPDATE), None)
        if cure is None:
            self._park(queued, "ScheduleAttemptFailure")
        else:
            self._retry(queued, cure)

    def fail(self, queued: QueuedPod) -> None:
        """Back off a pod whose attempt failed without a verdict."""
        if not self._ended(queued):
            return
        queued.errors += 1
        queued.cures = {}
        self._enter(queued, Pool.ERROR_BACKOFF, "ScheduleAttemptFailure")

    def wake(self, events: Iterable[Event]) -> int:
        """Move the pods which one of the events could cure; give their number."""
        moved = 0
        for event in events:
            for queued in list(self._waiting[event]):
                self._retry(queued, event)
                moved += 1
            for queued in self._deciding:
                queued.missed.add(event)
        return moved

    def activate(self, uid: str) -> None:
        """Try a pod again at once that waits for an event or for its backoff."""
        queued = self._pods.get(uid)
        if queued is not None and queued.pool in (Pool.UNSCHEDULABLE, Pool.BACKOFF):
            self._enter(queued, Pool.ACTIVE, "ForceActivate")

    def wait_seconds(self) -> float:
        """Say how long nothing will be ready unless something comes in."""
        if self._active or self._backing_off:
            return 0.0
        next_error = self._erring.first_key()
        due = self._next_sweep if next_error is None else min(self._next_sweep, next_error[0])
        return max(0.0, due - self._now())

    def _admit(self, pending: PendingPod) -> None:
        queued = QueuedPod(pending, self._now())
        self._pods[queued.uid] = queued
        self._enter(queued, Pool.ACTIVE, "UnscheduledPodAdd")

    def _replace(self, queued: QueuedPod, pending: PendingPod) -> None:
        changed = _asks_otherwise(queued.pending, pending)
        queued.pending = pending
        if not changed:
            return
        if queued.pool is Pool.GATED:
            self._enter(queued, Pool.ACTIVE, "TargetPodUpdatePodSchedulingGatesEliminated")
        elif queued.pool is Pool.UNSCHEDULABLE:
            self._retry(queued, Event.POD_UPDATE)
        elif queued.pool is Pool.ACTIVE:
            self._active.push(queued, self._sort_key(queued))
        elif queued in self._deciding:
            queued.missed.add(Event.POD_UPDATE)

    def _ended(self, queued: QueuedPod) -> bool:
        """Close the attempt; False when the pod has left meanwhile."""
        self._deciding.pop(queued, None)
        if queued.pool is not Pool.IN_FLIGHT:
            return False
        queued.timestamp = self._now()
        queued.flushed = False
        return True

    def _retry(self, queued: QueuedPod, event: str) -> None:
        over = queued.timestamp + self._backoff.seconds(queued.failures) <= self._now()
        self._enter(queued, Pool.ACTIVE if over else Pool.BACKOFF, event)

    def _park(self, queued: QueuedPod, event: str) -> None:
        queued.pool = Pool.UNSCHEDULABLE
        for cure in queued.cured_by:
            self._waiting[cure][queued] = None
        self._incoming(Pool.UNSCHEDULABLE.value, event)

    def _enter(self, queued: QueuedPod, pool: Pool, event: str) -> None:
        self._leave(queued)
        queued.held = self._pre_enqueue(queued.pending)
        if queued.held is not None:
            queued.pool = Pool.GATED
            queued.flushed = False
            return
        queued.pool = pool
        if pool is Pool.ACTIVE:
            if queued.first_active is None:
                queued.first_active = self._now()
            self._active.push(queued, self._sort_key(queued))
        else:
            heap = self._backing_off if pool is Pool.BACKOFF else self._erring
            expiry = queued.timestamp + self._backoff.seconds(queued.failures)
            heap.push(queued, (expiry, *self._sort_key(queued)))
        self._incoming("active" if pool is Pool.ACTIVE else "backoff", event)

    def _leave(self, queued: QueuedPod) -> None:
        self._active.discard(queued)
        self._backing_off.discard(queued)
        self._erring.discard(queued)
        self._deciding.pop(queued, None)
        for cure in queued.cured_by:
            self._waiting[cure].pop(queued, None)
        queued.pool = Pool.LEFT

    def _early(self) -> QueuedPod | None:
        """Take a woken pod before its backoff is over: nothing else is to do. A failed call always waits."""
        queued = self._backing_off.pop()
        if queued is not None:
            self._incoming("active", "PopFromBackoffQ")
        return queued

    def _flush(self) -> None:
        now = self._now()
        for heap in (self._backing_off, self._erring):
            while (key := heap.first_key()) is not None and key[0] <= now:
                queued = heap.pop()
                if queued is not None:
                    self._enter(queued, Pool.ACTIVE, "BackoffComplete")
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_SECONDS
            self._sweep(now - LEFTOVER_SECONDS)

    def _sweep(self, before: float) -> None:
        old = [q for q in self._pods.values() if q.pool is Pool.UNSCHEDULABLE and q.timestamp <= before]
        for queued in old:
            queued.flushed = True
            self._retry(queued, "UnschedulableTimeout")


def _asks_otherwise(old: PendingPod, new: PendingPod) -> bool:
    """Whether the update can matter to a verdict; our own condition patches must not."""
    return (
        old.pod.spec != new.pod.spec or old.pod.metadata.labels != new.pod.metadata.labels or old.request != new.request
    )
