"""Profiles are built from names, weights and args; what cannot be read is refused with path and accepted form."""

from typing import Any

import pytest

from cluster_model.verdict import BadRequest
from scheduler_plugins import registry
from scheduler_plugins.framework import Sampling

FIT_PATH = "profiles[0].pluginConfig[2].args"


def refusal(name: str, args: dict[str, Any]) -> str:
    with pytest.raises(BadRequest) as refused:
        registry.profile(args={name: args}, paths={name: FIT_PATH})
    return str(refused.value)


def test_defaults_pair_every_plugin_with_its_weight_in_filter_order() -> None:
    weightless = dict.fromkeys((*registry.FILTERS, "DefaultPreemption"), 0)
    assert dict(registry.DEFAULTS) == {**weightless, **dict(registry.SCORERS)}
    assert [name for name, _ in registry.DEFAULTS if name in registry.FILTERS] == list(registry.FILTERS)


ONE_MODEL = 'must name one GPU model in at most 253 characters, such as "RTX-9090"'


def test_filters_and_scorers_run_in_the_order_given_with_the_weights_given() -> None:
    profile = registry.profile("mine", ("NodePorts", "NodeName"), (("GPUScheduler", 7), ("TaintToleration", 1)))

    assert profile.scheduler_name == "mine"
    assert [plugin.name for plugin in profile.filters] == ["UnsupportedConstraints", "NodePorts", "NodeName"]
    assert [(scorer.name, scorer.weight) for scorer in profile.scorers] == [("GPUScheduler", 7), ("TaintToleration", 1)]


def test_a_profile_preempts_only_when_it_is_told_to() -> None:
    plain = registry.profile()
    sampling = registry.preempting(plain, {"minCandidateNodesAbsolute": 7}).preemption

    assert (plain.preemption, sampling) == (None, Sampling(10, 7))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"filters": ("Nonsense",)}, 'plugins: Invalid value: "Nonsense": unknown plugin; known: NodeName, '),
        ({"args": {"Nonsense": {}}}, 'plugins: Invalid value: "Nonsense": unknown plugin; known: NodeName, '),
        (
            {"filters": ("NodeResourcesBalancedAllocation",)},
            'filters: Invalid value: "NodeResourcesBalancedAllocation": must be a filter: NodeName, ',
        ),
        ({"scorers": (("NodePorts", 1),)}, 'scorers: Invalid value: "NodePorts": must be a scorer: TaintToleration, '),
    ],
)
def test_names_that_do_not_exist_or_do_not_extend_a_point_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        registry.profile(**fields)

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("NodePorts", {"x": 1}, '.x: Invalid value: "1": unknown field; known: none'),
        ("GPUTopologyPlugin", {"counts": "x"}, '.counts: Invalid value: "x": unknown field; known: count, extraModels'),
        ("GPUTopologyPlugin", {"count": "some"}, '.count: Invalid value: "some": must be one of: free, total'),
        ("NodeResourcesFit", {"ignoredResources": "x"}, '.ignoredResources: Invalid value: "x": must be a list'),
        ("NodeResourcesFit", {"scoringStrategy": 7}, ".scoringStrategy: Invalid value: 7: must be a mapping"),
        ("GPUTopologyPlugin", {"count": 3}, ".count: Invalid value: 3: must be a string"),
        ("GPUTopologyPlugin", {"extraModels": "B900"}, '.extraModels: Invalid value: "B900": must be a list'),
        ("GPUTopologyPlugin", {"extraModels": ["B900", ""]}, f'.extraModels[1]: Invalid value: "": {ONE_MODEL}'),
        ("GPUTopologyPlugin", {"extraModels": ["NVIDIA"]}, f'.extraModels[0]: Invalid value: "NVIDIA": {ONE_MODEL}'),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "Best"}},
            '.scoringStrategy.type: Invalid value: "Best": must be one of: LeastAllocated, MostAllocated, '
            "RequestedToCapacityRatio",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu"}, {"name": "memory", "wait": 1}]}},
            '.scoringStrategy.resources[1].wait: Invalid value: "1": unknown field; known: name, weight',
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": "1"}]}},
            '.scoringStrategy.resources[0].weight: Invalid value: "1": must be a whole number',
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}},
            ".scoringStrategy.resources[0].weight: Invalid value: 101: "
            "resource weight of 101 not in valid range (0, 100]",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            '.scoringStrategy.requestedToCapacityRatio: Invalid value: "": '
            "must be specified when type is RequestedToCapacityRatio",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 1}]}}},
            '.scoringStrategy.requestedToCapacityRatio: Invalid value: "": '
            "must be nil when type is not RequestedToCapacityRatio",
        ),
        (
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["example.com/x"]},
            ".ignoredResourceGroups[0]: Invalid value: \"example.com/x\": resource group name can't contain '/'",
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}]},
            ".resources[0].weight: Invalid value: 2: must be 1",
        ),
        (
            "NodeAffinity",
            {
                "addedAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Like"}]}]
                    }
                }
            },
            ".addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
            '.operator: Invalid value: "Like": must be one of: In, NotIn, Exists, DoesNotExist, Gt, Lt',
        ),
    ],
)
def test_args_are_refused_where_they_stand(name: str, args: dict[str, Any], message: str) -> None:
    assert refusal(name, args) == FIT_PATH + message


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], '.shape: Invalid value: "": at least one point must be specified'),
        ([(0, 11)], ".shape[0].score: Invalid value: 11: not in valid range [0, 10]"),
        ([(-1, 0)], ".shape[0].utilization: Invalid value: -1: not in valid range [0, 100]"),
        ([(50, 0), (50, 1)], ".shape[1].utilization: Invalid value: 50: values must be sorted in increasing order"),
    ],
)
def test_a_line_must_rise_from_left_to_right_within_its_range(points: list[tuple[int, int]], message: str) -> None:
    shape = [{"utilization": at, "score": score} for at, score in points]
    strategy = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}

    found = refusal("NodeResourcesFit", {"scoringStrategy": strategy})

    assert found.startswith(f"{FIT_PATH}.scoringStrategy.requestedToCapacityRatio{message}")


def test_all_problems_of_one_plugins_args_are_told_at_once() -> None:
    resources = [{"name": "cpu", "weight": 500}, {"name": "memory", "weight": -1}]

    assert refusal("NodeResourcesFit", {"scoringStrategy": {"resources": resources}}).count("not in valid range") == 2


def test_type_and_version_of_args_may_stand_and_null_is_absent() -> None:
    args = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NodeResourcesFitArgs", "scoringStrategy": None}

    assert registry.profile(args={"NodeResourcesFit": args}).filters


def test_args_of_a_plugin_that_is_not_used_are_read_too() -> None:
    with pytest.raises(BadRequest):
        registry.profile(filters=(), scorers=(), args={"GPUTopologyPlugin": {"count": "some"}})
