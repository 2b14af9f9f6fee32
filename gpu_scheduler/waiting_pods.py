"""Pods that have a node and wait for plugins to let them take it. Knows who waits for whom, decides nothing."""

import asyncio
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cluster_model.pod import PendingPod
from cluster_model.verdict import Event, Reason
from gpu_scheduler.kube_config import go_text

LONGEST_WAIT_SECONDS = 900.0  # kube-scheduler's
ANY_EVENT = frozenset(Event)


@dataclass(frozen=True, slots=True)
class Wait:
    """A plugin's answer that it will say later; not in time is a rejection, which these events could cure."""

    timeout_seconds: float
    cured_by: frozenset[Event] = ANY_EVENT

    def __post_init__(self) -> None:
        if not isinstance(self.timeout_seconds, int | float) or math.isnan(self.timeout_seconds):
            raise TypeError(f"timeout_seconds must be a number of seconds, not {self.timeout_seconds!r}")
        Reason("", self.cured_by)  # raises for what could cure nothing


class Rejected(Exception):
    """A plugin does not let the pod have its node; the reason is a verdict like that of a filter."""

    def __init__(self, plugin: str, reason: Reason) -> None:
        super().__init__(reason.text)
        self.plugin = plugin
        self.reason = reason


class Preempted(Exception):
    """The pod has to leave its place to a more important one, before it was bound: no verdict on the pod itself."""


class WaitingPod:
    """One pod, and the plugins that have not yet allowed it. Its first rejection, or the last permission, counts."""

    def __init__(self, pod: PendingPod, node: str, waits: Mapping[str, Wait]) -> None:
        self.pod = pod
        self.node = node
        loop = asyncio.get_running_loop()
        self._outcome: asyncio.Future[Exception | None] = loop.create_future()
        self._timers = {
            plugin: loop.call_later(_seconds(wait), self._time_out, plugin, wait) for plugin, wait in waits.items()
        }

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        """The plugins whose permission is missing."""
        return tuple(self._timers)

    def allow(self, plugin: str) -> None:
        """Give one plugin's permission; the last one lets the pod go on."""
        timer = self._timers.pop(plugin, None)
        if timer is not None:
            timer.cancel()
        if not self._timers:
            self._end(None)

    def reject(self, plugin: str, reason: Reason) -> bool:
        """Take the pod's node away; False where its wait is over already."""
        return self._end(Rejected(plugin, reason))

    def preempt(self, message: str) -> bool:
        """Take the pod's node away without a verdict: it is tried again after a while. False as for `reject`."""
        return self._end(Preempted(message))

    async def permission(self) -> None:
        """Wait until it is decided; raise Rejected or Preempted where the answer is no."""
        refused = await self._outcome
        if refused is not None:
            raise refused

    def close(self) -> None:
        """Take no answer any more: nobody waits for one."""
        self._end(None)

    def _time_out(self, plugin: str, wait: Wait) -> None:
        after = go_text.duration(round(_seconds(wait) * go_text.SECOND))
        self.reject(plugin, Reason(f"rejected due to timeout after waiting {after} at plugin {plugin}", wait.cured_by))

    def _end(self, outcome: Exception | None) -> bool:
        for timer in self._timers.values():
            timer.cancel()
        if self._outcome.done():
            return False
        self._outcome.set_result(outcome)
        return True


class WaitingPods:
    """All pods that wait, by UID."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(tuple(self._pods.values()))

    def get(self, uid: str) -> WaitingPod | None:
        """Return a pod that waits, None where that one does not."""
        return self._pods.get(uid)

    def add(self, pod: PendingPod, node: str, waits: Mapping[str, Wait]) -> WaitingPod:
        """Let a pod wait."""
        waiting = self._pods[pod.pod.metadata.uid] = WaitingPod(pod, node, waits)
        return waiting

    def drop(self, uid: str) -> None:
        """Forget a pod whose wait is over."""
        waiting = self._pods.pop(uid, None)
        if waiting is not None:
            waiting.close()

    def gone(self, uid: str) -> None:
        """End the wait of a pod that is not there any more, or soon will not be."""
        waiting = self._pods.get(uid)
        if waiting is not None:
            waiting.reject("", Reason("removed", frozenset()))


def _seconds(wait: Wait) -> float:
    return min(max(wait.timeout_seconds, 0.0), LONGEST_WAIT_SECONDS)
