"""What cannot be read in preferred terms is said in kube-scheduler's words; all of it at once, nothing twice."""

import pytest

from cluster_model.objects import NodeSelectorTerm, PreferredSchedulingTerm
from scheduler_plugins import selector_errors
from tests.build import requirement, term

OPERATORS = '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"


def said(*wishes: NodeSelectorTerm) -> str:
    return selector_errors.of_preferred(PreferredSchedulingTerm(weight=1, preference=wish) for wish in wishes)


@pytest.mark.parametrize(
    ("operator", "values", "wrong"),
    [
        ("Lt", ("1e3",), f'values[0]: Invalid value: "1e3": {NO_INTEGER}'),
        ("Gt", (), "values: Invalid value: null: for 'Gt', 'Lt' operators, exactly one value is required"),
        ("In", (), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        (
            "Exists",
            ("a", "b"),
            'values: Invalid value: ["a","b"]: values set must be empty for exists and does not exist',
        ),
        ("Within", ("a",), f'operator: Unsupported value: "Within": supported values: {OPERATORS}'),
        ("In", ("a" * 64,), f'values[0][k]: Invalid value: "{"a" * 64}": must be no more than 63 bytes'),
    ],
)
def test_a_requirement_on_a_label(operator: str, values: tuple[str, ...], wrong: str) -> None:
    assert said(term(requirement("k", operator, *values))) == f"[0].matchExpressions[0].{wrong}"


@pytest.mark.parametrize(
    ("operator", "values", "wrong"),
    [
        ("Exists", (), 'operator: Unsupported value: "Exists": supported values: "In", "NotIn"'),
        ("In", ("a", "b"), 'values: Invalid value: ["a","b"]: must have one element'),
    ],
)
def test_a_requirement_on_the_name(operator: str, values: tuple[str, ...], wrong: str) -> None:
    found = requirement("metadata.name", operator, *values)

    assert said(NodeSelectorTerm(match_fields=(found,))) == f"[0].matchFields[0].{wrong}"


def test_a_key_is_quoted_as_go_quotes() -> None:
    assert said(term(requirement('a"\n', "Exists"))).startswith(
        '[0].matchExpressions[0].key: Invalid value: "a\\"\\n": name part must consist of'
    )


def test_several_errors_stand_in_brackets() -> None:
    wish = term(requirement("k", "Gt", "a"))

    both = said(wish, term(), wish)

    assert both == (
        f'[[0].matchExpressions[0].values[0]: Invalid value: "a": {NO_INTEGER}, '
        f'[2].matchExpressions[0].values[0]: Invalid value: "a": {NO_INTEGER}]'
    )


def test_what_can_be_read_says_nothing() -> None:
    assert said(term(requirement("k", "Gt", "07"), requirement("example.com/k", "NotIn", "", "b")), term()) == ""
