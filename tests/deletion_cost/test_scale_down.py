"""How many pods an autoscaler may take, as its controller computes it."""

from typing import Any

import pytest

from deletion_cost import scale_down
from deletion_cost.scale_down import (
    AutoscalerSpec,
    Behavior,
    HorizontalPodAutoscaler,
    ScalingPolicy,
    ScalingRules,
)


def autoscaler(**rules: Any) -> HorizontalPodAutoscaler:
    behavior = Behavior(scale_down=ScalingRules(**rules))
    return HorizontalPodAutoscaler(spec=AutoscalerSpec(min_replicas=4, behavior=behavior))


def policy(kind: str, value: int, period: int = 60) -> ScalingPolicy:
    return ScalingPolicy(type=kind, value=value, period_seconds=period)


@pytest.mark.parametrize(
    ("rules", "within", "wanted"),
    [
        ({}, 1, 6),
        ({"select_policy": "Disabled"}, 60, 0),
        ({"policies": (policy("Pods", 2),)}, 60, 2),
        ({"policies": (policy("Pods", 2),)}, 61, 4),
        ({"policies": (policy("Pods", 2, 15),)}, 60, 6),
        ({"policies": (policy("Percent", 10),)}, 1, 1),
        ({"policies": (policy("Percent", 25, 30),)}, 60, 5),
        ({"policies": (policy("Pods", 1), policy("Percent", 50))}, 60, 5),
        ({"policies": (policy("Pods", 1), policy("Percent", 50)), "select_policy": "Min"}, 60, 1),
    ],
)
def test_the_policies_bound_what_is_above_the_minimum(rules: dict[str, Any], within: float, wanted: int) -> None:
    assert scale_down.most_victims(autoscaler(**rules), 10, within) == wanted


def test_nothing_goes_below_the_minimum() -> None:
    assert scale_down.most_victims(autoscaler(), 3, 60) == 0


def test_the_window_is_five_minutes_where_none_is_set() -> None:
    assert scale_down.window_seconds(autoscaler()) == 300
    assert scale_down.window_seconds(autoscaler(stabilization_window_seconds=0)) == 0
