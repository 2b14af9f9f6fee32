"""What a pod asks of the pods around it: spread constraints and terms of (anti-)affinity, read once per pod.

A list that cannot be read is empty, as kube-scheduler leaves it, and what is wrong with it is told beside it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from cluster_model import label_selectors, objects
from cluster_model.label_selectors import NOTHING, Selector, UnreadableSelector

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"

Written = TypeVar("Written")
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """How far the pods that a selector matches may differ between the domains of a topology."""

    topology_key: str
    max_skew: int
    selector: Selector
    min_domains: int = 1
    honours_affinity: bool = True  # nodes that the pod's node affinity excludes do not count
    honours_taints: bool = False  # nor do nodes with a taint that it does not tolerate


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Pods by label, in namespaces by name or by label, and the topology in which they are near."""

    topology_key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector = NOTHING
    weight: int = 0  # of a preference


@dataclass(frozen=True, slots=True)
class Spread:
    """The constraints; a text says why those beside it could not be read."""

    listed: bool = False  # then the defaults of the profile do not count
    hard: tuple[SpreadConstraint, ...] = ()
    soft: tuple[SpreadConstraint, ...] = ()
    hard_error: str = ""
    soft_error: str = ""


@dataclass(frozen=True, slots=True)
class Affinity:
    """The terms; the text says which of them could not be read."""

    near: tuple[AffinityTerm, ...] = ()
    apart: tuple[AffinityTerm, ...] = ()
    rather_near: tuple[AffinityTerm, ...] = ()
    rather_apart: tuple[AffinityTerm, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class PodTerms:
    """All that one pod asks of others."""

    spread: Spread = Spread()
    affinity: Affinity = Affinity()


NO_TERMS = PodTerms()


def read(pod: objects.Pod) -> PodTerms:
    """Read a pod's constraints and terms."""
    spec = pod.spec
    listed = bool(spec.topology_spread_constraints)
    if not listed and spec.affinity.pod_affinity is None and spec.affinity.pod_anti_affinity is None:
        return NO_TERMS
    hard, hard_error = _constraints(pod, HARD)
    soft, soft_error = _constraints(pod, SOFT)
    return PodTerms(Spread(listed, hard, soft, hard_error, soft_error), _affinity(pod))


def _affinity(pod: objects.Pod) -> Affinity:
    near = pod.spec.affinity.pod_affinity or objects.PodAffinity()
    apart = pod.spec.affinity.pod_anti_affinity or objects.PodAffinity()

    def wish(found: objects.WeightedPodAffinityTerm) -> AffinityTerm:
        return _term(pod, found.pod_affinity_term, found.weight)

    lists = (
        _read_all(partial(_term, pod), near.required, "requiredAffinityTerms"),
        _read_all(partial(_term, pod), apart.required, "requiredAntiAffinityTerms"),
        _read_all(wish, near.preferred, "preferredAffinityTerms"),
        _read_all(wish, apart.preferred, "preferredAntiAffinityTerms"),
    )
    errors = tuple(error for _, error in lists if error)
    near_terms, apart_terms, rather_near, rather_apart = (found for found, _ in lists)
    error = label_selectors.aggregate(errors) if errors else ""
    return Affinity(near_terms, apart_terms, rather_near, rather_apart, error)


def spread_constraint(found: objects.TopologySpreadConstraint, selector: Selector) -> SpreadConstraint:
    """Fill in what a constraint leaves out."""
    return SpreadConstraint(
        found.topology_key,
        found.max_skew,
        selector,
        found.min_domains,
        found.node_affinity_policy in ("", "Honor"),
        found.node_taints_policy == "Honor",
    )


def _constraints(pod: objects.Pod, action: str) -> tuple[tuple[SpreadConstraint, ...], str]:
    written = (one for one in pod.spec.topology_spread_constraints if one.when_unsatisfiable == action)
    return _read_all(lambda one: spread_constraint(one, _own_selector(one, pod.metadata.labels)), written, "")


def _own_selector(found: objects.TopologySpreadConstraint, labels: objects.Labels) -> Selector:
    """Narrow the selector to pods that share the pod's values of the keys named."""
    shared = {key: labels[key] for key in found.match_label_keys if key in labels}
    return label_selectors.read(found.label_selector).plus(label_selectors.exactly(shared))


def _term(pod: objects.Pod, found: objects.PodAffinityTerm, weight: int = 0) -> AffinityTerm:
    """Read a term; one that names no namespace in any way is about the pod's own."""
    selector = label_selectors.read(found.label_selector)
    named = frozenset(found.namespaces)
    if not named and found.namespace_selector is None:
        named = frozenset((pod.metadata.namespace,))
    return AffinityTerm(found.topology_key, selector, named, label_selectors.read(found.namespace_selector), weight)


def _read_all(one: Callable[[Written], Read], written: Iterable[Written], name: str) -> tuple[tuple[Read, ...], str]:
    try:
        return tuple(map(one, written)), ""
    except UnreadableSelector as error:
        return (), f"{name}: {error}" if name else str(error)
