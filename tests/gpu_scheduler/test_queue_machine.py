"""The queue against its slow plain twin: whatever happens in whatever order, both hold each pod in the same pool."""

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.queued_pod import Held, Pool, QueuedPod, scheduling_gates
from gpu_scheduler.waiting_room import Hints
from scheduler_plugins.hints.interest import Hint, Interest, Interests, always, never
from tests.gpu_scheduler.build import SCHEDULER, Clock, pending
from tests.gpu_scheduler.queue_twin import Cures, TwinQueue

NAMES = st.sampled_from(["a", "b", "c", "d"])
EVENTS = (Event.NODE_ADD, Event.NODE_LABEL, Event.ASSIGNED_POD_DELETE)
CURES = st.frozensets(st.sampled_from([*EVENTS, Event.POD_LABEL, Event.POD_UPDATE]))
LABELS = st.sampled_from(["", "x", "y"])
REJECTORS = st.sampled_from(["Labelled", "Own", "Unheard of"])
POOLS = {
    "active": Pool.ACTIVE,
    "waiting": Pool.UNSCHEDULABLE,
    "gated": Pool.GATED,
    "flight": Pool.IN_FLIGHT,
    "backoff": Pool.BACKOFF,
    "error": Pool.ERROR_BACKOFF,
}


def label(pod: PendingPod) -> str:
    return pod.pod.metadata.labels.get("l", "")


def wants(pod: PendingPod, old: str | None, new: str | None) -> Hint:
    """A hint by what the object says: the pod's label queues it, "?" cannot be judged."""
    said = new if old is None else old
    return Hint.ERROR if said == "?" else Hint.QUEUE if said == label(pod) else Hint.SKIP


KNOWN: dict[tuple[str, str], Interests] = {
    (SCHEDULER, "Labelled"): (
        Interest({Event.NODE_ADD: wants, Event.ASSIGNED_POD_DELETE: wants}, label),
        Interest({Event.NODE_LABEL: always}),
    ),
    (SCHEDULER, "Own"): (Interest({Event.POD_LABEL: always, Event.NODE_ADD: never}),),
    (SCHEDULER, "SchedulingGates"): (Interest({Event.POD_GATES: always}),),
    (SCHEDULER, "Quota"): (Interest({Event.NODE_LABEL: always}),),
}


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.over_quota: set[str] = set()
        self.entered: list[tuple[str, str]] = []
        self.queue = SchedulingQueue(
            Backoff(), self.clock, lambda *entered: self.entered.append(entered), pre_enqueue=self.hold
        )
        self.queue.heed(Hints(KNOWN, self.clock, lambda *_: None))
        self.twin = TwinQueue(self.clock, KNOWN, self.hold, swept=self.clock())
        self.flights: dict[str, QueuedPod] = {}

    def hold(self, pod: PendingPod) -> Held | None:
        over = Held("Quota", "no quota left") if pod.pod.metadata.name in self.over_quota else None
        return scheduling_gates(pod) or over

    @rule(name=NAMES, gated=st.booleans(), label=LABELS, priority=st.sampled_from([0, 5]))
    def put(self, name: str, gated: bool, label: str, priority: int) -> None:
        known = self.queue.get(f"uid-{name}")
        if known is not None:  # the API server lets nobody add a gate or change the priority
            gated &= bool(known.pending.pod.spec.scheduling_gates)
            priority = known.pending.pod.spec.priority
        newer = pending(name, gates=["g"] if gated else [], labels={"l": label} if label else {}, priority=priority)
        self.queue.put(newer)
        self.twin.put(newer)

    @rule(name=NAMES)
    def toggle_quota(self, name: str) -> None:
        self.over_quota ^= {name}

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.queue.remove(f"uid-{name}")
        self.twin.pods.pop(f"uid-{name}", None)

    @rule(name=NAMES)
    def activate(self, name: str) -> None:
        self.queue.activate(f"uid-{name}")
        found = self.twin.pods.get(f"uid-{name}")
        if found is not None:
            self.twin.activate(found)

    @rule()
    def pop(self) -> None:
        queued, candidates = self.queue.pop(), self.twin.pop()
        assert (queued is None) == (not candidates)
        if queued is None:
            return
        assert queued.uid in candidates
        found = self.twin.pods[queued.uid]
        found.where, found.missed, found.forced = "flight", [], False
        self.flights[queued.uid] = queued

    @precondition(lambda self: self.flights)
    @rule(data=st.data(), cures=st.dictionaries(REJECTORS, CURES))
    def end(self, data: st.DataObject, cures: Cures) -> None:
        uid, queued = self.landed(data)
        self.queue.reject(queued, cures)
        if self.queue.get(uid) is queued:
            self.twin.ended(self.twin.pods[uid], cures)

    @precondition(lambda self: self.flights)
    @rule(data=st.data())
    def fail_to_bind(self, data: st.DataObject) -> None:
        uid, queued = self.landed(data)
        self.queue.decided(queued)
        self.queue.fail(queued)
        if self.queue.get(uid) is queued:
            self.twin.ended(self.twin.pods[uid], {})

    def landed(self, data: st.DataObject) -> tuple[str, QueuedPod]:
        uid = data.draw(st.sampled_from(sorted(self.flights)))
        return uid, self.flights.pop(uid)

    @rule(event=st.sampled_from(EVENTS), said=st.sampled_from(["x", "y", "?", ""]), only=st.sampled_from([-1, 0, 5]))
    def wake(self, event: Event, said: str, only: int) -> None:
        old: Any = None if event is Event.NODE_ADD else said
        new: Any = None if event is Event.ASSIGNED_POD_DELETE else said
        moved = self.queue.wake({event}, old, new, lambda queued: queued.pending.pod.spec.priority > only)
        assert moved == self.twin.event(event, old, new, lambda found: found.pod.pod.spec.priority > only)

    @rule(seconds=st.sampled_from([0.3, 0.7, 1.0, 4.0, 11.0, 29.0, 331.0]))
    def move(self, seconds: float) -> None:
        self.clock.move(seconds)

    @invariant()
    def each_pod_is_where_the_twin_has_it(self) -> None:
        counts = self.queue.counts()
        for word, pool in POOLS.items():
            assert counts[pool] == sum(found.where == word for found in self.twin.pods.values()), word
        for uid, found in self.twin.pods.items():
            queued = self.queue.get(uid)
            assert queued is not None
            assert (queued.pool, queued.cures, queued.held) == (POOLS[found.where], found.cures, found.held)

    @invariant()
    def pods_entered_the_same_queues_for_the_same_reasons(self) -> None:
        assert Counter(self.entered) == Counter(self.twin.entered)

    @invariant()
    def nothing_is_remembered_once_nobody_is_in_flight(self) -> None:
        if not any(found.where == "flight" for found in self.twin.pods.values()):
            assert self.queue.in_flight_events() == {"PodPopped": 0}


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=300, stateful_step_count=50, deadline=None)
