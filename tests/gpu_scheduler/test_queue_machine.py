"""The queue against a slow model: whatever happens in whatever order, no pod is lost and none is in two pools."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cluster_model.verdict import Event
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.queue import Pool, QueuedPod, SchedulingQueue
from tests.gpu_scheduler.build import Clock, pending

NAMES = st.sampled_from(["a", "b", "c", "d"])
EVENTS = st.sampled_from([Event.NODE_ADD, Event.NODE_LABEL, Event.ASSIGNED_POD_DELETE])


@dataclass
class Model:
    """One pod as the rules of the queue say it must be."""

    where: str  # ready, waiting, gated, flight, backoff, error
    since: float
    rejections: int = 0
    errors: int = 0
    cures: frozenset[Event] = frozenset()
    missed: set[Event] = field(default_factory=set)

    def backoff_ends(self) -> float:
        failures = self.errors or self.rejections
        return self.since + (min(10.0, 2.0 ** (failures - 1)) if failures else 0.0)

    def wake(self, now: float) -> None:
        self.where = "ready" if self.backoff_ends() <= now else "backoff"


POOLS = {
    "ready": Pool.ACTIVE,
    "waiting": Pool.UNSCHEDULABLE,
    "gated": Pool.GATED,
    "flight": Pool.IN_FLIGHT,
    "backoff": Pool.BACKOFF,
    "error": Pool.ERROR_BACKOFF,
}


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.queue = SchedulingQueue(Backoff(), self.clock)
        self.model: dict[str, Model] = {}
        self.flights: dict[str, QueuedPod] = {}

    @rule(name=NAMES, gated=st.booleans(), label=st.sampled_from(["", "x"]))
    def put(self, name: str, gated: bool, label: str) -> None:
        known = self.queue.get(f"uid-{name}")
        newer = pending(name, gates=["g"] if gated else [], labels={"l": label} if label else {})
        changed = known is not None and (known.pending.pod.spec, known.pending.pod.metadata.labels) != (
            newer.pod.spec,
            newer.pod.metadata.labels,
        )
        if known is not None and gated and not known.pending.pod.spec.scheduling_gates:
            return  # the API server lets nobody add a gate
        self.queue.put(newer)
        if known is None:
            self.model[name] = Model("gated" if gated else "ready", self.clock())
        elif changed:
            self.updated(self.model[name], gated)

    def updated(self, pod: Model, gated: bool) -> None:
        if pod.where == "gated" and not gated:
            pod.where = "ready"
        elif pod.where == "waiting":
            pod.wake(self.clock())
        elif pod.where == "flight":
            pod.missed.add(Event.POD_UPDATE)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.queue.remove(f"uid-{name}")
        self.model.pop(name, None)

    @rule()
    def pop(self) -> None:
        self.flush()
        queued = self.queue.pop()
        ready = {name for name, pod in self.model.items() if pod.where == "ready"}
        early = {name for name, pod in self.model.items() if pod.where == "backoff"}
        if queued is None:
            assert not ready
            assert not early
            return
        name = queued.pending.pod.metadata.name
        assert name in (ready or early)
        self.model[name].where = "flight"
        self.model[name].missed.clear()
        self.flights[name] = queued

    @precondition(lambda self: self.flights)
    @rule(data=st.data(), cures=st.frozensets(EVENTS))
    def reject(self, data: st.DataObject, cures: frozenset[Event]) -> None:
        name, queued = self.landed(data)
        self.queue.reject(queued, {"Plugin": cures})
        pod = self.model.get(name)
        if pod is None or self.queue.get(f"uid-{name}") is not queued:
            return
        pod.since, pod.errors, pod.rejections = self.clock(), 0, pod.rejections + 1
        pod.where, pod.cures = "waiting", cures
        if pod.missed & (cures | {Event.POD_UPDATE}):
            pod.wake(self.clock())

    @precondition(lambda self: self.flights)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        name, queued = self.landed(data)
        self.queue.fail(queued)
        pod = self.model.get(name)
        if pod is not None and self.queue.get(f"uid-{name}") is queued:
            pod.since, pod.errors, pod.where = self.clock(), pod.errors + 1, "error"

    def landed(self, data: st.DataObject) -> tuple[str, QueuedPod]:
        name = data.draw(st.sampled_from(sorted(self.flights)))
        return name, self.flights.pop(name)

    @rule(events=st.frozensets(EVENTS, min_size=1))
    def wake(self, events: frozenset[Event]) -> None:
        self.queue.wake(events)
        for pod in self.model.values():
            if pod.where == "waiting" and pod.cures & events:
                pod.wake(self.clock())
            elif pod.where == "flight":
                pod.missed |= events

    @rule(seconds=st.sampled_from([0.3, 1.0, 4.0, 11.0]))
    def move(self, seconds: float) -> None:
        self.clock.move(seconds)

    @rule()
    def a_leftover_is_tried_after_all(self) -> None:
        self.clock.move(331)
        for pod in self.model.values():
            if pod.where == "waiting":
                pod.where = "ready"
        self.pop()

    def flush(self) -> None:
        if any(pod.where == "waiting" and self.clock() - pod.since >= 300 for pod in self.model.values()):
            self.clock.move(30)  # leftovers are looked for every half minute: now it is surely time
        now = self.clock()
        for pod in self.model.values():
            backed_off = pod.where in ("backoff", "error") and pod.backoff_ends() <= now
            if backed_off or (pod.where == "waiting" and now - pod.since >= 300):
                pod.where = "ready"

    @invariant()
    def agrees_with_the_model(self) -> None:
        counts = self.queue.counts()
        for word, pool in POOLS.items():
            assert counts[pool] == sum(pod.where == word for pod in self.model.values()), word
        for name, pod in self.model.items():
            queued = self.queue.get(f"uid-{name}")
            assert queued is not None
            assert queued.pool is POOLS[pod.where]


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
