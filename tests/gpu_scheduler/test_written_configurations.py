"""Configurations that people have: they load, and choose the plugins that they name, in that order and weight."""

from pathlib import Path

import pytest

from cluster_model.verdict import BadRequest
from gpu_scheduler import config, profiles
from gpu_scheduler.config import ProfileConfig
from gpu_scheduler.kube_config.merging import PluginSet
from gpu_scheduler.plugin_sets import Known

DATA = Path(__file__).parents[1] / "data" / "scheduler_configs"
FILES = ("full", "less-pods", "topology")


def read(name: str) -> str:
    return (DATA / f"{name}.yaml").read_text(encoding="utf-8")


def chosen(name: str) -> ProfileConfig:
    """Read a file as if every plugin that it names existed."""
    sets = profiles.check(read(name)).reads[0].sets
    known = Known(
        profiles.KNOWN.filters | _named(sets["filter"]) | {"NodeVolumeLimits"},
        profiles.KNOWN.scorers | _named(sets["score"]),
        profiles.KNOWN.defaults,
        profiles.KNOWN.points,
    )
    return config.parse(read(name), known, "own").profiles[0]


def _named(found: PluginSet) -> frozenset[str]:
    return frozenset(entry.name for entry in found.enabled)


@pytest.mark.parametrize("name", FILES)
def test_each_is_valid_and_names_what_does_not_exist_here_yet(name: str) -> None:
    verdict = profiles.check(read(name))
    sets = verdict.reads[0].sets

    assert verdict.errors == ()
    own = {"GPUScheduler", "GPUTopologyPlugin", "SpotScheduler", "AZScheduler", "NodeLessPods"}
    missing = (_named(sets["filter"]) | _named(sets["score"])) & own - profiles.KNOWN.ours
    assert set(verdict.unknown_plugins) == missing


def test_the_full_one_filters_in_its_order_with_the_volume_limits_of_today() -> None:
    named = (
        "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions"
        " NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity GPUScheduler"
    )

    filters = [name for name in chosen("full").filters if name in named.split()]
    assert set(filters) == set(named.split())
    both = [name for name in named.split() if name in dict(profiles.KNOWN.defaults)]
    assert [name for name in filters if name in both] == both


def test_the_full_one_scores_with_its_weights() -> None:
    scorers = dict(chosen("full").scorers)

    assert {name: scorers[name] for name in ("PodTopologySpread", "GPUScheduler", "SpotScheduler", "AZScheduler")} == {
        "PodTopologySpread": 2,
        "GPUScheduler": 10,
        "SpotScheduler": 5,
        "AZScheduler": 3,
    }
    ones = ("NodeResourcesBalancedAllocation", "ImageLocality", "InterPodAffinity", "NodeResourcesFit", "NodeAffinity")
    assert {scorers[name] for name in (*ones, "TaintToleration")} == {1}


def test_a_star_leaves_only_what_is_named() -> None:
    found = chosen("less-pods")

    assert (found.filters, found.scorers) == (("NodeLessPods",), (("NodeLessPods", 1),))


def test_one_more_weight_keeps_the_defaults() -> None:
    found = chosen("topology")

    assert found.scorers[0] == ("GPUTopologyPlugin", 10)
    assert set(found.filters) == profiles.KNOWN.filters
    assert found.points["queueSort"] == ("PrioritySort",)


@pytest.mark.parametrize("name", FILES)
def test_a_scheduler_starts_with_one_if_it_has_all_plugins_else_it_names_each(name: str) -> None:
    wanted = _wanted(name)
    try:
        config.parse(read(name), profiles.KNOWN, "own")
        refused = set()
    except BadRequest as problem:
        refused = {found.value for found in problem.problems if "known: " in found.rule}

    assert refused == wanted


def _wanted(name: str) -> set[str]:
    """Which plugins the file enables that cannot be started."""
    sets = profiles.check(read(name)).reads[0].sets
    named = {"NodeVolumeLimits" if one == "EBSLimits" else one for found in sets.values() for one in _named(found)}
    return {one for one in named if one not in profiles.KNOWN.ours and one != "PrioritySort"}
