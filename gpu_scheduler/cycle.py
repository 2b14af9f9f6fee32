"""The scheduling cycle: pop, snapshot, decide, assume, hand over to the binder. One pod at a time, no call awaited."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from gpu_scheduler.attempts import Attempt, Books
from gpu_scheduler.binder import Binder, unforeseen
from gpu_scheduler.framework import Framework
from gpu_scheduler.queued_pod import QueuedPod
from gpu_scheduler.waiting_pods import Rejected
from kube_client.logs import quoted
from scheduler_plugins import explain
from scheduler_plugins.framework import Decision, PluginError

log = logging.getLogger(__name__)

FENCED_SECONDS = 0.1  # how soon it is looked again whether we may decide


class Cycle:
    """Decides for the pods of the queue while `run` runs; `news` wakes it when there is nothing to do."""

    def __init__(
        self,
        books: Books,
        frameworks: Mapping[str, Framework],
        binder: Binder,
        now: Callable[[], float],
        news: asyncio.Event,
    ) -> None:
        self._books = books
        self._frameworks = frameworks
        self._binder = binder
        self._now = now
        self._news = news

    async def run(self, may_write: Callable[[], bool]) -> None:
        """Decide until cancelled; I/O gets its turn after each pod."""
        while True:
            await self._binder.room()
            if not may_write():
                await asyncio.sleep(FENCED_SECONDS)
            elif self.step():
                await asyncio.sleep(0)
            else:
                await self._idle()

    def step(self) -> bool:
        """Try the next pod; False when there is none."""
        queued = self._books.queue.pop()
        if queued is None:
            return False
        if queued.pending.pod.metadata.deletion_timestamp:
            self._books.reports.deleting(queued.pending.pod)
            self._books.queue.remove(queued.uid)
            return True
        started, framework = self._now(), self._frameworks[queued.pending.pod.spec.scheduler_name]
        try:
            decision = framework.decide(queued.pending, self._books.state)
            self._settle(queued, decision, framework, started)
        except PluginError as failed:
            self._failed(queued, failed, started)
        except Exception as bug:  # noqa: BLE001 - the outermost frame of a pod's attempt: one pod fails, not the process
            self._broken(queued, bug, started)
        return True

    def _settle(self, queued: QueuedPod, decision: Decision, framework: Framework, started: float) -> None:
        seconds = self._now() - started
        self._books.metrics.decided(seconds)
        node = decision.node
        if node is None:
            self._reject(queued, decision, framework, started)
            return
        if not self._take(Attempt(queued, node, started, framework.place(queued.pending, node)), decision):
            return
        meta = queued.pending.pod.metadata
        log.info(
            "pod assigned pod=%s/%s node=%s nodes=%d feasible=%d score=%d attempt=%d ms=%.3f",
            meta.namespace,
            meta.name,
            node,
            len(decision.snapshot),
            len(decision.rows),
            decision.total[decision.best],
            queued.attempts,
            seconds * 1000,
        )

    def _take(self, attempt: Attempt, decision: Decision) -> bool:
        """Take the place; False where a plugin does not let the pod have it."""
        placement = attempt.placement
        try:
            placement.reserve(decision.snapshot)
            self._books.state.assume(placement.pod, placement.node)
            waits = placement.permit()
            if waits:
                waiting = self._books.waiting.add(placement.pod, placement.node, waits)
                attempt = replace(attempt, waiting=waiting)
            self._binder.start(attempt)
        except Rejected as no:
            self._binder.rejected(attempt, no)
            return False
        except BaseException:
            self._binder.release(attempt)
            raise
        return True

    def _reject(self, queued: QueuedPod, decision: Decision, framework: Framework, started: float) -> None:
        found = framework.post_filter(decision, self._books.state)
        sentence = f"{explain.sentence(decision)} {found.message}".rstrip()
        seconds = self._now() - started
        self._books.queue.reject(queued, decision.cures)
        nominated = found.nominated or ("" if found.clears else None)
        self._books.reports.failed(queued, "Unschedulable", sentence, nominated)
        meta = queued.pending.pod.metadata
        self._books.metrics.ended("unschedulable", queued.pending.pod.spec.scheduler_name, seconds)
        log.info(
            "pod unschedulable pod=%s/%s nodes=%d attempt=%d ms=%.3f message=%s",
            meta.namespace,
            meta.name,
            len(decision.snapshot),
            queued.attempts,
            seconds * 1000,
            quoted(sentence),
        )

    def _failed(self, queued: QueuedPod, failed: PluginError, started: float) -> None:
        """No verdict, so not unschedulable: the pod is tried again after a while, as if a call had failed."""
        meta = queued.pending.pod.metadata
        log.warning(
            "attempt failed pod=%s/%s attempt=%d error=%s",
            meta.namespace,
            meta.name,
            queued.attempts,
            quoted(failed),
            exc_info=unforeseen(failed),
        )
        self._no_verdict(queued, str(failed), started)

    def _broken(self, queued: QueuedPod, bug: Exception, started: float) -> None:
        meta = queued.pending.pod.metadata
        log.exception("attempt broke pod=%s/%s attempt=%d", meta.namespace, meta.name, queued.attempts)
        self._no_verdict(queued, f"{type(bug).__name__}: {bug}", started)

    def _no_verdict(self, queued: QueuedPod, message: str, started: float) -> None:
        profile = queued.pending.pod.spec.scheduler_name
        self._books.metrics.ended("error", profile, self._now() - started)
        self._books.queue.fail(queued)
        waited = self._books.state.nominations.take_back(queued.pending.pod)
        self._books.reports.failed(queued, "SchedulerError", message, "" if waited else None)

    async def _idle(self) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(self._books.queue.wait_seconds()):
                await self._news.wait()
        except TimeoutError:
            return
