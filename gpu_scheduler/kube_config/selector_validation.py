"""The rules of node selector terms, in the words of Kubernetes' label and field selectors."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from gpu_scheduler.kube_config import rules
from gpu_scheduler.kube_config.rules import child, invalid, unsupported
from scheduler_plugins import selectors

Requirement: TypeAlias = Mapping[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")


def node_affinity(path: str, affinity: Mapping[str, Any]) -> Iterator[str]:
    """Yield what no selector can be made of; a term without weight or requirements is not looked at."""
    terms = (affinity.get(REQUIRED) or {}).get("nodeSelectorTerms", ())
    for index, term in enumerate(terms):
        yield from _term(f"{child(path, REQUIRED)}.nodeSelectorTerms[{index}]", term)
    for index, preferred in enumerate(affinity.get(PREFERRED, ())):
        if preferred.get("weight"):
            yield from _term(f"{child(path, PREFERRED)}[{index}]", preferred.get("preference", {}))


def _term(path: str, term: Mapping[str, Any]) -> Iterator[str]:
    for index, requirement in enumerate(term.get("matchExpressions", ())):
        yield from _expression(f"{path}.matchExpressions[{index}]", requirement)
    for index, requirement in enumerate(term.get("matchFields", ())):
        operator, values = requirement.get("operator", ""), requirement.get("values")
        at = f"{path}.matchFields[{index}]"
        if operator not in FIELD_OPERATORS:
            yield unsupported(f"{at}.operator", operator, FIELD_OPERATORS)
        elif len(values or ()) != 1:
            yield invalid(f"{at}.values", values, "must have one element")


def _expression(path: str, requirement: Requirement) -> Iterator[str]:
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    if operator not in OPERATORS:
        yield unsupported(f"{path}.operator", operator, OPERATORS)
        return
    if wrong := "; ".join(rules.label_name(key)):
        yield invalid(f"{path}.key", key, wrong)
    values = requirement.get("values")
    yield from _count(f"{path}.values", operator, values)
    for index, value in enumerate(values or ()):
        if operator in ("Gt", "Lt") and selectors.integer(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            yield invalid(f"{path}.values[{index}]", value, detail)
    for index, value in enumerate(values or ()):
        if wrong := "; ".join(rules.label_value(value)):
            yield invalid(f"{path}.values[{index}][{key}]", value, wrong)


def _count(path: str, operator: str, values: list[str] | None) -> Iterator[str]:
    count = len(values or ())
    if operator in ("In", "NotIn") and not count:
        yield invalid(path, values, "for 'in', 'notin' operators, values set can't be empty")
    elif operator in ("Exists", "DoesNotExist") and count:
        yield invalid(path, values, "values set must be empty for exists and does not exist")
    elif operator in ("Gt", "Lt") and count != 1:
        yield invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required")
