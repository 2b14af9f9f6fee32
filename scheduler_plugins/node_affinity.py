"""NodeAffinity: nodeSelector and required terms keep a pod off nodes, preferred terms add their weights up.

The args' addedAffinity holds for every pod of the profile beside its own.
"""

from collections.abc import Hashable, Iterator
from functools import partial

import numpy as np

from cluster_model import objects
from cluster_model.columns import Mask, sealed
from cluster_model.objects import NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm
from cluster_model.pod import PendingPod
from cluster_model.snapshot import NodeColumns, Rows, Snapshot
from cluster_model.verdict import Event, Problem, Reason
from scheduler_plugins import plugin_args, selector_errors, selectors
from scheduler_plugins.framework import Narrowing, PluginError, ReasonSet, Scores, Verdict, cures

NAME = "NodeAffinity"
CURES = cures(Event.NODE_ADD, Event.NODE_LABEL)
NOT_ADDED = Reason("node(s) didn't match scheduler-enforced node affinity", CURES)
NOT_MATCHED = Reason("node(s) didn't match Pod's node affinity/selector", CURES)
CONFLICT = Reason("pod affinity terms conflict", CURES)
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Args(plugin_args.Args, frozen=True):
    """`addedAffinity` is a node affinity that the administrator adds to every pod's own."""

    added_affinity: objects.NodeAffinity = objects.NodeAffinity()

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what is malformed in the terms."""
        required = self.added_affinity.required
        for index, term in enumerate(required.node_selector_terms if required else ()):
            yield from selectors.problems(term, f"{path}.addedAffinity.{REQUIRED}.nodeSelectorTerms[{index}]")
        yield from _problems_of_preferred(self.added_affinity.preferred, f"{path}.addedAffinity.{PREFERRED}")


def refuse(pod: PendingPod) -> ReasonSet:
    """Refuse a pod whose terms name nodes that exclude one another."""
    return (CONFLICT,) if _named(_affinity(pod).required) == frozenset() else ()


def narrow(pod: PendingPod) -> Narrowing | None:
    """Leave out all nodes but the ones that the required terms name, if every term names some."""
    named = _named(_affinity(pod).required)
    return None if named is None else Narrowing(named, CURES)


def check(pod: PendingPod, snapshot: Snapshot, args: Args) -> Verdict | None:
    """Reject the nodes that the profile's affinity, then the pod's selector or required terms do not match."""
    added, own, selector = args.added_affinity.required, _affinity(pod).required, pod.pod.spec.node_selector
    if added is None and own is None and not selector:
        return None
    key: Hashable = (NAME, "check", added, own, tuple(sorted(selector.items())))
    return snapshot.nodes.remembered(key, partial(_check, added, own, selector, snapshot.nodes))


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows, args: Args) -> Scores | None:
    """Sum the weights of the preferred terms that match, the profile's and the pod's; those must be readable."""
    wrong = selector_errors.of_preferred(_affinity(pod).preferred)
    if wrong:
        raise PluginError(f'running PreScore plugin "{NAME}": {wrong}')
    terms = args.added_affinity.preferred + _affinity(pod).preferred
    if not terms:
        return None
    return snapshot.nodes.remembered((NAME, "score", terms), lambda: _weights(terms, snapshot.nodes)).take(rows)


def matching(pod: PendingPod, nodes: NodeColumns) -> Mask | None:
    """Mark the nodes that the pod's own selector and required terms match; None: it has none."""
    own, selector = _affinity(pod).required, pod.pod.spec.node_selector
    if own is None and not selector:
        return None
    key: Hashable = (NAME, "matching", own, tuple(sorted(selector.items())))
    return nodes.remembered(key, lambda: sealed(_selected(own, selector, nodes)))


def _affinity(pod: PendingPod) -> objects.NodeAffinity:
    return pod.pod.spec.affinity.node_affinity or objects.NodeAffinity()


def _check(
    added: NodeSelector | None, own: NodeSelector | None, selector: objects.Labels, nodes: NodeColumns
) -> Verdict | None:
    codes = np.zeros(len(nodes.names), np.uint8)
    codes[~_selected(own, selector, nodes)] = 2
    if added is not None:
        codes[~selectors.any_matching(added.node_selector_terms, nodes)] = 1
    return Verdict(sealed(codes), ((NOT_ADDED,), (NOT_MATCHED,))) if codes.any() else None


def _selected(required: NodeSelector | None, selector: objects.Labels, nodes: NodeColumns) -> Mask:
    found: Mask = np.ones(len(nodes.names), np.bool_)
    for key, value in selector.items():
        found &= nodes.label(key).among([value])
    if required is not None:
        found &= selectors.any_matching(required.node_selector_terms, nodes)
    return found


def _weights(terms: tuple[PreferredSchedulingTerm, ...], nodes: NodeColumns) -> Scores:
    total = np.zeros(len(nodes.names), np.int64)
    for term in terms:
        total[selectors.matching(term.preference, nodes)] += term.weight
    return sealed(total)


def _named(required: NodeSelector | None) -> frozenset[str] | None:
    """Return the node names that the terms allow; None where some term does not limit them."""
    if required is None or not required.node_selector_terms:
        return None
    names: frozenset[str] = frozenset()
    for term in required.node_selector_terms:
        named = _named_by_term(term)
        if named is None:
            return None
        names |= named
    return names


def _named_by_term(term: NodeSelectorTerm) -> frozenset[str] | None:
    named: frozenset[str] | None = None
    for requirement in term.match_fields:
        if requirement.key == selectors.NODE_NAME and requirement.operator == "In":
            values = frozenset(requirement.values)
            named = values if named is None else named & values
    return named


def _problems_of_preferred(terms: tuple[PreferredSchedulingTerm, ...], path: str) -> Iterator[Problem]:
    for index, term in enumerate(terms):
        if term.weight and not selectors.is_empty(term.preference):
            yield from selectors.problems(term.preference, f"{path}[{index}].preference")
