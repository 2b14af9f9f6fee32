"""The plain twin of PodTopologySpread: one node, one constraint, one pod at a time. Slow by design."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from cluster_model import objects
from cluster_model.pod import PendingPod
from tests.oracle_labels import Around, Place, joined, says_nothing, selector_matches

Judge: TypeAlias = Callable[[objects.Node], bool]
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TEXT = "node(s) didn't match pod topology spread constraints"
SYSTEM = (
    objects.TopologySpreadConstraint(topology_key=HOSTNAME, max_skew=3, when_unsatisfiable="ScheduleAnyway"),
    objects.TopologySpreadConstraint(topology_key=ZONE, max_skew=5, when_unsatisfiable="ScheduleAnyway"),
)
OWNER_KINDS = {
    ("v1", "ReplicationController"): "ReplicationController",
    ("apps/v1", "ReplicaSet"): "ReplicaSet",
    ("apps/v1", "StatefulSet"): "StatefulSet",
}


class Spread:
    """All constraints of one kind that hold for a pod in a cluster."""

    def __init__(
        self, pod: PendingPod, places: list[Place], around: Around, args: Mapping[str, Any], judges: tuple[Judge, Judge]
    ) -> None:
        self.pod, self.places = pod.pod, places
        self.tolerated, self.selected = judges
        self.listed = bool(self.pod.spec.topology_spread_constraints)
        self.lenient = not self.listed and args.get("defaultingType", "System") == "System"
        if self.listed:
            self.all = [(one, self.own_selector(one)) for one in self.pod.spec.topology_spread_constraints]
        else:
            chosen = SYSTEM if self.lenient else tuple(map(written, args["defaultConstraints"]))
            selector = owner_selector(self.pod, around)
            self.all = [] if says_nothing(selector) else [(one, selector) for one in chosen]

    def own_selector(self, one: objects.TopologySpreadConstraint) -> objects.LabelSelector | None:
        if one.label_selector is None:
            return None
        shared = {key: value for key, value in self.pod.metadata.labels.items() if key in one.match_label_keys}
        return joined([one.label_selector, objects.LabelSelector(match_labels=shared)])

    def of(self, action: str) -> list[tuple[objects.TopologySpreadConstraint, objects.LabelSelector | None]]:
        return [pair for pair in self.all if pair[0].when_unsatisfiable == action]

    def count(self, place: Place, selector: objects.LabelSelector | None) -> int:
        if says_nothing(selector):
            return 0
        counted = 0
        for other in place.pods:
            same_namespace = other.metadata.namespace == self.pod.metadata.namespace
            if same_namespace and not other.metadata.deletion_timestamp:
                counted += selector_matches(selector, other.metadata.labels)
        return counted

    def counts_for(self, one: objects.TopologySpreadConstraint, place: Place, action: str, all_keys: bool) -> bool:
        if all_keys and any(place.label(other.topology_key) is None for other, _ in self.of(action)):
            return False
        if one.node_affinity_policy != "Ignore" and not self.selected(place.node):
            return False
        return one.node_taints_policy != "Honor" or self.tolerated(place.node)

    def by_domain(
        self, one: objects.TopologySpreadConstraint, selector: objects.LabelSelector | None, action: str, all_keys: bool
    ) -> dict[str, int]:
        found: dict[str, int] = {}
        for place in self.places:
            if self.counts_for(one, place, action, all_keys):
                value = place.label(one.topology_key) or ""
                found[value] = found.get(value, 0) + self.count(place, selector)
        return found

    def rejects(self, place: Place) -> list[tuple[str, bool]]:
        for one, selector in self.of("DoNotSchedule"):
            mine = place.label(one.topology_key)
            if mine is None:
                return [(TEXT + " (missing required label)", False)]
            domains = self.by_domain(one, selector, "DoNotSchedule", True)
            least = min(domains.values()) if domains and len(domains) >= one.min_domains else 0
            itself = 1 if selector_matches(selector, self.pod.metadata.labels) else 0
            if domains.get(mine, 0) + itself - least > one.max_skew:
                return [(TEXT, True)]
        return []

    def scores(self, fitting: list[Place]) -> dict[str, int]:
        """Normalised, by node; empty where there is nothing to score by."""
        soft = self.of("ScheduleAnyway")
        if not soft:
            return {}
        ignored = {
            place.node.metadata.name
            for place in fitting
            if not self.lenient and any(place.label(one.topology_key) is None for one, _ in soft)
        }
        kept = [place for place in fitting if place.node.metadata.name not in ignored]
        raw = {place.node.metadata.name: self.raw(place, kept) for place in kept}
        return {place.node.metadata.name: normalised(place.node.metadata.name, raw) for place in fitting}

    def raw(self, place: Place, kept: list[Place]) -> int:
        total = 0.0
        for one, selector in self.of("ScheduleAnyway"):
            mine = place.label(one.topology_key)
            if mine is None:
                continue
            if one.topology_key == HOSTNAME:
                size, held = len(kept), self.count(place, selector)
            else:
                size = len({other.label(one.topology_key) or "" for other in kept})
                held = self.by_domain(one, selector, "ScheduleAnyway", not self.lenient).get(mine, 0)
            total += held * math.log(size + 2) + float(one.max_skew - 1)
        return math.floor(total) + (1 if total - math.floor(total) >= 0.5 else 0)


def normalised(name: str, raw: dict[str, int]) -> int:
    if name not in raw:
        return 0
    highest = max(raw.values())
    return 100 * (highest + min(raw.values()) - raw[name]) // highest if highest else 100


def owner_selector(pod: objects.Pod, around: Around) -> objects.LabelSelector:
    labels, namespace = pod.metadata.labels, pod.metadata.namespace
    parts = [
        objects.LabelSelector(match_labels=service.spec.selector)
        for service in around.services
        if service.metadata.namespace == namespace
        and service.spec.selector is not None
        and all(labels.get(key) == value for key, value in service.spec.selector.items())
    ]
    references = [one for one in pod.metadata.owner_references if one.controller]
    if references and (references[0].api_version, references[0].kind) in OWNER_KINDS:
        for owner in around.controllers:
            found = (type(owner).__name__, owner.metadata.name, owner.metadata.namespace)
            if found == ("StatefulSet", "unreadable", namespace):
                continue
            if found == (references[0].kind, references[0].name, namespace) and owner.spec.selector is not None:
                mine = owner.spec.selector
                parts.append(objects.LabelSelector(match_labels=mine) if isinstance(mine, dict) else mine)
    return joined(parts)


def written(constraint: Mapping[str, Any]) -> objects.TopologySpreadConstraint:
    return objects.TopologySpreadConstraint(
        topology_key=constraint["topologyKey"],
        max_skew=constraint["maxSkew"],
        when_unsatisfiable=constraint["whenUnsatisfiable"],
        min_domains=constraint.get("minDomains", 1),
        node_affinity_policy=constraint.get("nodeAffinityPolicy", ""),
        node_taints_policy=constraint.get("nodeTaintsPolicy", ""),
    )
