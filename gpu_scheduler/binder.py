"""Carries decisions to the API server, many at a time. A pod's place stays taken until it is certain what became of it.

The place is given back only when the binding is known not to exist. While the server cannot say, the same binding is
sent again to the same node: it succeeds at most once, and nothing else is put on that place meanwhile.
"""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cluster_model.state import ClusterState
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.metrics import Metrics
from gpu_scheduler.preemptor import Preemptor
from gpu_scheduler.queue import Pool, QueuedPod, SchedulingQueue
from gpu_scheduler.reports import Reports
from gpu_scheduler.volume_binder import NotBound, Reservation, VolumeBinder
from kube_client.binding import AlreadyBound, Bound, Failed, Gone, Outcome
from kube_client.errors import ApiError
from kube_client.logs import quoted

log = logging.getLogger(__name__)

# Each needs a connection of its own, whose handshake costs both sides as much as several bindings. This many carry
# 600 pods a second at a tenth of a second per answer.
IN_FLIGHT = 64

Bind = Callable[[QueuedPod, str], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A decision on its way."""

    queued: QueuedPod
    node: str
    started: float
    volumes: Reservation | None = None  # to be bound first

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
    volumes: VolumeBinder
    preemptor: Preemptor


@dataclass(frozen=True, slots=True)
class Rules:
    """When a binding may be sent, how failures are waited out, and how many may be in flight."""

    may_write: Callable[[], bool]
    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    backoff: Backoff = field(default_factory=Backoff)
    in_flight: int = IN_FLIGHT


class Binder:
    """Binds in the background; `news` is set when one has ended."""

    def __init__(self, bind: Bind, books: Books, rules: Rules, news: asyncio.Event) -> None:
        self._bind = bind
        self._books = books
        self._rules = rules
        self._news = news
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Task[None]] = set()  # for volumes, which may take long: they are not in flight
        self._room = asyncio.Event()
        self._room.set()
        self._bug: BaseException | None = None

    def __len__(self) -> int:
        return len(self._tasks) + len(self._waiting)

    def start(self, attempt: Attempt) -> None:
        """Send the binding of an assumed pod; returns at once."""
        if attempt.volumes is None:
            self._take_off(asyncio.create_task(self._carry(attempt)))
        else:
            task = asyncio.create_task(self._carry_volumes(attempt, attempt.volumes))
            self._waiting.add(task)
            task.add_done_callback(self._ended)

    async def room(self) -> None:
        """Wait until another binding may be in flight; raise what a binding before died of, which is a bug."""
        if not self._room.is_set():
            await self._room.wait()
        if self._bug is not None:
            raise self._bug

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait for the bindings in flight, at most so long; tell whether all have ended. Nothing waits for volumes."""
        await _cancel(self._waiting)
        if not self._tasks:
            return True
        _, left = await asyncio.wait(self._tasks, timeout=timeout_seconds)
        return not left

    async def abandon(self) -> None:
        """Stop waiting for answers that have not come."""
        await _cancel(self._tasks | self._waiting)

    def _take_off(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        if len(self._tasks) >= self._rules.in_flight:
            self._room.clear()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._waiting.discard(task)
        self._room.set()
        self._news.set()
        if not task.cancelled() and task.exception() is not None:
            self._bug = task.exception()

    async def _carry_volumes(self, attempt: Attempt, volumes: Reservation) -> None:
        """Bind the pod's volumes, then the pod. Until they are bound, nothing of the pod itself is in doubt."""
        bound = False
        try:
            await self._books.volumes.bind(volumes, lambda: attempt.queued.pool is not Pool.LEFT)
            bound = True
        except NotBound as failure:
            self._not_bound(attempt, failure)
        finally:
            if not bound:
                self._give_back(attempt)
        if bound:
            self._take_off(asyncio.create_task(self._carry(attempt)))

    async def _carry(self, attempt: Attempt) -> None:
        await self._books.reports.settled(attempt.queued.uid)
        if not self._rules.may_write() or self._books.state.node(attempt.node) is None:
            self._give_back(attempt)
            return
        for failures in itertools.count(1):
            outcome = await self._bind(attempt.queued, attempt.node)
            if not isinstance(outcome, Failed) or outcome.certain:
                self._finish(attempt, outcome)
                return
            self._failed(attempt, outcome.error)
            if not await self._may_repeat(attempt, failures):
                return

    async def _may_repeat(self, attempt: Attempt, failures: int) -> bool:
        """Wait before the same binding is sent again; False when the watch has told what became of the pod."""
        while True:
            await self._rules.sleep(self._rules.backoff.seconds(failures))
            if attempt.queued.pool is Pool.LEFT:
                return False
            if self._rules.may_write():
                return True

    def _finish(self, attempt: Attempt, outcome: Outcome) -> None:
        match outcome:
            case Bound():
                self._bound(attempt)
            case AlreadyBound(node):
                log.warning("pod bound elsewhere pod=%s node=%s wanted=%s", attempt.name, node, attempt.node)
                self._drop(attempt)
            case Gone():
                log.info("pod gone before it was bound pod=%s wanted=%s", attempt.name, attempt.node)
                self._drop(attempt)
            case Failed(error):
                self._failed(attempt, error)
                self._give_back(attempt)

    def _bound(self, attempt: Attempt) -> None:
        queued, books, now = attempt.queued, self._books, self._rules.now()
        books.queue.remove(queued.uid)
        books.reports.bound(queued.pending.pod, attempt.node)
        books.metrics.ended("scheduled", attempt.profile, now - attempt.started)
        first = attempt.started if queued.first_active is None else queued.first_active
        books.metrics.bound(queued.attempts, now - first, queued.flushed)

    def _drop(self, attempt: Attempt) -> None:
        """The pod will never be bound by us: nothing of it stays."""
        self._books.queue.remove(attempt.queued.uid)
        self._release(attempt)

    def _give_back(self, attempt: Attempt) -> None:
        """The pod is certainly not bound: its place is free, and it is tried again after a while."""
        self._release(attempt)
        self._books.queue.fail(attempt.queued)

    def _release(self, attempt: Attempt) -> None:
        if attempt.volumes is not None:
            self._books.volumes.give_back(attempt.volumes)
        self._books.queue.wake(self._books.state.forget(attempt.queued.uid))

    def _failed(self, attempt: Attempt, error: ApiError) -> None:
        log.warning("binding failed pod=%s node=%s error=%s", attempt.name, attempt.node, quoted(error))
        self._say(attempt, f'running Bind plugin "DefaultBinder": {error.message or error.reason}')

    def _not_bound(self, attempt: Attempt, failure: NotBound) -> None:
        log.warning("volumes not bound pod=%s node=%s error=%s", attempt.name, attempt.node, quoted(failure))
        self._say(attempt, f'running PreBind plugin "VolumeBinding": {failure}')

    def _say(self, attempt: Attempt, message: str) -> None:
        self._books.metrics.ended("error", attempt.profile, self._rules.now() - attempt.started)
        if attempt.queued.pool is not Pool.LEFT:
            self._books.reports.failed(attempt.queued, "SchedulerError", message)


async def _cancel(tasks: "set[asyncio.Task[None]]") -> None:
    cancelled = list(tasks)
    for task in cancelled:
        task.cancel()
    await asyncio.gather(*cancelled, return_exceptions=True)
