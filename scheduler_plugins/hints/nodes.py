"""Hints of the plugins that read a node's own object: its name, labels, taints and features."""

from collections.abc import Hashable, Iterable, Mapping

from cluster_model import objects
from cluster_model.label_selectors import Requirement
from cluster_model.node_record import NodeRecord
from cluster_model.objects import NodeSelector, NodeSelectorTerm, SelectorRequirement, Taint, Toleration
from cluster_model.pod import PendingPod
from cluster_model.pod_changes import OF_WAITING
from cluster_model.verdict import Event
from scheduler_plugins import node_affinity, node_declared_features, node_unschedulable, selectors, taint_toleration
from scheduler_plugins.hints.interest import Hint, Interest, Interests, Judge, always, when
from scheduler_plugins.tolerations import tolerated

NODE_NAME: Interests = (Interest({Event.NODE_ADD: always}),)


def affinity(args: node_affinity.Args) -> Interests:
    """NodeAffinity: the node matches now and did not before."""
    added = args.added_affinity.required

    def judge(pod: PendingPod, old: NodeRecord | None, new: NodeRecord) -> Hint:
        if added is not None and not _any_term(added, new.node):
            return Hint.SKIP
        return _newly_selected(pod, old, new)

    return (Interest({Event.NODE_ADD: judge, Event.NODE_LABEL: judge}, _selection),)


def taints() -> Interests:
    """TaintToleration: the node has nothing any more that the pod does not tolerate."""
    judges: dict[Event, Judge] = {
        Event.NODE_ADD: _newly_tolerated,
        Event.NODE_TAINT: _newly_tolerated,
        Event.POD_TOLERATION: always,
    }
    return (Interest(judges, lambda pod: pod.pod.spec.tolerations),)


def unschedulable() -> Interests:
    """NodeUnschedulable: a node that is not cordoned, or no more; or the pod tolerates the cordon now."""
    on_nodes: dict[Event, Judge] = dict.fromkeys((Event.NODE_ADD, Event.NODE_TAINT), _uncordoned)
    return (Interest(on_nodes | {Event.POD_TOLERATION: _tolerates_cordon}),)


def features() -> Interests:
    """NodeDeclaredFeatures: the node declares other features, or the pod needs other ones."""
    on_nodes: dict[Event, Judge] = dict.fromkeys((Event.NODE_ADD, Event.NODE_FEATURE), _declares_otherwise)
    return (Interest(on_nodes | dict.fromkeys(OF_WAITING, _needs_otherwise)),)


def _selection(pod: PendingPod) -> Hashable:
    return tuple(sorted(pod.pod.spec.node_selector.items())), _required(pod)


def _required(pod: PendingPod) -> NodeSelector | None:
    own = pod.pod.spec.affinity.node_affinity
    return None if own is None else own.required


def _newly_selected(pod: PendingPod, old: NodeRecord | None, new: NodeRecord) -> Hint:
    selected = _selects(pod, new.node)
    if selected is not Hint.QUEUE or old is None:
        return selected
    before = _selects(pod, old.node)
    return before if before is Hint.ERROR else when(before is Hint.SKIP)


def _selects(pod: PendingPod, node: objects.Node) -> Hint:
    """Say whether the pod's selector and terms match a node; a term that cannot be read is an error if none does."""
    labels, required = node.metadata.labels, _required(pod)
    if any(labels.get(key) != value for key, value in pod.pod.spec.node_selector.items()):
        return Hint.SKIP
    if required is None or _any_term(required, node):
        return Hint.QUEUE
    wrong = any(next(selectors.problems(term, ""), None) for term in required.node_selector_terms)
    return Hint.ERROR if wrong else Hint.SKIP


def _any_term(required: NodeSelector, node: objects.Node) -> bool:
    return any(_term(term, node) for term in required.node_selector_terms)


def _term(term: NodeSelectorTerm, node: objects.Node) -> bool:
    """Say whether a term matches; an empty or malformed one does not."""
    if selectors.is_empty(term) or next(selectors.problems(term, ""), None) is not None:
        return False
    labels = node.metadata.labels
    fields = {selectors.NODE_NAME: node.metadata.name}
    return all(_met(one, labels) for one in term.match_expressions) and all(
        (fields.get(one.key, "") in one.values) is (one.operator == "In") for one in term.match_fields
    )


def _met(one: SelectorRequirement, labels: Mapping[str, str]) -> bool:
    if one.operator not in ("Gt", "Lt"):
        return Requirement(one.key, one.operator, one.values).matches(labels)
    found, bound = selectors.integer(labels.get(one.key)), selectors.integer(one.values[0])
    if found is None or bound is None:
        return False
    return found > bound if one.operator == "Gt" else found < bound


def _newly_tolerated(pod: PendingPod, old: NodeRecord | None, new: NodeRecord) -> Hint:
    tolerations = pod.pod.spec.tolerations
    before = old is None or _untolerated(tolerations, old.node.spec.taints)
    return when(before and not _untolerated(tolerations, new.node.spec.taints))


def _untolerated(tolerations: tuple[Toleration, ...], found: Iterable[Taint]) -> bool:
    return any(taint.effect in taint_toleration.HARD and not tolerated(tolerations, taint) for taint in found)


def _uncordoned(_: PendingPod, old: NodeRecord | None, new: NodeRecord) -> Hint:
    return when((old is None or old.node.spec.unschedulable) and not new.node.spec.unschedulable)


def _tolerates_cordon(_: PendingPod, _old: PendingPod, new: PendingPod) -> Hint:
    return when(tolerated(new.pod.spec.tolerations, node_unschedulable.CORDON))


def _declares_otherwise(_: PendingPod, old: NodeRecord | None, new: NodeRecord) -> Hint:
    return when(old is None or old.node.status.declared_features != new.node.status.declared_features)


def _needs_otherwise(_: PendingPod, old: PendingPod, new: PendingPod) -> Hint:
    return when(node_declared_features.required(old.pod.spec) != node_declared_features.required(new.pod.spec))
