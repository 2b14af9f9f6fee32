"""What users' plugins do with the queue: order it, and keep pods out. One that fails on a pod fails that pod's attempt.

The queue cannot fail, so such a pod is let in, and its next attempt ends with what was raised.
"""

import logging
from collections.abc import Mapping
from contextlib import nullcontext

from cluster_model.pod import PendingPod
from gpu_scheduler.hooks import QueueHooks
from gpu_scheduler.point_metrics import SAMPLED, Measures, ProfilePoints
from gpu_scheduler.queued_pod import Held, PreEnqueue, QueuedPod, SortKey, priority_sort, scheduling_gates
from kube_client.logs import quoted
from scheduler_plugins.framework import PluginError

log = logging.getLogger(__name__)

LAST = (float("inf"),)


class Entrance:
    """The points before the decision, of all profiles."""

    def __init__(self, hooks: Mapping[str, QueueHooks], measures: Measures) -> None:
        self._hooks = hooks
        self._draw = measures.draw
        self._points = {name: ProfilePoints(measures.metrics, name, measures.now) for name in hooks}
        self.faults: dict[str, PluginError] = {}  # by UID, until the next attempt

    def sort_key(self) -> SortKey:
        """Return what orders the queue: the one plugin that all profiles share, or priority."""
        sort = next((hooks.queue_sort for hooks in self._hooks.values()), None)
        if sort is None:
            return priority_sort
        run = sort.run

        def key(queued: QueuedPod) -> tuple[float, ...]:
            try:
                return run(queued.pending, queued.timestamp)
            except PluginError as failed:
                self._fault(queued.pending, failed)
                return LAST

        return key

    def pre_enqueue(self) -> PreEnqueue:
        """Return what keeps pods out of the queue: their gates, then the plugins."""
        if not any(hooks.pre_enqueues for hooks in self._hooks.values()):
            return scheduling_gates
        return lambda pending: scheduling_gates(pending) or self._held(pending)

    def check(self, uid: str) -> None:
        """Raise what a plugin raised of the pod since it was tried last."""
        fault = self.faults.pop(uid, None)
        if fault is not None:
            raise fault

    def gone(self, uid: str) -> None:
        """Forget a pod that is not there any more."""
        self.faults.pop(uid, None)

    def _held(self, pending: PendingPod) -> Held | None:
        """Ask the plugins in their order. What is timed ends in success whatever they say, as in kube-scheduler."""
        name = pending.pod.spec.scheduler_name
        if not self._hooks[name].pre_enqueues:
            return None
        points, sampled = self._points[name], self._draw() < SAMPLED
        with points.span("PreEnqueue"):
            for step in self._hooks[name].pre_enqueues:
                try:
                    with points.plugin(step.name, "PreEnqueue") if sampled else nullcontext():
                        reason = step.run(pending)
                except PluginError as failed:
                    self._fault(pending, failed)
                    return None
                if reason is not None:
                    return Held(step.name, reason.text, reason.cured_by)
        return None

    def _fault(self, pending: PendingPod, failed: PluginError) -> None:
        meta = pending.pod.metadata
        log.warning("plugin failed pod=%s/%s error=%s", meta.namespace, meta.name, quoted(failed))
        self.faults[meta.uid] = failed
