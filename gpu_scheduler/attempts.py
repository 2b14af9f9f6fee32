"""A decision on its way to the API server: what is known of it, where it is kept, and by which rules it is carried."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cluster_model.state import ClusterState
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.metrics import Metrics
from gpu_scheduler.placement import Placement
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.queued_pod import QueuedPod
from gpu_scheduler.reports import Reports
from gpu_scheduler.waiting_pods import WaitingPod, WaitingPods

# Each needs a connection of its own, whose handshake costs both sides as much as several bindings. This many carry
# 600 pods a second at a tenth of a second per answer.
IN_FLIGHT = 64


@dataclass(frozen=True, slots=True)
class Attempt:
    """A decision on its way."""

    queued: QueuedPod
    node: str
    started: float
    placement: Placement  # what the profile's plugins do with it
    waiting: WaitingPod | None = None  # for their permission

    @property
    def profile(self) -> str:
        return self.queued.pending.pod.spec.scheduler_name

    @property
    def name(self) -> str:
        meta = self.queued.pending.pod.metadata
        return f"{meta.namespace}/{meta.name}"


@dataclass(frozen=True, slots=True)
class Books:
    """Where an attempt is kept: the ledger, the queue, what users read, what is counted."""

    state: ClusterState
    queue: SchedulingQueue
    reports: Reports
    metrics: Metrics
    waiting: WaitingPods


@dataclass(frozen=True, slots=True)
class Rules:
    """When a binding may be sent, how failures are waited out, and how many may be in flight."""

    may_write: Callable[[], bool]
    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    backoff: Backoff = field(default_factory=Backoff)
    in_flight: int = IN_FLIGHT
