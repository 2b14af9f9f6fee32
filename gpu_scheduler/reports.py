"""Tells users what became of a pod: events, and the PodScheduled condition of one without a node. Decides nothing."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from cluster_model import objects
from gpu_scheduler.queued_pod import QueuedPod, Said
from kube_client import conditions, event_bodies
from kube_client.client import Client
from kube_client.conditions import Reason
from kube_client.errors import ApiError
from kube_client.events import Recorder
from kube_client.logs import quoted

log = logging.getLogger(__name__)

PATCHES_IN_FLIGHT = 32


class Reports:
    """One recorder a profile, and at most one condition patch in flight a pod."""

    def __init__(self, client: Client, recorders: Mapping[str, Recorder], may_write: Callable[[], bool]) -> None:
        self._client = client
        self._recorders = recorders
        self._may_write = may_write
        self._patches: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(PATCHES_IN_FLIGHT)

    def bound(self, pod: objects.Pod, node: str) -> None:
        """Say that the pod has its node."""
        self._record(pod, event_bodies.scheduled(pod, node))

    def deleting(self, pod: objects.Pod) -> None:
        """Say that a pod on its way out is not scheduled any more."""
        meta = pod.metadata
        self._record(pod, event_bodies.failed_scheduling(f"skip schedule deleting pod: {meta.namespace}/{meta.name}"))

    def preempted(self, victim: objects.Pod, preemptor: objects.Pod, node: str, recalled: bool) -> None:
        """Say to a victim for whom it had to go; one that is recalled was not bound yet, and is tried again."""
        words = event_bodies.preempted(preemptor, node, recalled)
        self._recorders[preemptor.spec.scheduler_name].record(victim, words)

    def failed(self, queued: QueuedPod, reason: Reason, message: str, nominated: str | None = None) -> None:
        """Say why the pod has no node: an event each time, the condition where it is new.

        `nominated` is the node where room is made for it, empty where that is over; None leaves what it has.
        """
        pod = queued.pending.pod
        self._record(pod, event_bodies.failed_scheduling(message))
        said = Said(reason, message, nominated)
        if queued.said != said:
            queued.said = said
            self._start_patch(queued, said)

    async def expect(self, queued: QueuedPod, node: str) -> None:
        """Say on which node the pod will be, before a wait in which others may want to know: an autoscaler, say."""
        await self.settled(queued.uid)
        queued.said = None  # what is said next takes this back
        try:
            await conditions.nominate(self._client, queued.pending.pod, node)
        except ApiError as error:
            meta = queued.pending.pod.metadata
            log.warning("nomination not written pod=%s/%s error=%s", meta.namespace, meta.name, quoted(error))

    async def settled(self, uid: str) -> None:
        """Wait until no condition of the pod is on its way, which could overtake what happens next."""
        patch = self._patches.get(uid)
        if patch is not None:
            await asyncio.wait({patch})

    async def drain(self, timeout_seconds: float) -> None:
        """Let what is on its way arrive, at most so long."""
        events = (recorder.drain(timeout_seconds) for recorder in self._recorders.values())
        await asyncio.gather(*events, self._drain_patches(timeout_seconds))

    async def _drain_patches(self, timeout_seconds: float) -> None:
        if self._patches:
            await asyncio.wait(set(self._patches.values()), timeout=timeout_seconds)

    def _record(self, pod: objects.Pod, words: event_bodies.Words) -> None:
        self._recorders[pod.spec.scheduler_name].record(pod, words)

    def _start_patch(self, queued: QueuedPod, said: Said) -> None:
        uid = queued.uid
        before = self._patches.get(uid)
        task = asyncio.create_task(self._patch(queued, said, before))
        self._patches[uid] = task
        task.add_done_callback(lambda done: self._forget(uid, done))

    def _forget(self, uid: str, done: "asyncio.Task[None]") -> None:
        if self._patches.get(uid) is done:
            del self._patches[uid]

    async def _patch(self, queued: QueuedPod, said: Said, before: "asyncio.Task[None] | None") -> None:
        if before is not None:
            await asyncio.wait({before})
        if queued.said != said:
            return  # overtaken by newer words
        pod = queued.pending.pod
        try:
            async with self._slots:
                if not self._may_write():
                    queued.said = None  # what the leader after us says of the pod must stand
                    return
                await conditions.set_unscheduled(self._client, pod, said.reason, said.message, said.nominated)
        except ApiError as error:
            queued.said = None
            meta = pod.metadata
            log.warning("condition not written pod=%s/%s error=%s", meta.namespace, meta.name, quoted(error))
