"""What kube-scheduler says of preferred node selector terms that it cannot read. Knows no nodes."""

from collections.abc import Iterable, Iterator

from cluster_model.go_text import json_texts, quoted
from cluster_model.label_selectors import aggregate
from cluster_model.label_syntax import wrong_with_key, wrong_with_value
from cluster_model.objects import PreferredSchedulingTerm, SelectorRequirement
from scheduler_plugins import selectors

FIELD_OPERATORS = ("In", "NotIn")
_COUNT_RULES = {
    "In": "for 'in', 'notin' operators, values set can't be empty",
    "NotIn": "for 'in', 'notin' operators, values set can't be empty",
    "Exists": "values set must be empty for exists and does not exist",
    "DoesNotExist": "values set must be empty for exists and does not exist",
    "Gt": "for 'Gt', 'Lt' operators, exactly one value is required",
    "Lt": "for 'Gt', 'Lt' operators, exactly one value is required",
}


def of_preferred(terms: Iterable[PreferredSchedulingTerm]) -> str:
    """Say all that cannot be read; empty where everything can. A term without weight or content is not looked at."""
    found = tuple(dict.fromkeys(_problems(terms)))
    return aggregate(found) if found else ""


def _problems(terms: Iterable[PreferredSchedulingTerm]) -> Iterator[str]:
    for place, term in enumerate(terms):
        if not term.weight or selectors.is_empty(term.preference):
            continue
        for index, requirement in enumerate(term.preference.match_expressions):
            yield from _of_label(f"[{place}].matchExpressions[{index}]", requirement)
        for index, requirement in enumerate(term.preference.match_fields):
            yield from _of_field(f"[{place}].matchFields[{index}]", requirement)


def _of_label(path: str, found: SelectorRequirement) -> Iterator[str]:
    enough = selectors.VALUES_NEEDED.get(found.operator)
    if enough is None:
        yield _unsupported(path, found.operator, selectors.VALUES_NEEDED)
        return
    if wrong := "; ".join(wrong_with_key(found.key)):
        yield f"{path}.key: Invalid value: {quoted(found.key)}: {wrong}"
    if not enough(len(found.values)):
        yield f"{path}.values: Invalid value: {json_texts(found.values)}: {_COUNT_RULES[found.operator]}"
    for index, value in enumerate(found.values):
        if found.operator in ("Gt", "Lt") and selectors.integer(value) is None:
            rule = "for 'Gt', 'Lt' operators, the value must be an integer"
            yield f"{path}.values[{index}]: Invalid value: {quoted(value)}: {rule}"
    for index, value in enumerate(found.values):
        if wrong := "; ".join(wrong_with_value(value)):
            yield f"{path}.values[{index}][{found.key}]: Invalid value: {quoted(value)}: {wrong}"


def _of_field(path: str, found: SelectorRequirement) -> Iterator[str]:
    if found.operator not in FIELD_OPERATORS:
        yield _unsupported(path, found.operator, FIELD_OPERATORS)
    elif len(found.values) != 1:
        yield f"{path}.values: Invalid value: {json_texts(found.values)}: must have one element"


def _unsupported(path: str, operator: str, known: Iterable[str]) -> str:
    return f"{path}.operator: Unsupported value: {quoted(operator)}: supported values: {', '.join(map(quoted, known))}"
