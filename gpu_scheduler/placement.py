"""One pod on its way to the node chosen for it: runs the profile's plugins point by point, and times them.

Keeps no books: what a rejection or a failure means for queue and ledger is the caller's.
"""

import logging
from collections.abc import Callable
from typing import Any

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from gpu_scheduler.hooks import Hooks, Step, Told
from gpu_scheduler.point_metrics import ERROR, WAIT, ProfilePoints, status_of
from gpu_scheduler.waiting_pods import Rejected, Wait, WaitingPod
from kube_client.binding import Bound, Outcome
from kube_client.logs import quoted
from scheduler_plugins.framework import PluginError
from scheduler_plugins.guarded import RAISED

log = logging.getLogger(__name__)

NOBODY_BINDS = "running Bind plugins: none of them binds the pod"


class Placement:
    """The points after the decision, for one attempt. Rejected and PluginError tell why one cannot go on."""

    __slots__ = ("_hooks", "_points", "_sampled", "_work", "doing", "expected", "node", "pod")

    def __init__(self, pod: PendingPod, node: str, hooks: Hooks, points: ProfilePoints, sampled: bool) -> None:
        self.pod = pod
        self.node = node
        self._hooks = hooks
        self._points = points
        self._sampled = sampled  # each plugin's time is taken
        self._work: tuple[Step[Told], ...] = ()
        self.expected = False  # others were told where the pod will be
        self.doing = "running PreBind plugins"  # in words, before the binding

    def reserve(self, snapshot: Snapshot) -> None:
        """Let every plugin take what the pod needs. Every pod passes here, so it is timed by hand."""
        started = self._points.now()
        try:
            for step in self._hooks.reserves:
                reason = self._call("Reserve", step, self.pod, self.node, snapshot)
                if reason is not None:
                    raise Rejected(step.name, reason)
        except BaseException as raised:
            self._points.note("Reserve", status_of(type(raised)), self._points.now() - started)
            raise
        if self._hooks.reserves:
            self._points.reserved.observe(self._points.now() - started)

    def unreserve(self) -> None:
        """Let every plugin give back what it took. One that fails does not keep the others from it."""
        if self._hooks.unreserves:
            with self._points.span("Unreserve"):
                for step in self._hooks.unreserves:
                    try:
                        self._call("Unreserve", step, self.pod, self.node)
                    except RAISED:
                        self._log("Unreserve", step.name)

    def permit(self) -> dict[str, Wait]:
        """Ask for permission; return who has to give it later."""
        waits: dict[str, Wait] = {}
        if not self._hooks.permits:
            return waits
        with self._points.span("Permit") as span:
            for step in self._hooks.permits:
                answer = self._call("Permit", step, self.pod, self.node)
                if isinstance(answer, Wait):
                    waits[step.name] = answer
                    span.status = WAIT
                elif answer is not None:
                    raise Rejected(step.name, answer)
        return waits

    async def permission(self, waiting: WaitingPod) -> None:
        """Wait until everybody has allowed the pod."""
        with self._points.permit_wait():
            await waiting.permission()

    def has_work(self) -> bool:
        """Whether something must be done before the pod is bound."""
        for has_work, step in self._hooks.pre_binds:
            if has_work.run(self.pod, self.node):
                self._work = (*self._work, step)
        return bool(self._work)

    async def pre_bind(self) -> None:
        """Do it."""
        if self._work:
            with self._points.span("PreBind"):
                for step in self._work:
                    self.doing = f'running PreBind plugin "{step.name}"'
                    await self._later("PreBind", step)

    async def bind(self) -> tuple[str, Outcome]:
        """Bind the pod; return by whom, and what became of it."""
        with self._points.span("Bind") as span:
            for step in self._hooks.binds:
                outcome: Outcome | None = await self._later("Bind", step)
                if outcome is not None:
                    span.status = span.status if isinstance(outcome, Bound) else ERROR
                    return step.name, outcome
            raise PluginError(NOBODY_BINDS)

    @property
    def is_followed(self) -> bool:
        """Whether somebody is to be told when the pod is bound."""
        return bool(self._hooks.post_binds)

    async def post_bind(self) -> None:
        """Tell that the pod is bound."""
        with self._points.span("PostBind"):
            for step in self._hooks.post_binds:
                try:
                    await self._later("PostBind", step)
                except RAISED:
                    self._log("PostBind", step.name)

    def _call(self, point: str, step: Step[Callable[..., Any]], *args: Any) -> Any:
        if not self._sampled:
            return step.run(*args)
        with self._points.plugin(step.name, point):
            return step.run(*args)

    async def _later(self, point: str, step: Step[Any]) -> Any:
        if not self._sampled:
            return await step.run(self.pod, self.node)
        with self._points.plugin(step.name, point):
            return await step.run(self.pod, self.node)

    def _log(self, point: str, plugin: str) -> None:
        meta = self.pod.pod.metadata
        log.exception(
            "plugin failed pod=%s/%s node=%s plugin=%s point=%s",
            meta.namespace,
            meta.name,
            self.node,
            quoted(plugin),
            point,
        )
