"""From a configuration file to the plugins that decide."""

from pathlib import Path

import pytest

from cluster_model.verdict import BadRequest
from gpu_scheduler import config, profiles
from scheduler_plugins import registry, unsupported
from scheduler_plugins.framework import Profile

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SHIPPED = Path(__file__).parents[2] / "manifests" / "base" / "scheduler" / "config.yaml"


def build(text: str) -> dict[str, Profile]:
    return profiles.build(config.parse(HEAD + text, profiles.KNOWN, "own").profiles)


FILTERS = [
    unsupported.NAME,
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "GPUScheduler",
    "GPUTopologyPlugin",
    "NodeResourcesFit",
]
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "GPUScheduler": 1,
    "GPUTopologyPlugin": 10,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
}


def test_the_default_profile_filters_and_scores_as_documented() -> None:
    """More plugins may stand between and behind these, which keep their order and their weights."""
    found = build("")["gpu-scheduler"]

    assert [plugin.name for plugin in found.filters if plugin.name in FILTERS] == FILTERS
    assert {plugin.name: plugin.weight for plugin in found.scorers}.items() >= WEIGHTS.items()


def test_models_of_all_profiles_are_known_to_the_one_state() -> None:
    config_of = "schedulerName: {}, pluginConfig: [{{name: GPUTopologyPlugin, args: {{extraModels: [{}]}}}}]"
    told = ", ".join(f"{{{config_of.format(*one)}}}" for one in (("a", "B900, C1"), ("b", "B900")))
    found = config.parse(f"{HEAD}profiles: [{told}, {{schedulerName: c}}]", profiles.KNOWN, "own").profiles

    assert profiles.extra_models(found) == ("B900", "C1")


def test_what_we_cannot_honour_is_refused_even_without_any_filter() -> None:
    found = build("profiles: [{plugins: {filter: {disabled: [{name: '*'}]}}}]")["gpu-scheduler"]

    assert [plugin.name for plugin in found.filters] == [unsupported.NAME]


def test_every_scheduler_name_has_its_own_profile() -> None:
    found = build("profiles: [{schedulerName: a}, {schedulerName: b, plugins: {score: {disabled: [{name: '*'}]}}}]")

    assert [len(found["a"].scorers), len(found["b"].scorers)] == [len(registry.SCORERS), 0]


@pytest.mark.parametrize(
    ("plugins", "devices"),
    [
        ("{}", True),
        ("{postFilter: {disabled: [{name: DynamicResources}]}}", False),
        ("{postFilter: {disabled: [{name: '*'}]}}", False),
        ("{multiPoint: {disabled: [{name: DynamicResources}]}}", False),
        ("{filter: {disabled: [{name: DynamicResources}]}}", True),
    ],
)
def test_a_profile_knows_whether_kube_schedulers_would_free_devices_before_it_preempts(
    plugins: str, devices: bool
) -> None:
    assert build(f"profiles: [{{plugins: {plugins}}}]")["gpu-scheduler"].asks_for_devices is devices


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("{}", 600),
        ("{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 7}}]}", 7),
        ("{plugins: {preBind: {disabled: [{name: VolumeBinding}]}}}", None),
        ("{plugins: {multiPoint: {disabled: [{name: VolumeBinding}]}}}", None),
    ],
)
def test_volumes_are_bound_as_long_as_the_profile_says_and_by_nobody_where_that_is_disabled(
    written: str, seconds: int | None
) -> None:
    assert build(f"profiles: [{written}]")["gpu-scheduler"].bind_timeout_seconds == seconds


def test_problems_of_all_profiles_args_are_told_at_once() -> None:
    broken = "pluginConfig: [{name: GPUTopologyPlugin, args: {count: some}}, {name: NodeName, args: {x: 1}}]"
    with pytest.raises(BadRequest) as caught:
        build(f"profiles: [{{schedulerName: a, {broken}}}, {{schedulerName: b, {broken}}}]")

    assert {problem.path.partition(".")[0] for problem in caught.value.problems} == {"profiles[0]", "profiles[1]"}


def test_the_configuration_that_we_ship_is_read_without_a_remark() -> None:
    read = config.load(SHIPPED, profiles.KNOWN, "own")

    assert read.warnings == ()
    assert list(profiles.build(read.profiles)) == ["gpu-scheduler"]
