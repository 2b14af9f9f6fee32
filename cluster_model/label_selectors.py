"""Label selectors as Kubernetes reads them: which labels one matches, and its own words for one that does not parse."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cluster_model.label_syntax import wrong_with_key, wrong_with_value
from cluster_model.objects import LabelSelector, SelectorRequirement

IN, NOT_IN, EXISTS, ABSENT = "In", "NotIn", "Exists", "DoesNotExist"
ESCAPED_BY_GO = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}  # in JSON, not in quoted text
OPERATORS = (IN, NOT_IN, EXISTS, ABSENT)


class UnreadableSelector(ValueError):
    """A selector that the API server would refuse; the message is what kube-scheduler says of it."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether labels meet it; an absent one meets NotIn."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
        return value is None


@dataclass(frozen=True, slots=True)
class Selector:
    """Conditions that all must hold. Without any it matches everything, unless it is the one that matches nothing."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all, and so matches everything."""
        return not self.nothing and not self.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether it matches labels."""
        return not self.nothing and all(requirement.matches(labels) for requirement in self.requirements)

    def plus(self, requirements: tuple[Requirement, ...]) -> "Selector":
        """Return it with more conditions; one that matches nothing stays as it is."""
        return self if self.nothing else Selector(self.requirements + requirements)


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def exactly(labels: Mapping[str, str]) -> tuple[Requirement, ...]:
    """Return the conditions that each of these labels is there with its value."""
    return tuple(Requirement(key, IN, (value,)) for key, value in sorted(labels.items()))


def read(found: LabelSelector | None) -> Selector:
    """Read a selector as written; an absent one matches nothing, an empty one everything."""
    if found is None:
        return NOTHING
    wanted = exactly(found.match_labels)
    for requirement in wanted:
        _check(requirement)
    return Selector(wanted + tuple(map(_requirement, found.match_expressions)))


def _requirement(found: SelectorRequirement) -> Requirement:
    if found.operator not in OPERATORS:
        raise UnreadableSelector(f"{_quoted(found.operator)} is not a valid label selector operator")
    requirement = Requirement(found.key, found.operator, found.values)
    _check(requirement)
    return requirement


def _check(requirement: Requirement) -> None:
    problems = tuple(dict.fromkeys(_problems(requirement)))
    if problems:
        raise UnreadableSelector(aggregate(problems))


def aggregate(problems: tuple[str, ...]) -> str:
    """Join several errors as Kubernetes does; one stands alone."""
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"


def _problems(requirement: Requirement) -> Iterator[str]:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    wrong = "; ".join(wrong_with_key(key))
    if wrong:
        yield f"key: Invalid value: {_quoted(key)}: {wrong}"
    if operator in (IN, NOT_IN) and not values:
        yield "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    if operator in (EXISTS, ABSENT) and values:
        shown = json.dumps(values, ensure_ascii=False, separators=(",", ":")).translate(ESCAPED_BY_GO)
        yield f"values: Invalid value: {shown}: values set must be empty for exists and does not exist"
    for index, value in enumerate(values):
        wrong = "; ".join(wrong_with_value(value))
        if wrong:
            yield f"values[{index}][{key}]: Invalid value: {_quoted(value)}: {wrong}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
