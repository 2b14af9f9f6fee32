"""Turns a parsed document into a tree of frozen dataclasses, or says where it does not fit. It reads no file."""

import dataclasses
import typing
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from cluster_model.verdict import BadRequest, Problem

Tree = TypeVar("Tree")
Before = Callable[[Any, Any], Any]  # the wanted type, the value as written -> the value to convert


def _as_written(_kind: Any, value: Any) -> Any:
    return value


def read(kind: type[Tree], data: Any, path: str = "", before: Before = _as_written) -> Tree:
    """Read a mapping with camelCase keys; BadRequest with the path, the value and the rule. `before` eases a value."""
    prefix = f"{path}." if path else ""
    if not isinstance(data, dict):
        raise BadRequest(Problem(path or "configuration", data, "must be a mapping"))
    fields = {camel(field.name): field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    _refuse_unknown(data, fields, prefix)
    hints = typing.get_type_hints(kind, include_extras=True)
    values = {fields[key]: _value(hints[fields[key]], value, prefix + key, before) for key, value in data.items()}
    return kind(**values)


def camel(name: str) -> str:
    """Name a field as it is written in a document."""
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


def _refuse_unknown(data: dict[Any, Any], known: Iterable[str], prefix: str) -> None:
    names = ", ".join(sorted(known))
    problems = [
        Problem(f"{prefix}{key}", data[key], f"unknown key, known are {names}") for key in data if key not in known
    ]
    if problems:
        raise BadRequest(*problems)


def _value(kind: Any, value: Any, path: str, before: Before) -> Any:
    if dataclasses.is_dataclass(kind):
        return read(typing.cast(type[Any], kind), value, path, before)
    try:
        return msgspec.convert(before(kind, value), kind)
    except msgspec.ValidationError as error:
        raise BadRequest(Problem(path, value, str(error).replace("Expected", "expected", 1))) from error
