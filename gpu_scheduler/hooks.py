"""A profile's plugins at the points around its decisions, as they are called: in order, those of users guarded.

What a user's plugin raises or returns wrongly becomes a PluginError in kube-scheduler's words. Of our own only what
they raise as such, where there is I/O, is taken for an answer; anything else is a bug.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Reason
from gpu_scheduler.extension_points import INTERFACES, PostFiltered
from gpu_scheduler.waiting_pods import Wait
from kube_client.binding import AlreadyBound, Bound, Failed, Gone, Outcome
from scheduler_plugins.framework import Decision, PluginError
from scheduler_plugins.guarded import RAISED, broken

Call = TypeVar("Call")
Points: TypeAlias = Mapping[str, tuple[str, ...]]  # by extension point, what runs there in its order

PostFilter: TypeAlias = Callable[[Decision], PostFiltered | None]
Reserve: TypeAlias = Callable[[PendingPod, str, Snapshot], Reason | None]
Unreserve: TypeAlias = Callable[[PendingPod, str], None]
Permit: TypeAlias = Callable[[PendingPod, str], Reason | Wait | None]
HasWork: TypeAlias = Callable[[PendingPod, str], bool]
Told: TypeAlias = Callable[[PendingPod, str], Awaitable[None]]
Bind: TypeAlias = Callable[[PendingPod, str], Awaitable[Outcome | None]]
SortKey: TypeAlias = Callable[[PendingPod, float], tuple[float, ...]]
PreEnqueue: TypeAlias = Callable[[PendingPod], Reason | None]

Method: TypeAlias = Callable[[Any], Callable[..., Any]]
Check: TypeAlias = Callable[[Any], Any]  # returns what is right, raises for the rest


@dataclass(frozen=True, slots=True)
class Step(Generic[Call]):
    """One plugin at one point."""

    name: str
    run: Call


@dataclass(frozen=True, slots=True)
class QueueHooks:
    """The points before the decision."""

    queue_sort: Step[SortKey] | None  # None: PrioritySort
    pre_enqueues: tuple[Step[PreEnqueue], ...]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The points after it."""

    post_filters: tuple[Step[PostFilter], ...]
    reserves: tuple[Step[Reserve], ...]
    unreserves: tuple[Step[Unreserve], ...]  # in reverse order
    permits: tuple[Step[Permit], ...]
    pre_binds: tuple[tuple[Step[HasWork], Step[Told]], ...]
    binds: tuple[Step[Bind], ...]
    post_binds: tuple[Step[Told], ...]


def before(points: Points, users: Mapping[str, object]) -> QueueHooks:
    """Look up what users' plugins do with the queue."""
    found = _Lookup(points, users, frozenset())
    sorts = found.steps("queueSort", lambda one: one.queue_sort, _key)
    held = found.steps("preEnqueue", lambda one: one.pre_enqueue, _optional(Reason))
    return QueueHooks(sorts[0] if sorts else None, held)


def after(points: Points, plugins: Mapping[str, object], ours: frozenset[str]) -> Hooks:
    """Look up what runs at each point. Names without a plugin, or with one that has no work there, do nothing."""
    found = _Lookup(points, plugins, ours)
    asked = found.steps("preBind", lambda one: one.has_work, bool, doing="running PreBindPreFlight")
    undone = tuple(Step(name, plugin.unreserve) for name, plugin in found.at("reserve"))
    return Hooks(
        post_filters=found.steps("postFilter", lambda one: one.post_filter, _optional(PostFiltered)),
        reserves=found.steps("reserve", lambda one: one.reserve, _optional(Reason)),
        unreserves=undone[::-1],
        permits=found.steps("permit", lambda one: one.permit, _optional(Reason, Wait)),
        pre_binds=tuple(zip(asked, found.later("preBind", lambda one: one.pre_bind, _optional()), strict=True)),
        binds=found.later("bind", lambda one: one.bind, _optional(Bound, AlreadyBound, Gone, Failed)),
        # What these raise is logged and no answer to anybody.
        post_binds=tuple(Step(name, plugin.post_bind) for name, plugin in found.at("postBind")),
    )


@dataclass(frozen=True, slots=True)
class _Lookup:
    points: Points
    plugins: Mapping[str, object]
    ours: frozenset[str]

    def at(self, point: str) -> Iterator[tuple[str, Any]]:
        for name in self.points.get(point, ()):
            plugin = self.plugins.get(name)
            if isinstance(plugin, INTERFACES[point]):
                yield name, plugin

    def steps(self, point: str, method: Method, check: Check, doing: str = "") -> tuple[Step[Any], ...]:
        """Return the steps of a point that answers at once."""
        doing = doing or _running(point)
        return tuple(
            Step(name, self._guarded(name, f'{doing} "{name}"', method(plugin), check))
            for name, plugin in self.at(point)
        )

    def later(self, point: str, method: Method, check: Check) -> tuple[Step[Any], ...]:
        """Return the steps of a point with I/O."""
        return tuple(
            Step(name, self._guarded_later(name, f'{_running(point)} "{name}"', method(plugin), check))
            for name, plugin in self.at(point)
        )

    def _guarded(self, name: str, doing: str, run: Callable[..., Any], check: Check) -> Any:
        if name in self.ours:
            return run

        def asked(*args: Any) -> Any:
            try:
                return check(run(*args))
            except RAISED as error:
                raise broken(doing, error) from error

        return asked

    def _guarded_later(self, name: str, doing: str, run: Callable[..., Awaitable[Any]], check: Check) -> Any:
        caught = PluginError if name in self.ours else (*RAISED, asyncio.CancelledError)

        async def asked(*args: Any) -> Any:
            try:
                return check(await run(*args))
            except caught as error:
                if isinstance(error, asyncio.CancelledError) and _is_ours_to_cancel():
                    raise
                raise broken(doing, error) from error

        return asked


def _running(point: str) -> str:
    return f"running {point[0].upper()}{point[1:]} plugin"


def _is_ours_to_cancel() -> bool:
    """Whether the running task is cancelled, rather than something that a plugin awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _optional(*kinds: type) -> Callable[[Any], Any]:
    def check(found: Any) -> Any:
        if found is not None and not isinstance(found, kinds):
            wanted = " or ".join([*(kind.__name__ for kind in kinds), "None"])
            raise TypeError(f"must return {wanted}, not {type(found).__name__}")
        return found

    return check


def _key(found: Any) -> Any:
    if not isinstance(found, tuple) or not all(isinstance(part, int | float) and part == part for part in found):
        raise TypeError(f"must return a tuple of numbers, not {found!r}")
    return found
