"""Carries decisions to the API server, many at a time. A pod's place stays taken until it is certain what became of it.

The place is given back only when the binding is known not to exist. While the server cannot say, the same binding is
sent again to the same node: it succeeds at most once, and nothing else is put on that place meanwhile.
"""

import asyncio
import itertools
import logging

from gpu_scheduler.attempts import Attempt, Books, Rules
from gpu_scheduler.queued_pod import Pool
from gpu_scheduler.waiting_pods import Preempted, Rejected, WaitingPod
from kube_client.binding import AlreadyBound, Bound, Failed, Gone, Outcome
from kube_client.errors import ApiError
from kube_client.logs import quoted
from scheduler_plugins import explain, victims
from scheduler_plugins.framework import PluginError

log = logging.getLogger(__name__)

PREEMPTED = f"preempted by {victims.NAME}"


class Binder:
    """Binds in the background; `news` is set when one has ended."""

    def __init__(self, books: Books, rules: Rules, news: asyncio.Event) -> None:
        self._books = books
        self._rules = rules
        self._news = news
        self._tasks: set[asyncio.Task[None]] = set()
        # For permission or volumes, which may take long: they are not in flight.
        self._waiting: dict[asyncio.Task[None], str] = {}  # with the pod's UID
        self._recalled: set[str] = set()
        self._telling: set[asyncio.Task[None]] = set()  # plugins of pods that are bound
        self._room = asyncio.Event()
        self._room.set()
        self._bug: BaseException | None = None

    def __len__(self) -> int:
        return len(self._tasks) + len(self._waiting)

    def start(self, attempt: Attempt) -> None:
        """Send the binding of an assumed pod; returns at once."""
        if attempt.waiting is None:
            self._books.queue.decided(attempt.queued)
            if not attempt.placement.has_work():
                self._take_off(asyncio.create_task(self._carry(attempt)))
                return
        task = asyncio.create_task(self._prepare(attempt))
        self._waiting[task] = attempt.queued.uid
        task.add_done_callback(self._ended)

    def recall(self, uid: str) -> bool:
        """Take the place of a pod back for a more important one; False where it is being bound, or not ours."""
        task = next((task for task, waiting in self._waiting.items() if waiting == uid), None)
        if task is None:
            return False
        waiting = self._books.waiting.get(uid)
        if waiting is not None:
            return waiting.preempt("preempted")
        if not task.cancel():
            return False
        self._recalled.add(uid)
        return True

    def release(self, attempt: Attempt) -> None:
        """Undo what was done for a pod that certainly stays unbound: its place is free, which cures others, not it."""
        attempt.placement.unreserve()
        queued = attempt.queued
        gone = self._books.state.forget(queued.uid)
        self._books.queue.wake(gone, queued.pending.on(attempt.node), None, lambda other: other is not queued)

    def rejected(self, attempt: Attempt, no: Rejected) -> None:
        """Put a pod away that a plugin does not let have its node; what has happened while it waited still counts."""
        queued, books = attempt.queued, self._books
        left = queued.pool is Pool.LEFT
        books.queue.reject(queued, {no.plugin: no.reason.cured_by})
        self.release(attempt)
        seconds = self._rules.now() - attempt.started
        books.metrics.ended("unschedulable", attempt.profile, seconds)
        if left:
            return
        sentence = explain.counted(1, {no.reason.text: 1})
        books.reports.failed(queued, "Unschedulable", sentence, _no_nomination(attempt))
        log.info(
            "pod not permitted pod=%s node=%s plugin=%s attempt=%d ms=%.3f message=%s",
            attempt.name,
            attempt.node,
            quoted(no.plugin),
            queued.attempts,
            seconds * 1000,
            quoted(sentence),
        )

    async def room(self) -> None:
        """Wait until another binding may be in flight; raise what a binding before died of, which is a bug."""
        if not self._room.is_set():
            await self._room.wait()
        if self._bug is not None:
            raise self._bug

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait for the bindings in flight, at most so long; tell whether all have ended. Nobody else waits on."""
        await _cancel(set(self._waiting))
        ends = asyncio.get_running_loop().time() + timeout_seconds
        # A binding that ends may leave somebody to be told.
        while begun := self._tasks | self._telling:
            _, left = await asyncio.wait(begun, timeout=ends - asyncio.get_running_loop().time())
            if left:
                return False
        return True

    async def abandon(self) -> None:
        """Stop waiting for answers that have not come."""
        await _cancel({*self._tasks, *self._waiting, *self._telling})

    def _take_off(self, task: "asyncio.Task[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        if len(self._tasks) >= self._rules.in_flight:
            self._room.clear()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._waiting.pop(task, None)
        self._telling.discard(task)
        self._room.set()
        self._news.set()
        if not task.cancelled() and task.exception() is not None:
            self._bug = task.exception()

    async def _prepare(self, attempt: Attempt) -> None:
        """Wait for permission, then do what comes before the binding. Until then nothing of the pod is in doubt."""
        try:
            await self._expect(attempt)
            if attempt.waiting is not None:
                await self._permitted(attempt, attempt.waiting)
            await attempt.placement.pre_bind()
            if attempt.queued.uid in self._recalled:  # by a plugin that does not let itself be cancelled
                raise asyncio.CancelledError
        except Rejected as no:
            self.rejected(attempt, no)
        except PluginError as failure:
            self._plugin_failed(attempt, failure)
        except asyncio.CancelledError:
            if attempt.queued.uid not in self._recalled:
                self._give_back(attempt)
                raise
            self._plugin_failed(attempt, PluginError(f"{attempt.placement.doing}: {PREEMPTED}"))
        except BaseException:
            self._give_back(attempt)
            raise
        else:
            self._take_off(asyncio.create_task(self._carry(attempt)))
        finally:
            self._recalled.discard(attempt.queued.uid)
            self._books.waiting.drop(attempt.queued.uid)

    async def _expect(self, attempt: Attempt) -> None:
        if self._rules.may_write():
            attempt.placement.expected = True
            await self._books.reports.expect(attempt.queued, attempt.node)

    async def _permitted(self, attempt: Attempt, waiting: WaitingPod) -> None:
        try:
            await attempt.placement.permission(waiting)
        except Preempted as gone:
            raise PluginError(f"waiting on permit for pod: {gone}") from gone
        finally:
            self._books.waiting.drop(attempt.queued.uid)
        self._books.queue.decided(attempt.queued)
        attempt.placement.has_work()

    async def _carry(self, attempt: Attempt) -> None:
        await self._books.reports.settled(attempt.queued.uid)
        if not self._rules.may_write() or self._books.state.node(attempt.node) is None:
            self._give_back(attempt)
            return
        for failures in itertools.count(1):
            try:
                binder, outcome = await attempt.placement.bind()
            except PluginError as failure:
                self._plugin_failed(attempt, failure)
                return
            if not isinstance(outcome, Failed) or outcome.certain:
                self._finish(attempt, binder, outcome)
                return
            self._failed(attempt, binder, outcome.error)
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

    def _finish(self, attempt: Attempt, binder: str, outcome: Outcome) -> None:
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
                self._failed(attempt, binder, error)
                self._give_back(attempt)

    def _bound(self, attempt: Attempt) -> None:
        queued, books, now = attempt.queued, self._books, self._rules.now()
        books.queue.remove(queued.uid)
        books.reports.bound(queued.pending.pod, attempt.node)
        books.metrics.ended("scheduled", attempt.profile, now - attempt.started)
        first = attempt.started if queued.first_active is None else queued.first_active
        books.metrics.bound(queued.attempts, now - first, queued.flushed)
        if attempt.placement.is_followed:
            telling = asyncio.create_task(attempt.placement.post_bind())
            self._telling.add(telling)
            telling.add_done_callback(self._ended)

    def _drop(self, attempt: Attempt) -> None:
        """The pod will never be bound by us: nothing of it stays."""
        self._books.queue.remove(attempt.queued.uid)
        self.release(attempt)

    def _give_back(self, attempt: Attempt) -> None:
        """The pod is certainly not bound: its place is free, and it is tried again after a while."""
        self.release(attempt)
        self._books.queue.fail(attempt.queued)

    def _failed(self, attempt: Attempt, binder: str, error: ApiError) -> None:
        log.warning("binding failed pod=%s node=%s error=%s", attempt.name, attempt.node, quoted(error))
        self._say(attempt, f'running Bind plugin "{binder}": {error.message or error.reason}')

    def _plugin_failed(self, attempt: Attempt, failure: PluginError) -> None:
        log.warning(
            "plugin failed pod=%s node=%s error=%s",
            attempt.name,
            attempt.node,
            quoted(failure),
            exc_info=unforeseen(failure),
        )
        self._say(attempt, str(failure))
        self._give_back(attempt)

    def _say(self, attempt: Attempt, message: str) -> None:
        self._books.metrics.ended("error", attempt.profile, self._rules.now() - attempt.started)
        if attempt.queued.pool is not Pool.LEFT:
            self._books.reports.failed(attempt.queued, "SchedulerError", message, _no_nomination(attempt))


def _no_nomination(attempt: Attempt) -> str | None:
    """Take back that the pod waits for a node, if its status says so, or will once the watch has told."""
    told = attempt.queued.pending.pod.status.nominated_node_name
    return "" if told or attempt.placement.expected else None


def unforeseen(failure: PluginError) -> BaseException | None:
    """Return what a plugin raised without words for users, whose trace somebody will want to read."""
    cause = failure.__cause__
    return None if cause is None or isinstance(cause, PluginError | Preempted) else cause


async def _cancel(tasks: "set[asyncio.Task[None]]") -> None:
    cancelled = list(tasks)
    await asyncio.sleep(0)  # one that has not even begun could give nothing back
    for task in cancelled:
        task.cancel()
    await asyncio.gather(*cancelled, return_exceptions=True)
