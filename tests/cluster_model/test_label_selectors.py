"""Label selectors match as Kubernetes' do, and one that does not parse is told in its words."""

from collections.abc import Mapping

import pytest
from hypothesis import given

from cluster_model import label_selectors
from cluster_model.label_selectors import EVERYTHING, NOTHING, UnreadableSelector
from cluster_model.objects import LabelSelector, SelectorRequirement
from tests import generate_terms
from tests.generate import drawn
from tests.oracle_labels import selector_matches

NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
PREFIX = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    one = SelectorRequirement(key=key, operator=operator, values=values)
    return LabelSelector(match_expressions=(one,))


@given(selector=drawn(generate_terms.selector), meta=drawn(generate_terms.meta))
def test_selectors_match_as_their_plain_twin_does(
    selector: LabelSelector, meta: Mapping[str, Mapping[str, str]]
) -> None:
    assert label_selectors.read(selector).matches(meta["labels"]) == selector_matches(selector, meta["labels"])


def test_an_absent_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert label_selectors.read(None) == NOTHING
    assert label_selectors.read(LabelSelector()) == EVERYTHING
    assert (NOTHING.is_empty, EVERYTHING.is_empty) == (False, True)
    assert (NOTHING.matches({}), EVERYTHING.matches({})) == (False, True)


def test_conditions_are_added_but_not_to_what_matches_nothing() -> None:
    wanted = label_selectors.exactly({"b": "2", "a": "1"})
    assert NOTHING.plus(wanted) is NOTHING
    assert EVERYTHING.plus(wanted).matches({"a": "1", "b": "2", "c": "3"})
    assert not EVERYTHING.plus(wanted).matches({"a": "1"})


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (expression("app", "Near", "x"), '"Near" is not a valid label selector operator'),
        (expression("app", "Gt", "1"), '"Gt" is not a valid label selector operator'),
        (
            expression("app", "In"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            expression("app", "Exists", "x", "y"),
            'values: Invalid value: ["x","y"]: values set must be empty for exists and does not exist',
        ),
        (expression("a b", "Exists"), f'key: Invalid value: "a b": name part {NAME}'),
        (expression("", "Exists"), f'key: Invalid value: "": name part must be non-empty; name part {NAME}'),
        (
            expression("a" * 64, "Exists"),
            f'key: Invalid value: "{"a" * 64}": name part must be no more than 63 bytes',
        ),
        (
            expression("a/b/c", "Exists"),
            f"key: Invalid value: \"a/b/c\": a valid label key {NAME} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')",
        ),
        (expression("/a", "Exists"), 'key: Invalid value: "/a": prefix part must be non-empty'),
        (expression("A_/a", "Exists"), f'key: Invalid value: "A_/a": {PREFIX}'),
        (expression("app", "In", "x", "-"), f'values[1][app]: Invalid value: "-": {VALUE}'),
        (
            expression("app", "In", "y" * 64),
            f'values[0][app]: Invalid value: "{"y" * 64}": must be no more than 63 bytes',
        ),
        (
            expression("a b", "In"),
            f'[key: Invalid value: "a b": name part {NAME}, '
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty]",
        ),
        (LabelSelector(match_labels={"app": "a b"}), f'values[0][app]: Invalid value: "a b": {VALUE}'),
    ],
)
def test_what_does_not_parse_is_told_as_kube_scheduler_tells_it(selector: LabelSelector, text: str) -> None:
    with pytest.raises(UnreadableSelector) as raised:
        label_selectors.read(selector)
    assert str(raised.value) == text


@pytest.mark.parametrize("key", ["a", "A.b_c-d", "example.com/a", "a" * 63, f"{'a' * 253}/b"])
def test_keys_that_are_labels_are_read(key: str) -> None:
    assert label_selectors.read(expression(key, "Exists")).matches({key: ""})
