"""`Recorder`: writes events beside the work, never in its way. Full queue: the event is dropped and counted.

Equal events of one pod become a series, as kube-scheduler's do: the second one counts the first up, later ones are
counted here and written every half an hour, and at last when nothing has come for six minutes.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from kube_client import event_bodies
from kube_client.changes import KubeObject
from kube_client.client import Client, Options
from kube_client.errors import ApiError
from kube_client.event_bodies import POD, Kind, Occurrence, Reporter, Series, Words
from kube_client.timing import Backoff

log = logging.getLogger(__name__)

REPEATABLE = Options(repeatable=True)
DEFAULT_BACKOFF = Backoff(first_seconds=0.5, factor=2.0, longest_seconds=10.0, jitter=0.25)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a recorder holds and tries."""

    queue: int = 10_000
    # Few, so that a burst of events leaves the API server to the bindings: calls in flight share it evenly.
    workers: int = 4
    # They join in while the queue is crowded: events may come late, but a long burst should not end in dropped ones.
    helpers: int = 64
    series: int = 4_096
    tries: int = 12
    backoff: Backoff = DEFAULT_BACKOFF
    heartbeat: timedelta = timedelta(minutes=30)
    idle: timedelta = timedelta(minutes=6)


DEFAULT_LIMITS = Limits()


@dataclass(slots=True)
class Counts:
    """What became of the events; for metrics."""

    written: int = 0
    dropped: int = 0
    refused: int = 0


@dataclass(slots=True)
class _Run:
    """Equal events so far."""

    first: Occurrence
    series: Series
    written_count: int
    written_at: datetime


class Recorder:
    """Takes events at once and writes them in the background, while `run()` is running."""

    def __init__(self, client: Client, reporter: Reporter, limits: Limits = DEFAULT_LIMITS) -> None:
        self._client = client
        self._reporter = reporter
        self._limits = limits
        self._queue: asyncio.Queue[tuple[Occurrence, Series | None]] = asyncio.Queue(limits.queue)
        self._crowded = asyncio.Event()
        self._runs: OrderedDict[tuple[str, Words], _Run] = OrderedDict()
        self._last_name = 0
        self.counts = Counts()

    def record(self, pod: KubeObject, words: Words, kind: Kind = POD) -> None:
        """Note that something happened now to a pod, or to an object of another kind; never waits, never fails."""
        happened = self._happened(pod, words, kind)
        if not words.repeats:
            self._put(happened, None)
            return
        key = (pod.metadata.uid, words)
        run = self._runs.get(key)
        if run is None:
            self._begin(key, happened)
            self._put(happened, None)
            return
        run.series = Series(run.series.count + 1, happened.moment)
        if run.series.count == 2:
            self._write(run)

    async def run(self) -> None:
        """Write until cancelled; `drain` first if what is queued should still go out."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._limits.workers):
                group.create_task(self._work())
            for _ in range(self._limits.helpers):
                group.create_task(self._help())
            group.create_task(self._keep_series())

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait until everything queued is written, at most that long; tell whether it is."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._queue.join()
        except TimeoutError:
            return False
        return True

    def tend_series(self) -> None:
        """Write the series that are due and forget those that have ended."""
        now = self._client.timing.utc_now()
        for key, run in list(self._runs.items()):
            ended = now - run.series.last >= self._limits.idle
            due = ended or now - run.written_at >= self._limits.heartbeat
            if due and run.series.count > run.written_count:
                self._write(run)
            if ended:
                del self._runs[key]

    def _happened(self, pod: KubeObject, words: Words, kind: Kind) -> Occurrence:
        now = self._client.timing.utc_now()
        # A datetime has microseconds; the names of events within one are kept apart by counting.
        self._last_name = max(self._last_name + 1, int(now.timestamp() * 1_000_000) * 1_000)
        return Occurrence(pod, words, self._reporter, now, self._last_name, kind)

    def _begin(self, key: tuple[str, Words], happened: Occurrence) -> None:
        if len(self._runs) >= self._limits.series:
            self._runs.popitem(last=False)
        self._runs[key] = _Run(happened, Series(1, happened.moment), 1, happened.moment)

    def _write(self, run: _Run) -> None:
        run.written_count, run.written_at = run.series.count, run.series.last
        self._put(run.first, run.series)

    def _put(self, happened: Occurrence, series: Series | None) -> None:
        try:
            self._queue.put_nowait((happened, series))
        except asyncio.QueueFull:
            self.counts.dropped += 1
        if self._queue.qsize() >= self._limits.queue / 2:
            self._crowded.set()

    async def _work(self) -> None:
        while True:
            await self._deliver_next()

    async def _help(self) -> None:
        while True:
            await self._crowded.wait()
            # Well below the mark that woke us, or each further event would wake all helpers again.
            while self._queue.qsize() > self._limits.queue / 4:
                await self._deliver_next()
            self._crowded.clear()

    async def _deliver_next(self) -> None:
        happened, series = await self._queue.get()
        try:
            await self._deliver(happened, series)
        finally:
            self._queue.task_done()

    async def _keep_series(self) -> None:
        while True:
            await self._client.timing.sleep(60.0)
            self.tend_series()

    async def _deliver(self, happened: Occurrence, series: Series | None) -> None:
        for attempt in range(1, self._limits.tries + 1):
            try:
                await self._send(happened, series)
            except ApiError as error:
                if not error.is_transient or attempt == self._limits.tries:
                    self._refuse(happened, error)
                    return
                wait = self._limits.backoff.seconds(attempt, self._client.timing.random())
                await self._client.timing.sleep(max(wait, error.retry_after_seconds or 0.0))
            else:
                self.counts.written += 1
                return

    async def _send(self, happened: Occurrence, series: Series | None) -> None:
        if series is None:
            await self._create(happened, None)
            return
        # Not there: the first event is still on its way, or was kept for its hour and removed; then the series goes
        # on under the old name. There after all: the first event overtook us.
        if not await self._count_up(happened, series) and not await self._create(happened, series):
            await self._count_up(happened, series)

    async def _count_up(self, happened: Occurrence, series: Series) -> bool:
        path = f"{_path(happened)}/{event_bodies.name(happened)}"
        try:
            await self._client.patch(path, event_bodies.series_patch(series))
        except ApiError as error:
            if not error.is_not_found:
                raise
            return False
        return True

    async def _create(self, happened: Occurrence, series: Series | None) -> bool:
        try:
            # Repeatable, since the name is fixed: an event that was written after all answers 409.
            await self._client.request("POST", _path(happened), event_bodies.create_body(happened, series), REPEATABLE)
        except ApiError as error:
            if not error.is_conflict:
                raise
            return False
        return True

    def _refuse(self, happened: Occurrence, error: ApiError) -> None:
        self.counts.refused += 1
        meta = happened.pod.metadata
        log.warning(
            "event not written object=%s/%s reason=%s error=%s", meta.namespace, meta.name, happened.words.reason, error
        )


def _path(happened: Occurrence) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{happened.pod.metadata.namespace}/events"
