"""The plain twin of decide(): one node, one pod, one rule at a time, to compare with. Slow by design."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cluster_model import objects
from cluster_model.pod import PendingPod
from tests import oracle_gpus, oracle_images, oracle_nodes, oracle_resources
from tests.oracle_affinity import Affinity
from tests.oracle_labels import AROUND
from tests.oracle_spread import Spread
from tests.oracle_storage import NOTHING_TOLD
from tests.oracle_view import Said, View
from tests.oracle_volumes import Judge, Volumes, judges

FILTERS: dict[str, Callable[[PendingPod, View], list[Said]]] = {
    "NodeName": oracle_nodes.node_name,
    "NodeUnschedulable": oracle_nodes.node_unschedulable,
    "TaintToleration": oracle_nodes.taint_toleration,
    "NodeAffinity": oracle_nodes.node_affinity,
    "NodePorts": oracle_resources.node_ports,
    "GPUScheduler": oracle_gpus.gpu_scheduler,
    "GPUTopologyPlugin": oracle_gpus.gpu_topology,
    "NodeResourcesFit": oracle_resources.node_resources_fit,
    "NodeDeclaredFeatures": oracle_nodes.node_declared_features,
}
ORDER = (
    *[name for name in FILTERS if name != "NodeDeclaredFeatures"],
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
)
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "GPUScheduler": 1,
    "GPUTopologyPlugin": 10,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "VolumeBinding": 1,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}


@dataclass(frozen=True)
class Settings:
    """The args that the scores depend on."""

    count: str = "free"
    strategy: str = "LeastAllocated"
    weights: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1, "memory": 1})
    shape: list[tuple[int, int]] = field(default_factory=list)
    balanced: tuple[str, ...] = ("cpu", "memory")
    spread: Mapping[str, Any] = field(default_factory=dict)
    affinity: Mapping[str, Any] = field(default_factory=dict)
    added: objects.NodeAffinity = oracle_nodes.NOTHING_ADDED
    ignored: tuple[str, ...] = ()  # names and groups of resources

    def as_args(self) -> dict[str, dict[str, Any]]:
        """Write them as a user would."""
        strategy: dict[str, Any] = {
            "type": self.strategy,
            "resources": [{"name": name, "weight": weight} for name, weight in self.weights.items()],
        }
        if self.strategy == "RequestedToCapacityRatio":
            points = [{"utilization": at, "score": score} for at, score in self.shape]
            strategy["requestedToCapacityRatio"] = {"shape": points}
        return {
            "GPUTopologyPlugin": {"count": self.count},
            "NodeAffinity": {"addedAffinity": msgspec.to_builtins(self.added)},
            "NodeResourcesFit": {
                "scoringStrategy": strategy,
                "ignoredResources": [name for name in self.ignored if "/" in name],
                "ignoredResourceGroups": [name for name in self.ignored if "/" not in name],
            },
            "NodeResourcesBalancedAllocation": {"resources": [{"name": name, "weight": 1} for name in self.balanced]},
            "PodTopologySpread": dict(self.spread),
            "InterPodAffinity": dict(self.affinity),
        }


@dataclass(frozen=True)
class Decided:
    """What the oracle decides: reasons of the nodes that do not fit, normalised scores and totals of the others."""

    reasons: dict[str, tuple[str, list[Said]]]  # node -> plugin, reasons
    scores: dict[str, dict[str, int]]  # plugin -> node -> score
    total: dict[str, int]
    refusal: list[str]
    nodes: int

    @property
    def sentence(self) -> str:
        if not self.nodes:
            return "no nodes available to schedule pods"
        if self.total:
            return ""
        if self.refusal:
            return f"0/{self.nodes} nodes are available: {', '.join(self.refusal)}."
        counted = Counter(text for _, said in self.reasons.values() for text, _ in said)
        entries = sorted(str(number) + " " + text for text, number in counted.items())
        return f"0/{self.nodes} nodes are available: " + ", ".join(entries) + "."


def decide(pod: PendingPod, views: list[View], settings: Settings = Settings()) -> Decided:
    """Decide one node after another."""
    refusal = refusals(pod, views)
    if refusal and views:
        return Decided({}, {}, {}, refusal, len(views))
    across, alone = judges_across(pod, views, settings), filters(settings)
    said = {view.name: first_rejection(pod, view, across, alone) for view in views}
    reasons = {name: found for name, found in said.items() if found is not None}
    fitting = [view for view in views if view.name not in reasons]
    everything = all_scores(pod, fitting, settings, views)
    everything |= {name: judge.scores([view.place for view in fitting]) for name, judge in across.items()}
    scores = {name: given for name, given in everything.items() if given}
    total = {view.name: sum(WEIGHTS[name] * given[view.name] for name, given in scores.items()) for view in fitting}
    return Decided(reasons, scores, total, [], len(views))


def refusals(pod: PendingPod, views: list[View]) -> list[str]:
    said = [str(problem) for problem in pod.request.problems]
    said += [f"{path} is not supported by this scheduler yet" for path in pod.request.unsupported]
    if not said and oracle_nodes.names_allowed(pod) == set():
        return ["pod affinity terms conflict"]
    plugins, names = oracle_nodes.narrowed_by(pod)
    if not said and plugins and not names:
        return [f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"]
    return said or volumes(pod, views).refusals()


def volumes(pod: PendingPod, views: list[View]) -> Volumes:
    told = views[0].told if views else NOTHING_TOLD
    return Volumes(pod.pod, [view.place for view in views], told, oracle_nodes.term_matches)


def judges_across(pod: PendingPod, views: list[View], settings: Settings) -> dict[str, Spread | Affinity | Judge]:
    """The twins of the plugins that look at all nodes for one."""

    def tolerated(node: objects.Node) -> bool:
        return not oracle_nodes.taint_toleration(pod, View(node))

    def selected(node: objects.Node) -> bool:
        return not oracle_nodes.node_affinity(pod, View(node))

    places = [view.place for view in views]
    return {
        **judges(volumes(pod, views)),
        "PodTopologySpread": Spread(pod, places, AROUND, settings.spread, (tolerated, selected)),
        "InterPodAffinity": Affinity(pod, places, AROUND, settings.affinity),
    }


def filters(settings: Settings) -> Mapping[str, Callable[[PendingPod, View], list[Said]]]:
    """The twins of the plugins that look at one node, with their args."""
    return {
        **FILTERS,
        "NodeAffinity": lambda pod, view: (
            oracle_nodes.enforced(view, settings.added) or oracle_nodes.node_affinity(pod, view)
        ),
        "NodeResourcesFit": lambda pod, view: oracle_resources.node_resources_fit(pod, view, settings.ignored),
    }


def first_rejection(
    pod: PendingPod,
    view: View,
    across: Mapping[str, Spread | Affinity | Judge],
    alone: Mapping[str, Callable[[PendingPod, View], list[Said]]],
) -> tuple[str, list[Said]] | None:
    plugins, names = oracle_nodes.narrowed_by(pod)
    if plugins and view.name not in names:
        return plugins[0], [(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]", False)]
    for name in ORDER:
        said = across[name].rejects(view.place) if name in across else alone[name](pod, view)
        if said:
            return name, said
    return None


def all_scores(
    pod: PendingPod, views: list[View], settings: Settings, everywhere: list[View]
) -> dict[str, dict[str, int]]:
    sizes = {name: image.size_bytes for view in everywhere for image in view.node.status.images for name in image.names}
    raw: dict[str, Callable[[View], int | None]] = {
        "TaintToleration": lambda view: oracle_nodes.soft_taints(pod, view),
        "NodeAffinity": lambda view: oracle_nodes.preferred_weight(pod, view, settings.added),
        "GPUScheduler": lambda view: oracle_gpus.gpu_memory_score(pod, view),
        "GPUTopologyPlugin": lambda view: oracle_gpus.gpu_topology_score(pod, view, settings.count),
        "NodeResourcesFit": lambda view: oracle_resources.fit_score(
            pod, view, settings.strategy, settings.weights, settings.shape
        ),
        "NodeResourcesBalancedAllocation": lambda view: oracle_resources.balanced_score(pod, view, settings.balanced),
        "ImageLocality": lambda view: oracle_images.image_score(pod, view, everywhere, sizes),
    }
    found = {}
    for name, judge in raw.items():
        given = {view.name: judge(view) for view in views}
        found[name] = normalised(name, {node: score for node, score in given.items() if score is not None})
    return found


def normalised(name: str, scores: dict[str, int]) -> dict[str, int]:
    if name not in ("TaintToleration", "NodeAffinity", "GPUScheduler") or not scores:
        return scores
    highest = max(scores.values())
    scaled = {node: score * 100 // highest if highest else score for node, score in scores.items()}
    return {node: 100 - score for node, score in scaled.items()} if name == "TaintToleration" else scaled
