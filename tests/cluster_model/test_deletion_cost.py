"""The deletion cost is read as the API server reads it; the values are those tried on a real one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import deletion_cost

TAKEN = {"0": 0, "-0": 0, "-007": -7, "-1": -1, "100": 100, "2147483647": 2**31 - 1, "-2147483648": -(2**31)}
REFUSED = ["+5", "007", "00", "", " 5", "5 ", "5\n", "1_0", "1e3", "0x1", "1.0", "--1", "-", "٣", "1" * 5000]


@pytest.mark.parametrize(("text", "cost"), [*TAKEN.items(), ("-" + "0" * 5000 + "1", -1)])
def test_costs_that_the_api_server_takes(text: str, cost: int) -> None:
    assert deletion_cost.parse(text) == cost


@pytest.mark.parametrize("text", [*REFUSED, "2147483648", "-2147483649", "9999999999"])
def test_costs_that_the_api_server_refuses_are_refused_in_its_words(text: str) -> None:
    (problem,) = deletion_cost.problems({deletion_cost.ANNOTATION: text})
    shown = json.dumps(text, ensure_ascii=False)  # quotes these values as Go's %q does
    wanted = f"metadata.annotations[{deletion_cost.ANNOTATION}]: Invalid value: {shown}: must be a 32bit integer"
    assert str(problem) == wanted


@given(st.integers(-(2**31), 2**31 - 1))
def test_every_int32_is_taken_as_python_writes_it(cost: int) -> None:
    assert deletion_cost.parse(str(cost)) == cost


def test_a_pod_without_a_cost_or_with_a_good_one_has_no_problem() -> None:
    assert deletion_cost.problems({}) == deletion_cost.problems({deletion_cost.ANNOTATION: "-50"}) == ()
