"""One pod that waits for a node, with the history of its attempts, and what may keep it from being tried."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from gpu_scheduler.heaps import Key

EVERY_EVENT = frozenset(Event)
NEVER = float("-inf")


class Pool(StrEnum):
    """Where a pod is; the values are the labels of `scheduler_pending_pods`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    LEFT = "left"


WAITING = frozenset({Pool.UNSCHEDULABLE, Pool.GATED})
BACKING_OFF = frozenset({Pool.BACKOFF, Pool.ERROR_BACKOFF})


@dataclass(frozen=True, slots=True)
class Held:
    """What keeps a pod out of the queues: the plugin that says so, its words, and after which events to ask again."""

    plugin: str
    message: str
    cured_by: frozenset[Event] = EVERY_EVENT  # does not matter of a plugin that has hints of its own


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
    # Of the last verdict, and of a plugin that holds it: the plugins, with what each says could cure it.
    cures: Mapping[str, frozenset[Event]] = field(default_factory=dict)
    held: Held | None = None  # why it is gated
    flushed: bool = False  # it is tried again only because it had waited long
    flushed_at: float = NEVER
    said: Said | None = None  # the reports keep it

    @property
    def uid(self) -> str:
        return self.pending.pod.metadata.uid

    @property
    def profile(self) -> str:
        """The name of the scheduler that it asks for."""
        return self.pending.pod.spec.scheduler_name

    @property
    def failures(self) -> int:
        """The count its backoff grows with: errors in a row, else rejections."""
        return self.errors or self.rejections


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
