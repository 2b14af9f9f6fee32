"""Where volumes and classes can be used: node affinities, allowed topologies and capacities against node labels."""

from collections.abc import Iterable
from functools import partial

import msgspec
import numpy as np

from cluster_model import csi_migration
from cluster_model.columns import Mask
from cluster_model.label_selectors import Requirement, Selector
from cluster_model.objects import NodeSelector, NodeSelectorTerm
from cluster_model.snapshot import NodeColumns, Rows, Snapshot
from cluster_model.storage_columns import Sized, Storage
from cluster_model.storage_objects import PersistentVolume, TopologySelectorTerm
from cluster_model.volume_pools import MOST_REACHES
from scheduler_plugins import selectors


def matching(affinity: NodeSelector | None, nodes: NodeColumns) -> Mask:
    """Return which nodes a volume's node affinity matches. Labels alone decide: nodes have no fields here."""
    if affinity is None:
        return np.ones(len(nodes.names), np.bool_)
    found: Mask = np.zeros(len(nodes.names), np.bool_)
    for term in affinity.node_selector_terms:
        found |= _matches(term, nodes)
    return found


def rows(volume: PersistentVolume, nodes: NodeColumns) -> Rows:
    """Return the rows where a volume can be used."""
    found = volume.spec.node_affinity
    return np.flatnonzero(matching(None if found is None else found.required, nodes))


def rows_within_reach(sized: Sized, nodes: NodeColumns) -> Rows:
    """Return the rows where a free volume can be used; worked out once for all of the same reach."""
    known: dict[int, Rows] = nodes.remembered("reaches of volumes", dict)
    found = known.get(sized.reach)
    if found is None:
        if len(known) >= MOST_REACHES:
            known.clear()
        found = known[sized.reach] = rows(sized.volume, nodes)
    return found


def usable(volume: PersistentVolume, nodes: NodeColumns, storage: Storage) -> Mask:
    """Return the nodes where a bound volume can be used; nodes that have migrated its kind read it as CSI does."""
    found: Mask = np.zeros(len(nodes.names), np.bool_)
    found[rows(volume, nodes)] = True
    kind = csi_migration.kind_of(volume.spec)
    if kind is None:
        return found
    plugin, translated = kind.plugin, csi_migration.node_affinity(volume)
    migrated = storage.csi_nodes.where(lambda facts: facts is not None and plugin in facts.migrated)
    return np.where(migrated, matching(translated, nodes), found)


def is_usable(volume: PersistentVolume, snapshot: Snapshot, node: str) -> bool:
    """Say whether a bound volume can be used on one node."""
    row = np.array([snapshot.nodes.rows[node]], np.intp)
    return bool(usable(volume, snapshot.nodes.take(row), snapshot.storage.take(row))[0])


def allowed(terms: Iterable[TopologySelectorTerm], nodes: NodeColumns) -> Mask:
    """Return the nodes that a class can provide volumes for; no terms allow all, an empty term none."""
    terms = tuple(terms)
    found: Mask = np.full(len(nodes.names), not terms)
    for term in terms:
        matched: Mask = np.full(len(nodes.names), bool(term.match_label_expressions))
        for wanted in term.match_label_expressions:
            matched &= nodes.label(wanted.key).among(wanted.values)
        found |= matched
    return found


def selected(selector: Selector, nodes: NodeColumns) -> Mask:
    """Return the nodes whose labels a selector matches."""
    found: Mask = np.full(len(nodes.names), not selector.nothing)
    for requirement in selector.requirements:
        found &= nodes.label(requirement.key).where(partial(_meets, requirement))
    return found


def _meets(requirement: Requirement, value: str | None) -> bool:
    return requirement.matches({} if value is None else {requirement.key: value})


def _matches(term: NodeSelectorTerm, nodes: NodeColumns) -> Mask:
    """Judge one term by its labels. Conditions on fields must be readable, and then hold for a node without fields."""
    if not term.match_fields:
        return selectors.matching(term, nodes)
    if next(selectors.problems(NodeSelectorTerm(match_fields=term.match_fields), ""), None) is not None:
        return np.zeros(len(nodes.names), np.bool_)
    if not term.match_expressions:
        return np.ones(len(nodes.names), np.bool_)
    return selectors.matching(msgspec.structs.replace(term, match_fields=()), nodes)
