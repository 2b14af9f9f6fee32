"""What pods say of spot capacity: three words by annotation, and tolerations of the taints that clouds use."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import capacity_type, objects, request
from cluster_model.capacity_type import ANNOTATION, SPOT_MARKS, Capacity
from tests import build

REFUSED = ("", "Spot", "SPOT", " spot", "spot ", "on_demand", "ondemand", "reserved", "any,spot", "x" * 300)


def problem(text: str, at: str = "") -> str:
    (found,) = request.parse(build.raw_pod(annotations={ANNOTATION: text}), at=at).problems
    return str(found)


@pytest.mark.parametrize("capacity", Capacity)
def test_each_of_the_three_words_is_read(capacity: Capacity) -> None:
    found = request.parse(build.raw_pod(annotations={ANNOTATION: capacity.value}))

    assert (found.capacity, found.problems) == (capacity, ())


def test_a_pod_that_says_nothing_asks_for_nothing() -> None:
    assert request.parse(build.raw_pod()).capacity is None


@pytest.mark.parametrize("text", REFUSED)
def test_any_other_word_is_a_problem_in_the_api_servers_form(text: str) -> None:
    shown = text if len(text) < 254 else text[:253] + "…"

    wanted = f'metadata.annotations[{ANNOTATION}]: Invalid value: "{shown}": must be one of: spot, on-demand, any'
    assert problem(text) == wanted
    assert problem(text, "spec.template") == f"spec.template.{wanted}"


@given(st.text())
def test_no_text_raises(text: str) -> None:
    capacity, problems = capacity_type.read({ANNOTATION: text})

    assert (capacity is None) == bool(problems)


@pytest.mark.parametrize("mark", sorted(SPOT_MARKS))
def test_a_toleration_of_each_clouds_taint_is_one_of_spot(mark: tuple[str, str]) -> None:
    key, value = mark
    equal, exists = objects.Toleration(key=key, value=value), objects.Toleration(key=key, operator="Exists")

    assert capacity_type.tolerates_spot((equal,))
    assert capacity_type.tolerates_spot((objects.Toleration(key="other", operator="Exists"), exists))
    assert not capacity_type.tolerates_spot((objects.Toleration(key=key, value="on-demand"),))


@pytest.mark.parametrize(
    ("fields", "covers"),
    [
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Exists"}, False),
        ({"key": "karpenter.sh/capacity-type", "operator": "Gt", "value": "spot"}, False),
    ],
)
def test_a_toleration_of_everything_covers_spot_too(fields: dict[str, Any], covers: bool) -> None:
    assert capacity_type.tolerates_spot((objects.Toleration(**fields),)) is covers


def test_marks_of_ones_own_take_the_place_of_the_built_in_ones() -> None:
    toleration = objects.Toleration(key="example.com/lifecycle", value="spot")

    assert capacity_type.tolerates_spot((toleration,), frozenset({("example.com/lifecycle", "spot")}))
    assert not capacity_type.tolerates_spot((toleration,))
