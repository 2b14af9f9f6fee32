"""Reads plain data from a document strictly: wrong types and unknown names become problems, all of them at once."""

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import yaml

from cluster_model.verdict import BadRequest, Problem
from gpu_scheduler import durations


class _Loader(yaml.SafeLoader):
    """YAML in which a key that stands twice in one mapping is an error, as in Kubernetes' strict decoding."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen and name != "<<":
                raise BadRequest(Problem(f"line {key.start_mark.line + 1}", name, "must stand once in its mapping"))
            seen.add(name)
        return super().construct_mapping(node, deep)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        name = next(name for index, (name, _) in enumerate(pairs) if name in dict(pairs[:index]))
        raise BadRequest(Problem("document", name, "must stand once in its mapping"))
    return found


def load(text: str) -> object:
    """Read one YAML or JSON document; raise BadRequest when it is none."""
    if text.lstrip().startswith("{"):
        # YAML refuses the tabs that JSON allows; what is not JSON may still be YAML's flow style.
        with contextlib.suppress(json.JSONDecodeError):
            return json.loads(text, object_pairs_hook=_once)
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "document" if mark is None else f"line {mark.line + 1}"
        rule = f"must be one YAML document: {getattr(error, 'problem', None) or 'unreadable'}"
        raise BadRequest(Problem(where, "", rule)) from error


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
