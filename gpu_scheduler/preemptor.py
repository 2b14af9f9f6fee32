"""Makes room for a pod that fits nowhere: says who has to go, ends them in the background, and holds the room for it.

The state and the queue know of it before the API server does, so that no attempt in between picks more victims.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.queued_pod import Held, PreEnqueue, QueuedPod
from gpu_scheduler.reports import Reports
from kube_client import conditions, evictions
from kube_client.client import Client
from kube_client.errors import ApiError
from kube_client.evictions import Fenced
from kube_client.logs import quoted
from scheduler_plugins import victims
from scheduler_plugins.framework import Decision
from scheduler_plugins.preemption import preempt
from scheduler_plugins.victims import Candidate

log = logging.getLogger(__name__)

UNDER_WAY = Held(victims.NAME, "waiting for the preemption for this pod to be finished")


@dataclass(frozen=True, slots=True)
class Calls:
    """What is asked of the API server, and before that of the binder."""

    evict: Callable[[objects.Pod, str], Awaitable[bool]]  # victim, scheduler's name; False: it was gone
    clear: Callable[[objects.Pod], Awaitable[bool]]  # a nomination
    recall: Callable[[str], bool]  # by UID, a pod that has its node and is not being bound yet; no call at all
    may_write: Callable[[], bool]  # whether nobody else can be deciding by now

    @classmethod
    def of(cls, client: Client, recall: Callable[[str], bool], may_write: Callable[[], bool]) -> "Calls":
        return cls(
            lambda victim, name: evictions.evict(client, victim, name, may_write),
            lambda pod: conditions.clear_nomination(client, pod),
            recall,
            may_write,
        )


@dataclass(frozen=True, slots=True)
class Room:
    """What preemption adds to the sentence about a pod, and where the pod waits now: "" nowhere, None as before."""

    suffix: str = ""
    nominated: str | None = None
    victims: int | None = None  # None: nobody looked


def holding(state: ClusterState, door: PreEnqueue) -> PreEnqueue:
    """Return what keeps pods out of the queue: what did before, and a preemption of their own that is under way."""

    def held(pending: PendingPod) -> Held | None:
        uid = pending.pod.metadata.uid
        if uid not in state.preempting:
            return None
        last = state.preempting[uid]
        victim = None if last is None else state.held(last)
        over = last is not None and (victim is None or bool(victim.pod.metadata.deletion_timestamp))
        return None if over else UNDER_WAY

    return lambda pending: door(pending) or held(pending)


class Preemptor:
    """Carries preemptions out, one task for each."""

    def __init__(
        self, calls: Calls, state: ClusterState, queue: SchedulingQueue, reports: Reports, news: asyncio.Event
    ) -> None:
        self._calls = calls
        self._news = news
        self._state = state
        self._queue = queue
        self._reports = reports
        self._tasks: set[asyncio.Task[None]] = set()
        self._recalled: set[str] = set()  # UIDs of victims whose end no watch will tell of
        self.results: Counter[str] = Counter()  # of what was carried out: success, error

    def __len__(self) -> int:
        return len(self._tasks)

    def make_room(self, queued: QueuedPod, decision: Decision) -> Room:
        """Look for room that can be made, and begin to make it. Nothing is said where the profile does not preempt."""
        if decision.profile.preemption is None or not len(decision.snapshot):
            return Room()
        found = preempt(decision, self._state, random.randrange)
        if found.chosen is not None:
            self._start(queued, found.chosen)
            return Room(f" {found.suffix}", found.chosen.node, len(found.chosen.victims))
        # The watch wakes those whom it helps that the pod waits for no node any more.
        over = found.clears and self._state.nominations.take_back(queued.pending.pod)
        return Room(f" {found.suffix}", "" if over else None, 0)

    async def drain(self, timeout_seconds: float) -> None:
        """Let what was begun end, at most so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_seconds)

    def _start(self, queued: QueuedPod, chosen: Candidate) -> None:
        going = [one.pod for one in chosen.victims if not one.pod.metadata.deletion_timestamp]
        weaker = [one.pod for one in self._state.nominations.on(chosen.node) if _outranks(queued, one.pod)]
        for pod in weaker:
            self._state.nominations.drop(pod.metadata.uid)
        self._state.nominations.set(queued.pending, chosen.node)
        self._state.evicting.update(victim.metadata.uid for victim in going)
        if going:
            self._state.preempting[queued.uid] = None
        task = asyncio.create_task(self._carry(queued, chosen.node, going, weaker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, queued: QueuedPod, node: str, going: list[objects.Pod], weaker: list[objects.Pod]) -> None:
        """End all victims, the last one only if the others could be: else no more than must be has to go.

        The pod is held meanwhile, until the last of them is on its way out: else it would look for more.
        """
        ended = False
        try:
            await asyncio.gather(*(self._clear(pod) for pod in weaker))
            ended = await self._end(queued, node, going)
        finally:
            self._close(queued, going, ended)

    async def _end(self, queued: QueuedPod, node: str, going: list[objects.Pod]) -> bool:
        ended = await asyncio.gather(*(self._evict(queued, node, one) for one in going[:-1]))
        if all(ended) and going:
            self._state.preempting[queued.uid] = going[-1].metadata.uid
            ended = await asyncio.gather(*(self._evict(queued, node, one) for one in going[-1:]))
        return all(ended)

    def _close(self, queued: QueuedPod, going: list[objects.Pod], ended: bool) -> None:
        """Hold the pod no more; where nothing will be told any more that lets it in, let it in."""
        self._state.preempting.pop(queued.uid, None)
        self.results["success" if ended else "error"] += 1
        uids = {victim.metadata.uid for victim in going}
        if not ended:
            self._state.evicting -= uids
        if not ended or (going and self._is_all_told(queued, going[-1].metadata.uid)):
            self._queue.activate(queued.uid)
            self._news.set()
        self._recalled -= uids

    def _is_all_told(self, queued: QueuedPod, last: str) -> bool:
        """Whether no watch will tell of the last victim's end: it was recalled, or went by itself before its turn."""
        gone = queued.held is not None and queued.held.plugin == victims.NAME and self._state.held(last) is None
        return gone or last in self._recalled

    async def _clear(self, pod: objects.Pod) -> None:
        if not self._calls.may_write():
            return
        try:
            await self._calls.clear(pod)
        except ApiError as error:
            meta = pod.metadata
            log.warning("nomination not cleared pod=%s/%s error=%s", meta.namespace, meta.name, quoted(error))

    async def _evict(self, queued: QueuedPod, node: str, victim: objects.Pod) -> bool:
        """End one victim; False where that failed. One that was gone already is no failure."""
        preemptor, meta = queued.pending.pod, victim.metadata
        recalled = self._calls.recall(meta.uid)
        if recalled:
            self._recalled.add(meta.uid)
        try:
            ended = recalled or await self._calls.evict(victim, preemptor.spec.scheduler_name)
        except (ApiError, Fenced) as error:
            log.warning("victim not evicted pod=%s/%s error=%s", meta.namespace, meta.name, quoted(error))
            return False
        if ended:
            self._reports.preempted(victim, preemptor, node, recalled)
            wanting = preemptor.metadata
            log.info(
                "pod preempted pod=%s/%s node=%s for=%s/%s",
                meta.namespace,
                meta.name,
                node,
                wanting.namespace,
                wanting.name,
            )
        return True


def _outranks(queued: QueuedPod, other: objects.Pod) -> bool:
    return other.spec.priority < queued.pending.pod.spec.priority
