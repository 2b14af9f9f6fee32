"""Node selector terms over label columns: each requirement is judged once per distinct value, then gathered by row."""

import re
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from cluster_model.columns import Mask
from cluster_model.objects import NodeSelectorTerm, SelectorRequirement
from cluster_model.snapshot import NodeColumns
from cluster_model.verdict import Problem

NODE_NAME = "metadata.name"
VALUES_NEEDED: dict[str, Callable[[int], bool]] = {
    "In": lambda count: count > 0,
    "NotIn": lambda count: count > 0,
    "Exists": lambda count: count == 0,
    "DoesNotExist": lambda count: count == 0,
    "Gt": lambda count: count == 1,
    "Lt": lambda count: count == 1,
}
MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1

_NAME = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX = 253
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def is_empty(term: NodeSelectorTerm) -> bool:
    """Say whether a term says nothing; such a term matches nothing."""
    return not term.match_expressions and not term.match_fields


def matching(term: NodeSelectorTerm, nodes: NodeColumns) -> Mask:
    """Return which nodes a term matches: all of its requirements together; an empty or malformed one matches none."""
    found: Mask = np.zeros(len(nodes.names), np.bool_)
    if is_empty(term) or next(problems(term, ""), None) is not None:
        return found
    found[:] = True
    for requirement in term.match_expressions:
        found &= _by_label(requirement, nodes)
    for requirement in term.match_fields:
        found &= _by_field(requirement, nodes)
    return found


def any_matching(terms: Iterable[NodeSelectorTerm], nodes: NodeColumns) -> Mask:
    """Return which nodes some term matches; no terms match nothing."""
    found: Mask = np.zeros(len(nodes.names), np.bool_)
    for term in terms:
        found |= matching(term, nodes)
    return found


def integer(text: str | None) -> int | None:
    """Read an int64 as Go's ParseInt reads it in base 10."""
    if text is None or _INTEGER.fullmatch(text) is None:
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > len(str(MAX_INT64)):
        return None
    number = -int(digits) if text.startswith("-") else int(digits)
    return number if MIN_INT64 <= number <= MAX_INT64 else None


def problems(term: NodeSelectorTerm, path: str) -> Iterator[Problem]:
    """Yield what makes a term malformed, so that Kubernetes would not read it."""
    for index, requirement in enumerate(term.match_expressions):
        yield from _problems_of_label(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.match_fields):
        at = f"{path}.matchFields[{index}]"
        if requirement.operator not in ("In", "NotIn"):
            yield Problem(f"{at}.operator", requirement.operator, "must be In or NotIn")
        elif len(requirement.values) != 1:
            yield Problem(f"{at}.values", ", ".join(requirement.values), "must have one element")


def _by_label(requirement: SelectorRequirement, nodes: NodeColumns) -> Mask:
    column = nodes.label(requirement.key)
    match requirement.operator:
        case "In":
            return column.among(requirement.values)
        case "NotIn":
            return ~column.among(requirement.values)
        case "Exists":
            return ~column.among([None])
        case "DoesNotExist":
            return column.among([None])
    bound, sign = integer(requirement.values[0]) or 0, 1 if requirement.operator == "Gt" else -1

    def beyond(value: str | None) -> bool:
        number = integer(value)
        return number is not None and (number - bound) * sign > 0

    return column.where(beyond)


def _by_field(requirement: SelectorRequirement, nodes: NodeColumns) -> Mask:
    """Compare the name, the one field a node has; any other is empty on every node."""
    wanted = requirement.values[0]
    found: Mask = np.zeros(len(nodes.names), np.bool_)
    if requirement.key != NODE_NAME:
        found[:] = not wanted
    elif wanted in nodes.rows:
        found[nodes.rows[wanted]] = True
    return found if requirement.operator == "In" else ~found


def _problems_of_label(requirement: SelectorRequirement, path: str) -> Iterator[Problem]:
    values, operator = requirement.values, requirement.operator
    if not _is_key(requirement.key):
        yield Problem(f"{path}.key", requirement.key, "must be a qualified name such as example.com/gpu")
    enough = VALUES_NEEDED.get(operator)
    if enough is None:
        yield Problem(f"{path}.operator", operator, f"must be one of: {', '.join(VALUES_NEEDED)}")
    elif not enough(len(values)):
        yield Problem(f"{path}.values", ", ".join(values), f"wrong number of values for operator {operator}")
    for index, value in enumerate(values):
        if not _is_value(value):
            yield Problem(f"{path}.values[{index}]", value, "must be a label value: at most 63 of A-Z a-z 0-9 - _ .")
        elif operator in ("Gt", "Lt") and integer(value) is None:
            yield Problem(f"{path}.values[{index}]", value, f"must be an integer for operator {operator}")


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or _PREFIX.fullmatch(prefix) is None):
        return False
    return _NAME.fullmatch(name) is not None


def _is_value(value: str) -> bool:
    return not value or _NAME.fullmatch(value) is not None
