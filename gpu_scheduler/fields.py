"""Reads plain data from a document strictly: wrong types and unknown names become problems, all of them at once."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from cluster_model import durations
from cluster_model.verdict import BadRequest, Problem
from gpu_scheduler.kube_config import documents
from gpu_scheduler.kube_config.trees import Items, Members, Tree, plain

ONCE = "must stand once in its mapping"


def load(text: str) -> object:
    """Read one YAML or JSON document as kube-scheduler does; raise BadRequest when it is none."""
    try:
        document = documents.source(text)
    except documents.Refused as error:
        where = re.search(r"line \d+", str(error))
        raise BadRequest(
            Problem(where[0] if where else "document", "", f"must be one YAML document: {error}")
        ) from error
    doubled = [Problem(f"line {found.line}", str(found.name), ONCE) for found in document.twice]
    doubled += [Problem("document", name, ONCE) for name in _twice(document.tree)]
    if document.more:
        doubled.append(Problem("document", "", "must be one YAML document: expected a single document"))
    if doubled:
        raise BadRequest(*doubled)
    return plain(document.tree)


def _twice(tree: Tree) -> Iterator[str]:
    """Yield the names that stand twice in one mapping, which only JSON leaves in the tree."""
    if isinstance(tree, Members):
        seen: set[str] = set()
        for name, value in tree.pairs:
            if name in seen:
                yield name
            seen.add(name)
            yield from _twice(value)
    elif isinstance(tree, Items):
        for value in tree:
            yield from _twice(value)


class Fields:
    """One mapping of the document. It knows its path, and which names were asked for: the others are unknown."""

    def __init__(self, found: object, path: str, problems: list[Problem]) -> None:
        self.path = path
        self.problems = problems
        self._known: list[str] = []
        if found is not None and not isinstance(found, Mapping):
            self._refuse(path or "document", found, "must be a mapping")
        self._found: Mapping[str, Any] = found if isinstance(found, Mapping) else {}

    def __contains__(self, name: str) -> bool:
        return self._found.get(name) is not None

    def at(self, name: str) -> str:
        """Say the path of a field here."""
        return f"{self.path}.{name}" if self.path else name

    def refuse(self, name: str, rule: str) -> None:
        """Note that the field's value breaks a rule."""
        self._refuse(self.at(name), self._found.get(name, ""), rule)

    def raw(self, name: str) -> Any:
        """Take a field as it is; None when absent or null, as in Kubernetes."""
        self._known.append(name)
        return self._found.get(name)

    def text(self, name: str, default: str = "") -> str:
        value = self.raw(name)
        return default if value is None else self._checked(name, value, isinstance(value, str), "a string", default)

    def flag(self, name: str, default: bool) -> bool:
        value = self.raw(name)
        return default if value is None else self._checked(name, value, isinstance(value, bool), "a boolean", default)

    def whole(self, name: str, default: int = 0) -> int:
        found = self.whole_or_none(name)
        return default if found is None else found

    def whole_or_none(self, name: str) -> int | None:
        value = self.raw(name)
        right = isinstance(value, int) and not isinstance(value, bool)
        return None if value is None else self._checked(name, value, right, "a whole number", None)

    def number(self, name: str, default: float) -> float:
        value = self.raw(name)
        right = isinstance(value, int | float) and not isinstance(value, bool)
        return default if value is None else float(self._checked(name, value, right, "a number", default))

    def seconds(self, name: str, default: float) -> float:
        text = self.raw(name)
        if text is None:
            return default
        try:
            return durations.seconds(text)
        except (ValueError, TypeError):
            self.refuse(name, 'must be a duration such as "15s"')
            return default

    def part(self, name: str) -> "Fields":
        """Take a mapping inside this one; an absent one is empty."""
        return Fields(self.raw(name), self.at(name), self.problems)

    def parts(self, name: str) -> list["Fields"]:
        """Take a list of mappings; an absent one is empty."""
        value = self.raw(name)
        rows = [] if value is None else self._checked(name, value, isinstance(value, list), "a list", [])
        return [Fields(row, f"{self.at(name)}[{index}]", self.problems) for index, row in enumerate(rows)]

    def close(self, *also_known: str) -> None:
        """Refuse every name that nobody asked for."""
        known = sorted({*self._known, *also_known})
        for name in self._found:
            if name not in known:
                self._refuse(self.at(str(name)), self._found[name], f"unknown field; known: {', '.join(known)}")

    def _checked(self, name: str, value: Any, right: bool, form: str, default: Any) -> Any:
        if right:
            return value
        self.refuse(name, f"must be {form}")
        return default

    def _refuse(self, path: str, value: object, rule: str) -> None:
        shown = value if isinstance(value, str | int | float) else _shown(value)
        self.problems.append(Problem(path, shown, rule))


def _shown(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).strip()
    return text if len(text) <= 80 else text[:77] + "..."
