"""The plain twin of InterPodAffinity: one node, one term, one pair of pods at a time. Slow by design."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cluster_model import objects
from cluster_model.pod import PendingPod
from tests.oracle_labels import Around, Place, says_nothing, selector_matches

NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"
KEPT_OFF = "node(s) didn't satisfy existing pods anti-affinity rules"

Weighted = tuple[int, objects.PodAffinityTerm]


def required(pod: objects.Pod, apart: bool) -> tuple[objects.PodAffinityTerm, ...]:
    found = pod.spec.affinity.pod_anti_affinity if apart else pod.spec.affinity.pod_affinity
    return () if found is None else found.required


def preferred(pod: objects.Pod) -> Iterator[Weighted]:
    near, apart = pod.spec.affinity.pod_affinity, pod.spec.affinity.pod_anti_affinity
    for one in () if near is None else near.preferred:
        yield one.weight, one.pod_affinity_term
    for one in () if apart is None else apart.preferred:
        yield -one.weight, one.pod_affinity_term


class Affinity:
    """All terms that matter for one pod in one cluster."""

    def __init__(self, pod: PendingPod, places: list[Place], around: Around, args: Mapping[str, Any]) -> None:
        self.pod, self.places, self.around, self.args = pod.pod, places, around, args

    def means(self, owner: objects.Pod, term: objects.PodAffinityTerm, other: objects.Pod) -> bool:
        """Whether a term of `owner` means `other`."""
        namespace = other.metadata.namespace
        if not term.namespaces and term.namespace_selector is None:
            inside = namespace == owner.metadata.namespace
        else:
            inside = namespace in term.namespaces or self.selects_namespace(term.namespace_selector, namespace)
        return inside and selector_matches(term.label_selector, other.metadata.labels)

    def selects_namespace(self, selector: objects.LabelSelector | None, name: str) -> bool:
        return says_nothing(selector) or selector_matches(selector, self.around.namespace_labels(name))

    def near_by(self, place: Place, key: str, meant: Callable[[objects.Pod], bool]) -> int:
        """How many pods in the node's domain are meant."""
        mine = place.label(key)
        if mine is None:
            return 0
        return sum(meant(pod) for other in self.places if other.label(key) == mine for pod in other.pods)

    def skips(self) -> bool:
        """Whether the pod asks for nothing, and no pod of a topology asks to be apart from it."""
        if required(self.pod, apart=False) or required(self.pod, apart=True):
            return False
        return not any(
            place.label(term.topology_key) is not None and self.means(other, term, self.pod)
            for place in self.places
            for other in place.pods
            for term in required(other, apart=True)
        )

    def rejects(self, place: Place) -> list[tuple[str, bool]]:
        if not self.is_near(place):
            return [(NOT_NEAR, False)]
        for term in required(self.pod, apart=True):
            if self.near_by(place, term.topology_key, lambda other, term=term: self.means(self.pod, term, other)):  # type: ignore[misc]
                return [(NOT_APART, True)]
        for other in self.places:
            for pod in other.pods:
                for term in required(pod, apart=True):
                    mine = place.label(term.topology_key)
                    same = mine is not None and mine == other.label(term.topology_key)
                    if same and self.means(pod, term, self.pod):
                        return [(KEPT_OFF, True)]
        return []

    def is_near(self, place: Place) -> bool:
        terms = required(self.pod, apart=False)
        if any(place.label(term.topology_key) is None for term in terms):
            return False

        def meant(other: objects.Pod) -> bool:
            return all(self.means(self.pod, term, other) for term in terms)

        if all(self.near_by(place, term.topology_key, meant) for term in terms):
            return True
        anybody = any(self.near_by(other, term.topology_key, meant) for other in self.places for term in terms)
        return not anybody and meant(self.pod)

    def scores(self, fitting: list[Place]) -> dict[str, int]:
        """Normalised, by node; empty where there is nothing to score by."""
        own = list(preferred(self.pod))
        if not own and self.args.get("ignorePreferredTermsOfExistingPods", False):
            return {}
        worth: dict[tuple[str, str], int] = {}
        for place in self.places:
            for other in place.pods:
                for weight, term in self.wishes_between(own, other):
                    value = place.label(term.topology_key)
                    if value is not None:
                        pair = (term.topology_key, value)
                        worth[pair] = worth.get(pair, 0) + weight
        if not worth or not fitting:
            return {}
        return normalised({place.node.metadata.name: self.raw(place, worth) for place in fitting})

    def wishes_between(self, own: list[Weighted], other: objects.Pod) -> Iterator[Weighted]:
        for weight, term in own:
            if self.means(self.pod, term, other):
                yield weight, term
        theirs = list(preferred(other))
        hard = self.args.get("hardPodAffinityWeight", 1)
        if hard:
            theirs += [(hard, term) for term in required(other, apart=False)]
        for weight, term in theirs:
            if self.means(other, term, self.pod):
                yield weight, term

    def raw(self, place: Place, worth: dict[tuple[str, str], int]) -> int:
        return sum(weight for (key, value), weight in worth.items() if place.label(key) == value)


def normalised(raw: dict[str, int]) -> dict[str, int]:
    lowest, highest = min(raw.values()), max(raw.values())
    if lowest == highest:
        return dict.fromkeys(raw, 0)
    return {name: int(100.0 * ((score - lowest) / (highest - lowest))) for name, score in raw.items()}
