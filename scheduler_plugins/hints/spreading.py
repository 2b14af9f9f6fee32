"""Hints of PodTopologySpread: what a pod's constraints count has changed, or the topology that they look at."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

from cluster_model.node_record import NodeRecord
from cluster_model.pod import PendingPod
from cluster_model.pod_terms import SpreadConstraint
from cluster_model.verdict import Event
from scheduler_plugins import pod_topology_spread
from scheduler_plugins.hints.interest import Hint, Interest, Interests, Judge, OwnersOf, when
from scheduler_plugins.spread_args import Args, Defaults

Labels: TypeAlias = Mapping[str, str]
Constraints: TypeAlias = tuple[SpreadConstraint, ...]
ByConstraints: TypeAlias = Callable[[Constraints, PendingPod, Any, Any], Hint]


def spread(args: Args, owners_of: OwnersOf) -> Interests:
    """Judge by the pod's own constraints, or by the profile's with the selector of the pod's owners."""
    defaults = Defaults.of(args).hard

    def reads(pod: PendingPod) -> Hashable:
        own, meta = pod.request.terms.spread, pod.pod.metadata
        if own.listed or not defaults:
            return meta.namespace, own
        return meta.namespace, tuple(sorted(meta.labels.items())), meta.owner_references

    def judged(judge: ByConstraints) -> Judge:
        def judge_by_constraints(pod: PendingPod, old: object, new: object) -> Hint:
            own = pod.request.terms.spread
            if own.hard_error:
                return Hint.ERROR
            listed = own.hard if own.listed else pod_topology_spread.selecting(defaults, owners_of, pod)
            return judge(listed, pod, old, new)

        return judge_by_constraints

    return (Interest({event: judged(judge) for event, judge in _judges().items()}, reads),)


def _judges() -> dict[Event, ByConstraints]:
    on_pods = (Event.ASSIGNED_POD_ADD, Event.ASSIGNED_POD_LABEL, Event.ASSIGNED_POD_DELETE)
    on_nodes = (Event.NODE_ADD, Event.NODE_DELETE, Event.NODE_LABEL, Event.NODE_TAINT)
    own = (Event.POD_LABEL, Event.POD_TOLERATION)
    return {
        **dict.fromkeys(on_pods, _counted_otherwise),
        **dict.fromkeys(on_nodes, _topology_changed),
        **dict.fromkeys(own, _counts_otherwise),
    }


def _counted_otherwise(
    constraints: Constraints, pod: PendingPod, old: PendingPod | None, new: PendingPod | None
) -> Hint:
    """Judge a pod with a place that came, went or was relabelled in the same namespace."""
    changed = [one for one in (old, new) if one is not None]
    if any(_elsewhere(one, pod) for one in changed):
        return Hint.SKIP
    if old is not None and new is not None:
        return _relabelled(constraints, old.pod.metadata.labels, new.pod.metadata.labels)
    labels = changed[0].pod.metadata.labels
    return when(any(one.selector.matches(labels) for one in constraints))


def _elsewhere(other: PendingPod, pod: PendingPod) -> bool:
    placed = other.pod.spec.node_name or other.pod.status.nominated_node_name
    return not placed or other.pod.metadata.namespace != pod.pod.metadata.namespace


def _counts_otherwise(constraints: Constraints, _: PendingPod, old: PendingPod, new: PendingPod) -> Hint:
    """Judge an update of the pod itself: a toleration may open nodes, a label may change whether it counts itself."""
    tolerates_more = old.pod.spec.tolerations != new.pod.spec.tolerations
    if tolerates_more and any(one.honours_taints for one in constraints):
        return Hint.QUEUE
    return _relabelled(constraints, old.pod.metadata.labels, new.pod.metadata.labels)


def _relabelled(constraints: Constraints, old: Labels, new: Labels) -> Hint:
    if old == new:
        return Hint.SKIP
    return when(any(one.selector.matches(old) != one.selector.matches(new) for one in constraints))


def _topology_changed(constraints: Constraints, _: PendingPod, old: NodeRecord | None, new: NodeRecord | None) -> Hint:
    """Judge a node by whether it has all topologies, before and after."""
    had, has = _has_all(constraints, old), _has_all(constraints, new)
    if old is None or new is None or had != has:
        return when(had or has)
    before, after = old.node, new.node
    moved = any(
        before.metadata.labels.get(one.topology_key) != after.metadata.labels.get(one.topology_key)
        for one in constraints
    )
    return when(has and (moved or before.spec.taints != after.spec.taints))


def _has_all(constraints: Constraints, node: NodeRecord | None) -> bool:
    return node is not None and all(one.topology_key in node.node.metadata.labels for one in constraints)
