"""Every plugin has a plain twin, and a property test that notices when the two differ."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pytest

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Reason
from scheduler_plugins import registry
from scheduler_plugins.framework import Filter, Profile, Scorer, Scores, Verdict
from tests import generate, oracle_capacity, oracle_gpus, oracle_images, oracle_nodes, oracle_resources
from tests.generate_source import Source
from tests.oracle_affinity import Affinity
from tests.oracle_spread import Spread
from tests.oracle_volumes import Volumes
from tests.scheduler_plugins import test_capacity_properties as capacity
from tests.scheduler_plugins import test_decide_properties as decisions
from tests.scheduler_plugins import test_preemption as preemption
from tests.scheduler_plugins import test_volumes_properties as volumes

Twin: TypeAlias = Callable[..., Any]
Change: TypeAlias = Callable[[Profile], Profile]
SEEDS = 1000


@dataclass(frozen=True)
class Compared:
    """A property test, and its comparison on one cluster of which some plugin is changed."""

    test: Callable[..., None]
    compare: Callable[[Source, Change], object] | None = None


def decided(source: Source, change: Change) -> object:
    return decisions.compare(generate.cluster(source), generate.to_place(source), generate.settings(source), change)


def with_volumes(source: Source, change: Change) -> object:
    return volumes.compare(volumes.cluster(source), volumes.pod(source), source.of(volumes.SHAPES), change)


def with_capacity(source: Source, change: Change) -> object:
    return capacity.compare(capacity.cluster(source), capacity.pod(source), change(capacity.PROFILE))


DECISIONS = Compared(decisions.test_decisions_equal_the_oracles, decided)
VOLUMES = Compared(volumes.test_volumes_are_judged_as_the_twins_judge_them, with_volumes)
CAPACITY = Compared(capacity.test_reasons_and_scores_are_the_twins, with_capacity)
PREEMPTION = Compared(preemption.test_candidates_equal_the_twins)


@dataclass(frozen=True)
class Twins:
    """Who says the same of one node at a time, and who compares."""

    compared: Compared
    filter: Twin | None = None
    scorer: Twin | None = None
    post_filter: Twin | None = None


TWINS = {
    "NodeName": Twins(DECISIONS, oracle_nodes.node_name),
    "NodeUnschedulable": Twins(DECISIONS, oracle_nodes.node_unschedulable),
    "TaintToleration": Twins(DECISIONS, oracle_nodes.taint_toleration, oracle_nodes.soft_taints),
    "NodeAffinity": Twins(DECISIONS, oracle_nodes.node_affinity, oracle_nodes.preferred_weight),
    "NodePorts": Twins(DECISIONS, oracle_resources.node_ports),
    "GPUScheduler": Twins(DECISIONS, oracle_gpus.gpu_scheduler, oracle_gpus.gpu_memory_score),
    "GPUTopologyPlugin": Twins(DECISIONS, oracle_gpus.gpu_topology, oracle_gpus.gpu_topology_score),
    "NodeResourcesFit": Twins(DECISIONS, oracle_resources.node_resources_fit, oracle_resources.fit_score),
    "VolumeRestrictions": Twins(VOLUMES, Volumes.restricted),
    "NodeVolumeLimits": Twins(VOLUMES, Volumes.limited),
    "VolumeBinding": Twins(VOLUMES, Volumes.bound_rejects, Volumes.bound_scores),
    "VolumeZone": Twins(VOLUMES, Volumes.zoned),
    "PodTopologySpread": Twins(DECISIONS, Spread.rejects, Spread.scores),
    "InterPodAffinity": Twins(DECISIONS, Affinity.rejects, Affinity.scores),
    "NodeResourcesBalancedAllocation": Twins(DECISIONS, scorer=oracle_resources.balanced_score),
    "ImageLocality": Twins(DECISIONS, scorer=oracle_images.image_score),
    "DefaultPreemption": Twins(PREEMPTION, post_filter=preemption.twin),
    "NodeDeclaredFeatures": Twins(DECISIONS, oracle_nodes.node_declared_features),
    "SpotScheduler": Twins(CAPACITY, oracle_capacity.spot_rejects, oracle_capacity.spot_score),
    "AZScheduler": Twins(CAPACITY, scorer=oracle_capacity.zone_scores),
    "NodeLessPods": Twins(CAPACITY, oracle_capacity.too_many_pods, oracle_capacity.less_pods_score),
}


def test_every_plugin_names_its_twins() -> None:
    """One for each thing that it does."""
    assert set(TWINS) == set(registry.PLUGINS)
    for name, plugin in registry.PLUGINS.items():
        twins = TWINS[name]
        assert (twins.filter is None, twins.scorer is None, twins.post_filter is None) == (
            plugin.filter is None,
            plugin.scorer is None,
            plugin.post_filter is None,
        ), name


@pytest.mark.parametrize("name", TWINS)
def test_a_property_test_compares_them(name: str) -> None:
    assert getattr(TWINS[name].compared.test, "is_hypothesis_test", False)


def deny(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    return Verdict.where(np.arange(len(snapshot)) == 0, Reason("never", frozenset()))


def blind(found: Filter) -> Filter:
    return replace(found, run=None, refuse=None, narrow=None)


def denying(found: Filter) -> Filter:
    return replace(found, run=deny)


def generous(found: Scorer) -> Scorer:
    def more(raw: Scores) -> Scores:
        given: Scores = (raw if found.normalise is None else found.normalise(raw)).copy()
        given[0] += 1
        return given

    return replace(found, normalise=more)


def noticed(name: str, change: Change) -> bool:
    compare = TWINS[name].compared.compare
    assert compare is not None
    for seed in range(SEEDS):
        try:
            compare(generate.seeded(seed), change)
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("wrong", [blind, denying])
@pytest.mark.parametrize("name", [name for name, twins in TWINS.items() if twins.filter is not None])
def test_a_filter_that_is_wrong_is_noticed(name: str, wrong: Callable[[Filter], Filter]) -> None:
    def change(profile: Profile) -> Profile:
        return replace(profile, filters=tuple(wrong(one) if one.name == name else one for one in profile.filters))

    assert noticed(name, change)


@pytest.mark.parametrize("name", [name for name, twins in TWINS.items() if twins.scorer is not None])
def test_a_score_that_is_wrong_is_noticed(name: str) -> None:
    def change(profile: Profile) -> Profile:
        return replace(profile, scorers=tuple(generous(one) if one.name == name else one for one in profile.scorers))

    assert noticed(name, change)
