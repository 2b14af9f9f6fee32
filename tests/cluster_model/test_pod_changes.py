"""Kinds of change of a pod: kube-scheduler's names, in its order, and none for what nobody waits for."""

from typing import Any

import pytest

from cluster_model.pod_changes import asks_otherwise, changes
from tests.gpu_scheduler.build import pending

TOLERATION = {"operator": "Exists"}


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ({"labels": {"a": "b"}}, {}, ["PodLabel"]),
        ({"gpu": 2}, {"gpu": 1}, ["PodScaleDown"]),
        ({"gpu": 1}, {"gpu": 2}, ["PodScaleUp"]),
        ({"gpu": 1}, {}, ["PodScaleDown"]),
        ({}, {"gpu": 1}, ["PodScaleUp"]),
        ({"gates": ["a", "b"]}, {}, ["PodSchedulingGatesEliminated"]),
        ({"gates": ["a", "b"]}, {"gates": ["a"]}, [""]),
        ({}, {"tolerations": [TOLERATION]}, ["PodToleration"]),
        ({}, {"conditions": [{"type": "PodScheduled", "status": "False"}]}, [""]),
        ({}, {"annotations": {"a": "b"}}, [""]),
        ({"gpu": 2}, {"gpu": 1, "labels": {"a": "b"}}, ["PodLabel", "PodScaleDown"]),
    ],
)
@pytest.mark.parametrize(("node", "resource"), [("", "TargetPod"), ("n", "AssignedPod")])
def test_a_change_is_called_what_kube_scheduler_calls_it(
    old: dict[str, Any], new: dict[str, Any], kinds: list[str], node: str, resource: str
) -> None:
    found = changes(pending(node=node, **old), pending(node=node, **new))

    assert found == tuple(f"{resource}Update{kind}" for kind in kinds)


@pytest.mark.parametrize(
    ("new", "differs"),
    [
        ({"conditions": [{"type": "PodScheduled", "status": "False"}]}, False),
        ({"version": "9"}, False),
        ({"annotations": {"team": "x"}}, True),
        ({"annotations": {"gpu.nvidia.com/model": "H100"}}, True),
        ({"labels": {"a": "b"}}, True),
        ({"priority": 4}, True),
    ],
)
def test_only_what_a_verdict_rests_on_makes_a_pod_ask_otherwise(new: dict[str, Any], differs: bool) -> None:
    assert asks_otherwise(pending(), pending(**new)) is differs
