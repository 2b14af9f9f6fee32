"""A slow plain twin of the queue: every event asks every pod, every rule of kube-scheduler's queue stands here once."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cluster_model.pod import PendingPod
from cluster_model.pod_changes import changes
from cluster_model.verdict import Event
from gpu_scheduler.queued_pod import Held
from scheduler_plugins.hints.interest import Hint, Interests, of_cures

Cures = dict[str, frozenset[Event]]


@dataclass
class Twin:
    """One pod."""

    pod: PendingPod
    since: float
    order: int
    where: str = ""
    rejections: int = 0
    errors: int = 0
    cures: Cures = field(default_factory=dict)
    held: Held | None = None
    flushed_at: float = -math.inf
    missed: list[tuple[Event, Any, Any]] = field(default_factory=list)
    forced: bool = False

    def ends(self) -> float:
        failures = self.errors or self.rejections
        return math.floor(self.since + min(10.0, 2.0 ** (failures - 1))) if failures else -math.inf

    def key(self) -> tuple[float, float]:
        return (-self.pod.pod.spec.priority, self.since)


@dataclass
class TwinQueue:
    """All pods, by UID."""

    now: Callable[[], float]
    known: dict[tuple[str, str], Interests]
    hold: Callable[[PendingPod], Held | None]
    pods: dict[str, Twin] = field(default_factory=dict)
    entered: list[tuple[str, str]] = field(default_factory=list)
    swept: float = 0.0
    came: int = 0

    def put(self, pod: PendingPod) -> None:
        found = self.pods.get(pod.pod.metadata.uid)
        if found is None:
            self.came += 1
            found = self.pods[pod.pod.metadata.uid] = Twin(pod, self.now(), self.came)
            self.to_active(found, "UnscheduledPodAdd")
            return
        old, found.pod = found.pod, pod
        for event in changes(old, pod):
            if found.where == "flight":
                found.missed.append((event, old, pod))
            elif found.where in ("waiting", "gated") and self.helps(found, event, old, pod):
                self.retry(found, event)
                if found.where not in ("waiting", "gated"):
                    return

    def event(self, event: Event, old: Any, new: Any, only: Callable[[Twin], bool]) -> int:
        moved = 0
        for found in list(self.pods.values()):
            waits = found.where in ("waiting", "gated") and only(found) and self.hears(found, event)
            if waits and self.helps(found, event, old, new):
                found.where = ""
                self.retry(found, event)
                moved += 1
            elif found.where == "flight":
                found.missed.append((event, old, new))
        return moved

    def hears(self, found: Twin, event: Event) -> bool:
        held = found.held
        return held is None or any(event in one.judges for one in self.interests(found, held.plugin, held.cured_by))

    def interests(self, found: Twin, plugin: str, cures: frozenset[Event]) -> Interests:
        return self.known.get((found.pod.pod.spec.scheduler_name, plugin), (of_cures(cures),))

    def helps(self, found: Twin, event: Event, old: Any, new: Any) -> bool:
        hints = [
            one.judges[event](found.pod, old, new)
            for plugin, cures in found.cures.items()
            for one in self.interests(found, plugin, cures)
            if event in one.judges
        ]
        return any(hint is not Hint.SKIP for hint in hints)

    def ended(self, found: Twin, cures: Cures) -> None:
        found.since, found.cures, found.flushed_at = self.now(), cures, -math.inf
        if cures:
            found.rejections, found.errors = found.rejections + 1, 0
        else:
            found.errors += 1
        worth = not cures or found.forced or any(self.helps(found, *one) for one in found.missed)
        if worth:
            self.retry(found, "ScheduleAttemptFailure")
        else:
            found.where = "waiting"
            self.entered.append(("unschedulable", "ScheduleAttemptFailure"))

    def activate(self, found: Twin) -> None:
        if found.where in ("waiting", "gated"):
            self.to_active(found, "ForceActivate")
        elif found.where in ("backoff", "error"):
            self.enter(found, "active", "ForceActivate")
        elif found.where == "flight":
            found.forced = True

    def retry(self, found: Twin, event: str) -> None:
        if found.ends() < math.floor(self.now()):
            self.to_active(found, event)
        elif not self.gate(found, event):
            self.enter(found, "backoff" if found.cures else "error", event)

    def to_active(self, found: Twin, event: str) -> None:
        if not self.gate(found, event):
            self.enter(found, "active", event)

    def gate(self, found: Twin, event: str) -> bool:
        held = self.hold(found.pod)
        if held is None:
            return False
        if found.where not in ("waiting", "gated"):
            self.entered.append(("unschedulable", event))
        found.where, found.held = "gated", held
        found.cures = {**found.cures, held.plugin: held.cured_by}
        return True

    def enter(self, found: Twin, where: str, event: str) -> None:
        found.where, found.held = where, None
        self.entered.append(("active" if where == "active" else "backoff", event))

    def flush(self) -> None:
        now = self.now()
        for found in self.pods.values():
            if found.where in ("backoff", "error") and found.ends() < math.floor(now):
                self.enter(found, "active", "BackoffComplete")
        if now < self.swept + 30:
            return
        self.swept = now
        for found in self.pods.values():
            if found.where in ("waiting", "gated") and now - max(found.since, found.flushed_at) > 300:
                found.flushed_at, found.where = now, ""
                self.retry(found, "UnschedulableTimeout")

    def pop(self) -> set[str]:
        """Return those that may be handed out: the first ones of the active pods, else of those that back off."""
        self.flush()
        active = [found for found in self.pods.values() if found.where == "active"]
        if active:
            return self.first(active, Twin.key)
        resting = [found for found in self.pods.values() if found.where == "backoff"]
        if resting:
            self.entered.append(("active", "PopFromBackoffQ"))
        return self.first(resting, lambda one: (one.ends(), *one.key()))

    def first(self, among: list[Twin], key: Callable[[Twin], tuple[float, ...]]) -> set[str]:
        least = min(map(key, among), default=())
        return {found.pod.pod.metadata.uid for found in among if key(found) == least}
