"""InterPodAffinity: near and apart from other pods, as the pod asks, and as pods already placed ask of it.

Required terms reject nodes. Preferred terms, and the required affinity of placed pods, score them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from cluster_model.columns import Amounts, Mask
from cluster_model.pod import PendingPod
from cluster_model.pod_counts import Concerned, Pods, Role, TermKey, Wanted
from cluster_model.pod_terms import AffinityTerm
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.verdict import Event, Problem, Reason
from scheduler_plugins import plugin_args, topology
from scheduler_plugins.framework import MAX_SCORE, PluginError, ReasonSet, Scores, Verdict, cures

NAME = "InterPodAffinity"
MAX_HARD_WEIGHT = 100

COMMON = (Event.NODE_ADD, Event.NODE_LABEL, Event.ASSIGNED_POD_LABEL, Event.POD_LABEL)
# One pod more brings nobody nearer to being alone, and one less brings no company.
COMES = cures(*COMMON, Event.ASSIGNED_POD_ADD)
LEAVES = cures(*COMMON, Event.ASSIGNED_POD_DELETE)
NOT_NEAR = Reason("node(s) didn't match pod affinity rules", COMES)
NOT_APART = Reason("node(s) didn't match pod anti-affinity rules", LEAVES)
KEPT_OFF = Reason("node(s) didn't satisfy existing pods anti-affinity rules", LEAVES)
REASONS = ((NOT_NEAR,), (NOT_APART,), (KEPT_OFF,))


class Args(plugin_args.Args, frozen=True):
    """What the required affinity of a placed pod is worth, and whether preferences of placed pods count at all."""

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what Kubernetes refuses."""
        if not 0 <= self.hard_pod_affinity_weight <= MAX_HARD_WEIGHT:
            rule = f"not in valid range [0, {MAX_HARD_WEIGHT}]"
            yield Problem(f"{path}.hardPodAffinityWeight", self.hard_pod_affinity_weight, rule)


@dataclass(frozen=True, slots=True)
class _Nearby:
    """Pods by node that count for every node of the same domain, and how much each counts."""

    topology_key: str
    counts: Amounts  # [node]
    weight: int = 1


def refuse(pod: PendingPod, _: Snapshot) -> ReasonSet:
    """Refuse a pod whose terms cannot be read."""
    error = pod.request.terms.affinity.error
    return (Reason(f"parsing pod: {error}", COMES),) if error else ()


def skips(pod: PendingPod, snapshot: Snapshot) -> bool:
    """Say whether nobody asks for anything about the pod, nor it about others.

    kube-scheduler then leaves the plugin out for that pod, also where it supposes others that wait to be there.
    """
    terms = pod.request.terms.affinity
    return not (terms.near or terms.apart or _any(_kept_off(pod, snapshot), snapshot).any())


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject nodes that are not near what the pod must be near, or not apart in either direction."""
    terms = pod.request.terms.affinity
    if not (terms.near or terms.apart or snapshot.pods.has_terms):
        return None
    codes = np.zeros(len(snapshot), np.uint8)
    codes[_any(_kept_off(pod, snapshot), snapshot)] = 3
    codes[_any(_apart_from(terms.apart, snapshot), snapshot)] = 2
    if terms.near:
        codes[_not_near(terms.near, pod, snapshot)] = 1
    return Verdict(codes, REASONS) if codes.any() else None


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows, args: Args) -> Scores | None:
    """Add up the weights of the preferences that each node's domains meet, the pod's and those of placed pods."""
    terms = pod.request.terms.affinity
    if terms.error:
        raise PluginError(f'running PreScore plugin "{NAME}": failed to parse pod: {terms.error}')
    own = terms.rather_near or terms.rather_apart
    if not own and (args.ignore_preferred_terms_of_existing_pods or not snapshot.pods.has_terms):
        return None
    total, scored = np.zeros(len(rows), np.int64), False
    for nearby in (*_own_wishes(pod, snapshot), *_wishes_of_placed(pod, snapshot, args)):
        domains = topology.domains(snapshot.nodes, nearby.topology_key)
        held = domains.sums(nearby.counts, domains.among)
        if held.any():
            scored = True
            worth = (held * nearby.weight).astype(np.int64).take(domains.numbers.take(rows))
            total += worth if domains.everywhere else np.where(domains.present.take(rows), worth, 0)
    return total if scored else None


def normalise(scores: Scores) -> Scores:
    """Scale from the lowest to the highest, quotient first."""
    lowest, highest = int(scores.min()), int(scores.max())
    if highest == lowest:
        return np.zeros_like(scores)
    scaled: Scores = (float(MAX_SCORE) * ((scores - lowest) / float(highest - lowest))).astype(np.int64)
    return scaled


def _not_near(terms: tuple[AffinityTerm, ...], pod: PendingPod, snapshot: Snapshot) -> Mask:
    """Mark nodes that lack a topology, or in one of whose domains no pod is that all terms mean.

    The first of its kind, where all terms mean the pod itself and nobody else is there, may go to any domain.
    """
    wanted = tuple(_wanted(term, snapshot) for term in terms)
    counts = snapshot.pods.matching(Pods(wanted))
    near, placed = np.ones(len(snapshot), np.bool_), np.ones(len(snapshot), np.bool_)
    alone = True
    for key in dict.fromkeys(term.topology_key for term in terms):
        domains = topology.domains(snapshot.nodes, key)
        inhabited = domains.sums(counts, domains.among) > 0
        alone &= not inhabited.any()
        placed &= domains.present
        near &= inhabited.take(domains.numbers)
    meta = pod.pod.metadata
    if alone and all(one.matches(meta.namespace, meta.labels) for one in wanted):
        return ~placed
    return ~(placed & near)


def _apart_from(terms: tuple[AffinityTerm, ...], snapshot: Snapshot) -> Iterator[_Nearby]:
    """Yield the pods that the pod must be apart from."""
    return (_nearby(term, snapshot) for term in terms)


def _kept_off(pod: PendingPod, snapshot: Snapshot) -> Iterator[_Nearby]:
    """Yield the placed pods that must be apart from the pod."""
    for (role, key), counts in _concerning(pod, snapshot).items():
        if role is Role.APART:
            yield _Nearby(key, counts)


def _own_wishes(pod: PendingPod, snapshot: Snapshot) -> Iterator[_Nearby]:
    terms = pod.request.terms.affinity
    yield from (_nearby(term, snapshot, term.weight) for term in terms.rather_near)
    yield from (_nearby(term, snapshot, -term.weight) for term in terms.rather_apart)


def _wishes_of_placed(pod: PendingPod, snapshot: Snapshot, args: Args) -> Iterator[_Nearby]:
    """Yield the placed pods with a wish about the pod; those of preferences come summed up by weight."""
    worth = {Role.NEAR: args.hard_pod_affinity_weight, Role.RATHER_NEAR: 1, Role.RATHER_APART: -1}
    for (role, key), counts in _concerning(pod, snapshot).items():
        if worth.get(role):
            yield _Nearby(key, counts, worth[role])


def _concerning(pod: PendingPod, snapshot: Snapshot) -> dict[TermKey, Amounts]:
    if not snapshot.pods.has_terms:
        return {}
    labels = snapshot.namespaces.labels_of(pod.pod.metadata.namespace)
    return snapshot.pods.concerning(Concerned.of(pod.pod, labels))


def _nearby(term: AffinityTerm, snapshot: Snapshot, weight: int = 1) -> _Nearby:
    return _Nearby(term.topology_key, snapshot.pods.matching(Pods((_wanted(term, snapshot),))), weight)


def _wanted(term: AffinityTerm, snapshot: Snapshot) -> Wanted:
    """Name the namespaces that a term of the pod selects by label as they are now."""
    if term.namespace_selector.is_empty:
        return Wanted(None, term.selector)
    selected = frozenset() if term.namespace_selector.nothing else snapshot.namespaces.matching(term.namespace_selector)
    return Wanted(term.namespaces | selected, term.selector)


def _any(found: Iterable[_Nearby], snapshot: Snapshot) -> Mask:
    """Mark the nodes that share a domain with any of these pods."""
    marked = np.zeros(len(snapshot), np.bool_)
    for nearby in found:
        if nearby.counts.any():
            domains = topology.domains(snapshot.nodes, nearby.topology_key)
            inhabited = domains.sums(nearby.counts, domains.among) > 0
            marked |= inhabited.take(domains.numbers) & domains.present
    return marked
