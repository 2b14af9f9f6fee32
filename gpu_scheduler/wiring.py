"""Puts profiles, their plugins and the parts of the process together, once. Decides and calls nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cluster_model import objects
from cluster_model.state import ClusterState
from gpu_scheduler import built_in, hooks, waiting_room
from gpu_scheduler.entrance import Entrance
from gpu_scheduler.extension_points import Handle
from gpu_scheduler.framework import Framework
from gpu_scheduler.metrics import Metrics
from gpu_scheduler.point_metrics import Measures
from gpu_scheduler.profiles import Assembly
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.waiting_room import Hints
from kube_client.changes import Change, Synced

Take = Callable[[Change[objects.Pod]], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a configuration comes to: profiles by scheduler name, and the handle that users' plugins hold."""

    profiles: Mapping[str, Assembly]
    handle: Handle


def entrance(assembled: Mapping[str, Assembly], measures: Measures) -> Entrance:
    """Return the points before the queue."""
    return Entrance({name: hooks.before(one.points, one.users) for name, one in assembled.items()}, measures)


def hints(assembled: Mapping[str, Assembly], state: ClusterState, metrics: Metrics, now: Callable[[], float]) -> Hints:
    """Return what the plugins of all profiles want to hear of."""
    profiles = {name: one.profile for name, one in assembled.items()}
    known = waiting_room.known(profiles, state.selector_of)
    return Hints(known, now, metrics.queue.hinted)


def frameworks(
    assembled: Mapping[str, Assembly], parts: built_in.Parts, door: Entrance, measures: Measures
) -> dict[str, Framework]:
    """Return what runs each profile."""
    made = {}
    for name, one in assembled.items():
        plugins = {**built_in.plugins(one.profile, parts), **one.users}
        made[name] = Framework(one.profile, hooks.after(one.points, plugins, built_in.NAMES), door, measures)
    return made


def noticing(take: Take, plan: Plan, queue: SchedulingQueue, door: Entrance) -> Take:
    """Return what takes a change of a pod and ends the wait of one that goes, or has left the queue: it is bound."""
    if not any(one.users for one in plan.profiles.values()):
        return take

    def noticed(change: Change[objects.Pod]) -> None:
        take(change)
        if isinstance(change, Synced):
            return
        meta = change.object.metadata
        left = meta.uid not in queue
        if left or meta.deletion_timestamp:
            plan.handle.waiting.gone(meta.uid)
        if left:
            door.gone(meta.uid)

    return noticed
