"""Writes cases from a seed: each subject alone, three together, and within the whole default profile, in turn.

A subject is a plugin, or a trait of pods that some plugins must read. Its generator changes a world so that they find
something to say in it. A further plugin is one more entry here and one in `profiles.WEIGHTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tests.differential import (
    affinity,
    binding_cases,
    image_cases,
    neighbour_cases,
    profiles,
    resources,
    simple,
    spread_cases,
    volume_cases,
    world,
)
from tests.differential.documents import Document, config, default_config
from tests.differential.world import World


@dataclass(frozen=True, slots=True)
class Subject:
    """How to make cases for it, and the plugins to configure where it stands alone."""

    generate: Callable[[World], None]
    plugins: tuple[str, ...]


FIT, BALANCE = "NodeResourcesFit", "NodeResourcesBalancedAllocation"
SUBJECTS: Mapping[str, Subject] = {
    "NodeName": Subject(simple.node_name, ("NodeName",)),
    "NarrowedTwice": Subject(simple.narrowed_twice, ("NodeName", "NodeAffinity")),
    "NodeUnschedulable": Subject(simple.node_unschedulable, ("NodeUnschedulable",)),
    "TaintToleration": Subject(simple.taint_toleration, ("TaintToleration",)),
    "NodeAffinity": Subject(affinity.node_affinity, ("NodeAffinity",)),
    "MalformedPreference": Subject(affinity.malformed_preference, ("NodeAffinity",)),
    "NodePorts": Subject(simple.node_ports, ("NodePorts",)),
    FIT: Subject(resources.node_resources_fit, (FIT,)),
    BALANCE: Subject(resources.balanced_allocation, (BALANCE,)),
    "PodTopologySpread": Subject(spread_cases.pod_topology_spread, ("PodTopologySpread",)),
    "CrowdedSpread": Subject(spread_cases.crowded_spread, ("PodTopologySpread",)),
    "DefaultSpread": Subject(spread_cases.default_spread, ("PodTopologySpread",)),
    "InterPodAffinity": Subject(neighbour_cases.inter_pod_affinity, ("InterPodAffinity",)),
    "CrowdedAffinity": Subject(neighbour_cases.crowded_affinity, ("InterPodAffinity",)),
    "VolumeRestrictions": Subject(volume_cases.volume_restrictions, ("VolumeRestrictions",)),
    "NodeVolumeLimits": Subject(volume_cases.node_volume_limits, ("NodeVolumeLimits",)),
    "VolumeBinding": Subject(binding_cases.volume_binding, ("VolumeBinding",)),
    "VolumeScores": Subject(binding_cases.volume_scores, ("VolumeBinding",)),
    "VolumeZone": Subject(volume_cases.volume_zone, ("VolumeZone",)),
    "ImageLocality": Subject(image_cases.image_locality, ("ImageLocality",)),
    "NodeDeclaredFeatures": Subject(image_cases.node_declared_features, ("NodeDeclaredFeatures",)),
    "PodLevelResources": Subject(resources.pod_level, (FIT, BALANCE)),
    "PodResize": Subject(resources.pod_resize, (FIT, BALANCE)),
    "NominatedPods": Subject(resources.nominated_pods, (FIT,)),
}
MIXED = 3
PARTS = ("alone", "mixed", "default")


def cases(seed: int, count: int, subjects: Sequence[str] = tuple(SUBJECTS)) -> Iterator[Document]:
    """Yield cases; each depends on the seed, its own number and the subjects only."""
    return (case(seed, number, subjects) for number in range(count))


def case(seed: int, number: int, subjects: Sequence[str] = tuple(SUBJECTS), node_prefix: str = "n") -> Document:
    """Write one case. Its plugins are configured alone, or stand among all of the default profile."""
    rng = Random(f"{seed}/{number}")
    part = PARTS[number % len(PARTS)]
    chosen = [subjects[number // len(PARTS) % len(subjects)]]
    if part != "alone":
        chosen = rng.sample(subjects, min(MIXED, len(subjects)))
    made = world.start(rng, node_prefix)
    for subject in chosen:
        SUBJECTS[subject].generate(made)
    found = {"id": f"{seed}/{number}", "nodes": made.nodes, "pods": made.pods, "pod": made.pod, **made.others}
    return found | {"config": default_config(made.args) if part == "default" else _config(made, chosen)}


def _config(made: World, chosen: Iterable[str]) -> Document:
    """Configure the plugins of the chosen subjects, seldom with weights of other than the default."""
    wanted = {plugin for subject in chosen for plugin in SUBJECTS[subject].plugins}
    plugins = profiles.weighted(wanted)
    if made.seldom(3):
        plugins = [(name, weight and made.of((1, 2, 5))) for name, weight in plugins]
    return config(plugins, {name: args for name, args in made.args.items() if name in wanted})
