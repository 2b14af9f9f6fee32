"""Hints of InterPodAffinity: company came, an obstacle left, or a node moved in a topology that the terms name.

As in kube-scheduler's hints, a namespace that a term selects by label is none of those where a change is noticed.
"""

from collections.abc import Hashable, Iterable

from cluster_model.node_record import NodeRecord
from cluster_model.pod import PendingPod
from cluster_model.pod_terms import AffinityTerm
from cluster_model.verdict import Event
from scheduler_plugins.hints.interest import Hint, Interest, Interests, Judge, always, when

UNREADABLE = ("requiredAffinityTerms: ", "requiredAntiAffinityTerms: ")


def affinity() -> Interests:
    """Judge by the pod's required terms; of a pod that left also by that pod's own."""
    by_terms: dict[Event, Judge] = {
        Event.ASSIGNED_POD_ADD: _company_came,
        Event.ASSIGNED_POD_LABEL: _relabelled,
        Event.ASSIGNED_POD_DELETE: _obstacle_left,
        Event.POD_LABEL: always,
        Event.NODE_ADD: _node_came,
        Event.NODE_LABEL: _node_moved,
    }

    def called(pod: PendingPod) -> Hashable:
        meta = pod.pod.metadata
        return meta.namespace, tuple(sorted(meta.labels.items()))

    def wanted_others_apart(old: PendingPod, _: None) -> bool:
        return bool(old.request.terms.affinity.apart or _unreadable(old))

    return (
        Interest(by_terms, lambda pod: pod.request.terms.affinity),
        Interest({Event.ASSIGNED_POD_DELETE: _kept_it_off}, called, wanted_others_apart),
    )


def _company_came(pod: PendingPod, _: None, new: PendingPod) -> Hint:
    if not _placed(new):
        return Hint.SKIP
    return Hint.ERROR if _unreadable(pod) else when(_all_mean(pod.request.terms.affinity.near, new))


def _relabelled(pod: PendingPod, old: PendingPod, new: PendingPod) -> Hint:
    if not (_placed(old) and _placed(new)):
        return Hint.SKIP
    if _unreadable(pod):
        return Hint.ERROR
    terms = pod.request.terms.affinity
    near = _all_mean(terms.near, new) and not _all_mean(terms.near, old)
    return when(near or (_any_means(terms.apart, old) and not _any_means(terms.apart, new)))


def _obstacle_left(pod: PendingPod, old: PendingPod, _: None) -> Hint:
    if not _placed(old):
        return Hint.SKIP
    if _unreadable(pod):
        return Hint.ERROR
    return when(_any_means(pod.request.terms.affinity.apart, old))


def _kept_it_off(pod: PendingPod, old: PendingPod, _: None) -> Hint:
    """Judge by the terms of the pod that left."""
    if not _placed(old):
        return Hint.SKIP
    if UNREADABLE[1] in old.request.terms.affinity.error:
        return Hint.ERROR
    return when(_any_means(old.request.terms.affinity.apart, pod))


def _node_came(pod: PendingPod, _: None, new: NodeRecord) -> Hint:
    """Hold any new node for a cure where the pod must be apart: one without the topology takes it at any rate."""
    if _unreadable(pod):
        return Hint.ERROR
    terms = pod.request.terms.affinity
    return when(bool(terms.apart) or any(one.topology_key in new.node.metadata.labels for one in terms.near))


def _node_moved(pod: PendingPod, old: NodeRecord, new: NodeRecord) -> Hint:
    """Look for a node that moved to another domain, came into one to be near in, or left one to be apart in."""
    if _unreadable(pod):
        return Hint.ERROR
    terms, before, after = pod.request.terms.affinity, old.node.metadata.labels, new.node.metadata.labels
    near, apart = ({one.topology_key for one in found} for found in (terms.near, terms.apart))
    came = any(key in after and before.get(key) != after[key] for key in near)
    left = any(key in before and after.get(key) != before[key] for key in apart)
    return when(came or left)


def _placed(pod: PendingPod) -> bool:
    return bool(pod.pod.spec.node_name or pod.pod.status.nominated_node_name)


def _unreadable(pod: PendingPod) -> bool:
    return any(text in pod.request.terms.affinity.error for text in UNREADABLE)


def _all_mean(terms: tuple[AffinityTerm, ...], pod: PendingPod) -> bool:
    return bool(terms) and all(_means(term, pod) for term in terms)


def _any_means(terms: Iterable[AffinityTerm], pod: PendingPod) -> bool:
    return any(_means(term, pod) for term in terms)


def _means(term: AffinityTerm, pod: PendingPod) -> bool:
    """Say whether a term means a pod, whose namespace is taken to have no labels."""
    meta = pod.pod.metadata
    there = meta.namespace in term.namespaces or term.namespace_selector.matches({})
    return there and term.selector.matches(meta.labels)
