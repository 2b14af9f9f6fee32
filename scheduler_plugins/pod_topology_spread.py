"""PodTopologySpread: keep the pods that a selector matches even over the domains of a topology.

`DoNotSchedule` constraints reject nodes, `ScheduleAnyway` ones score them. A pod that lists none gets the profile's
defaults, with the selector of its Services and its controller.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cluster_model import objects
from cluster_model.columns import Amounts, Mask
from cluster_model.label_selectors import Selector
from cluster_model.pod import PendingPod
from cluster_model.pod_counts import Pods, Wanted
from cluster_model.pod_terms import SpreadConstraint
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins import go_math, node_affinity, taint_toleration, topology
from scheduler_plugins.framework import FITS, MAX_SCORE, PluginError, ReasonSet, Scores, Verdict, cures
from scheduler_plugins.spread_args import Defaults
from scheduler_plugins.topology import HOSTNAME, Domains

NAME = "PodTopologySpread"
Scalar = TypeVar("Scalar", bound=np.generic)
IGNORED = -1  # the score of a node that lacks a topology
MAX_INT32 = 2**31 - 1

NODES = (Event.NODE_ADD, Event.NODE_DELETE, Event.NODE_LABEL, Event.NODE_TAINT)
OWN = (Event.POD_LABEL, Event.POD_TOLERATION)
PODS = (Event.ASSIGNED_POD_ADD, Event.ASSIGNED_POD_LABEL, Event.ASSIGNED_POD_DELETE)
UNEVEN = Reason("node(s) didn't match pod topology spread constraints", cures(*NODES, *PODS, *OWN))
NO_DOMAIN = Reason(f"{UNEVEN.text} (missing required label)", cures(*NODES, *OWN))


def refuse(pod: PendingPod, _: Snapshot) -> ReasonSet:
    """Fail on constraints that cannot be read."""
    error = pod.request.terms.spread.hard_error
    if error:
        at = "get constraints from pod: obtaining pod's hard topology spread constraints"
        raise PluginError(f'running PreFilter plugin "{NAME}": {at}: {error}')
    return ()


def check(pod: PendingPod, snapshot: Snapshot, defaults: Defaults) -> Verdict | None:
    """Reject nodes whose domain would get too far ahead of the emptiest one, and nodes in no domain."""
    spread = pod.request.terms.spread
    constraints = spread.hard if spread.listed else selecting(defaults.hard, snapshot.owners.selector, pod)
    if not constraints:
        return None
    codes = np.zeros(len(snapshot), np.uint8)
    found = [topology.domains(snapshot.nodes, constraint.topology_key) for constraint in constraints]
    complete = _complete(found)
    subject = _Subject(pod, snapshot)
    for constraint, domains in reversed([*zip(constraints, found, strict=True)]):
        counted = _both(complete, _included(constraint, pod, snapshot))
        codes[_uneven(constraint, domains, counted, subject).take(domains.numbers)] = 1
        codes[~domains.present] = 2
    return Verdict(codes, ((UNEVEN,), (NO_DOMAIN,))) if codes.any() else None


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows, defaults: Defaults) -> Scores | None:
    """Add up how many such pods each node's domains hold, few domains counting less; the fewest is best."""
    constraints, lenient = _soft(pod, snapshot, defaults)
    if not constraints:
        return None
    found = [topology.domains(snapshot.nodes, constraint.topology_key) for constraint in constraints]
    complete = None if lenient else _complete(found)
    kept = None if complete is None else _of(rows, complete)
    inside = rows if kept is None else rows[kept]
    total = np.zeros(len(rows), np.float64)
    subject = _Subject(pod, snapshot)
    for constraint, domains in zip(constraints, found, strict=True):
        worth = _worth(constraint, domains, (inside, complete), subject)
        total += _of(rows, worth if domains.everywhere else np.where(domains.present, worth, 0.0))
    scores = go_math.rounded(total)
    return scores if kept is None else np.where(kept, scores, IGNORED)


def normalise(scores: Scores) -> Scores:
    """Turn the scores round and scale them to 100; what was ignored gets nothing."""
    highest, lowest = int(scores.max()), int(scores.min())
    if highest < 0:
        return np.zeros_like(scores)
    kept = None if lowest >= 0 else scores >= 0
    if kept is not None:
        lowest = int(scores[kept].min())
    # The float quotient of integers below 2**53 is never rounded up to a whole number that it does not reach.
    scaled = np.full_like(scores, MAX_SCORE)
    if highest > 0:
        scaled = (MAX_SCORE * (highest + lowest - scores) / highest).astype(np.int64)
    return scaled if kept is None else np.where(kept, scaled, 0)


@dataclass(frozen=True, slots=True)
class _Subject:
    """The pod that is placed, and where."""

    pod: PendingPod
    snapshot: Snapshot
    counts: dict[Selector, Amounts] = field(default_factory=dict)

    def count(self, selector: Selector) -> Amounts:
        """Count the pods of its namespace on each node that a selector matches; an empty one counts none."""
        if selector.is_empty:
            return self._supposed()
        found = self.counts.get(selector)
        if found is None:
            namespaces = frozenset((self.pod.pod.metadata.namespace,))
            found = self.snapshot.pods.matching(Pods((Wanted(namespaces, selector),), with_terminating=False))
            self.counts[selector] = found
        return found

    def _supposed(self) -> Amounts:
        """Count what is supposed alone: there kube-scheduler takes an empty selector to match every pod."""
        counts, rows = self.snapshot.nodes.nothing, self.snapshot.nodes.rows
        here = [
            one for one in self.snapshot.supposed if one.pod.pod.metadata.namespace == self.pod.pod.metadata.namespace
        ]
        if here:
            counts = counts.copy()
            np.add.at(counts, [rows[one.node] for one in here], [one.sign for one in here])
        return counts


def _worth(
    constraint: SpreadConstraint, domains: Domains, among: tuple[Rows, Mask | None], subject: _Subject
) -> NDArray[np.float64]:
    """Say what a constraint counts against each node; [node]. Of a node as its own domain it is that node's pods."""
    inside, complete = among
    counts, skew = subject.count(constraint.selector), float(constraint.max_skew - 1)
    if constraint.topology_key == HOSTNAME:
        return counts.astype(np.float64) * go_math.log(len(inside) + 2) + skew
    counted = _both(complete, _included(constraint, subject.pod, subject.snapshot))
    held = domains.sums(counts, counted) * go_math.log(domains.inhabited_by(inside) + 2) + skew
    return held.take(domains.numbers)


def _soft(pod: PendingPod, snapshot: Snapshot, defaults: Defaults) -> tuple[tuple[SpreadConstraint, ...], bool]:
    """Return the constraints to score, and whether nodes that lack a topology are scored by the others."""
    spread = pod.request.terms.spread
    if not spread.listed:
        return selecting(defaults.soft, snapshot.owners.selector, pod), defaults.lenient
    if spread.soft_error:
        at = "calculating preScoreState: obtaining pod's soft topology spread constraints"
        raise PluginError(f'running PreScore plugin "{NAME}": {at}: {spread.soft_error}')
    return spread.soft, False


def selecting(
    constraints: tuple[SpreadConstraint, ...], owners_of: Callable[[objects.Pod], Selector], pod: PendingPod
) -> tuple[SpreadConstraint, ...]:
    """Give the default constraints the selector of the pod's owners; without one there are none."""
    if not constraints:
        return ()
    selector = owners_of(pod.pod)
    if selector.is_empty:
        return ()
    return tuple(
        SpreadConstraint(
            one.topology_key, one.max_skew, selector, one.min_domains, one.honours_affinity, one.honours_taints
        )
        for one in constraints
    )


def _included(constraint: SpreadConstraint, pod: PendingPod, snapshot: Snapshot) -> Mask | None:
    """Mark the nodes whose pods count; None is all."""
    found = node_affinity.matching(pod, snapshot.nodes) if constraint.honours_affinity else None
    tainted = taint_toleration.check(pod, snapshot) if constraint.honours_taints else None
    return found if tainted is None else _both(found, tainted.codes == FITS)


def _uneven(
    constraint: SpreadConstraint, domains: Domains, counted: Mask | None, subject: _Subject
) -> NDArray[np.bool_]:
    """Mark the domains that would hold too many with one pod more; [domain]."""
    held = domains.sums(subject.count(constraint.selector), counted)
    eligible = domains.sizes(counted) > 0
    least = float(held[eligible].min()) if eligible.any() else MAX_INT32
    if np.count_nonzero(eligible) < constraint.min_domains:
        least = 0
    itself = int(constraint.selector.matches(subject.pod.pod.metadata.labels))
    return held + itself - least > constraint.max_skew


def _complete(found: list[Domains]) -> Mask | None:
    """Mark the nodes that have every topology; None is all."""
    return reduce(_both, (None if domains.everywhere else domains.present for domains in found), None)


def _of(rows: Rows, column: NDArray[Scalar]) -> NDArray[Scalar]:
    """Take the rows of a column; all of them are the column itself."""
    return column if len(rows) == len(column) else column.take(rows)


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
