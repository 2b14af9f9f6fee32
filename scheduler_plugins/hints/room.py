"""Hints of the plugins that count what pods hold on a node: resources and host ports."""

from collections.abc import Hashable, Mapping

from cluster_model.node_record import PODS, NodeRecord
from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from scheduler_plugins import node_ports
from scheduler_plugins.hints.interest import Hint, Interest, Interests, Judge, always, when


def resources() -> Interests:
    """NodeResourcesFit: a pod left, held less, or a node on which the pod would fit alone has more of what it asks."""
    on_nodes: dict[Event, Judge] = {
        Event.NODE_ADD: _fits_now,
        Event.NODE_ALLOCATABLE: _fits_now,
        Event.ASSIGNED_POD_SCALE_DOWN: _holds_less,
    }
    anyhow = Interest(
        {Event.ASSIGNED_POD_DELETE: lambda _, old, __: when(_had_a_place(old)), Event.POD_SCALE_DOWN: always}
    )
    return (anyhow, Interest(on_nodes, _asked))


def ports() -> Interests:
    """NodePorts: a pod left that held a port which the pod wants."""

    def judge(pod: PendingPod, old: PendingPod, _: None) -> Hint:
        return when(_had_a_place(old) and node_ports.clash(pod.request.host_ports, old.request.host_ports))

    return (
        Interest({Event.NODE_ADD: always}),
        Interest({Event.ASSIGNED_POD_DELETE: judge}, lambda pod: pod.request.host_ports),
    )


def _had_a_place(pod: PendingPod) -> bool:
    """Whether a pod that is gone ran somewhere, or kept room there."""
    return bool(pod.pod.spec.node_name or pod.pod.status.nominated_node_name)


def _asked(pod: PendingPod) -> Hashable:
    return tuple(sorted(pod.request.resources.items()))


def _fits_now(pod: PendingPod, old: NodeRecord | None, new: NodeRecord) -> Hint:
    """Look at the node as if it were empty; resources that the plugin is told to ignore count here all the same."""
    asked, there = pod.request.resources, new.allocatable
    if there.get(PODS, 0) < 1 or any(amount > max(0, there.get(name, 0)) for name, amount in asked.items() if amount):
        return Hint.SKIP
    return when(old is None or _more(asked, old.allocatable, there))


def _more(asked: Mapping[str, int], before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    if after.get(PODS, 0) > before.get(PODS, 0):
        return True
    return any(amount and after.get(name, 0) > before.get(name, 0) for name, amount in asked.items())


def _holds_less(pod: PendingPod, old: PendingPod, new: PendingPod) -> Hint:
    before, after = old.request.resources, new.request.resources
    return when(
        any(amount and before.get(name, 0) > after.get(name, 0) for name, amount in pod.request.resources.items())
    )
