"""Fits data as people write it to the typed API objects, and notes each place where an API server would refuse it.

Only for reading manifests offline. What comes from an API server is decoded strictly and never passes here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

Struct = TypeVar("Struct", bound=msgspec.Struct)

_INT64 = range(-(2**63), 2**63)
_LONGEST_NUMBER = 20
_LARGEST_AS_TEXT = 10**_LONGEST_NUMBER


@dataclass(frozen=True, slots=True)
class _Absent:
    """What is left out, so that the field keeps its default."""


_ABSENT = _Absent()


@dataclass(slots=True)
class _Fitting:
    """One pass over a document; collects the notes."""

    notes: list[str] = field(default_factory=list)

    def refuse(self, path: str, wanted: str) -> _Absent:
        self.notes.append(f"api-rejects: {path} must be {wanted}")
        return _ABSENT

    def fit(self, value: Any, wanted: inspect.Type, path: str) -> Any:
        """Return the value as `wanted`, or absent. Null means what it means to Go: the zero value."""
        if isinstance(wanted, inspect.StructType):
            return self.struct(value, wanted, path)
        if isinstance(wanted, inspect.DictType):
            return self.mapping(value, wanted, path)
        if isinstance(wanted, inspect.VarTupleType):
            return self.sequence(value, wanted, path)
        if isinstance(wanted, inspect.UnionType):
            return self.union(value, wanted, path)
        if isinstance(wanted, inspect.StrType):
            return self.text(value, path)
        if isinstance(wanted, inspect.IntType):
            return self.integer(value, path)
        if isinstance(wanted, inspect.BoolType):
            return value if isinstance(value, bool) else self.refuse(path, "true or false")
        return value

    def struct(self, value: Any, wanted: inspect.StructType, path: str) -> Any:
        if not isinstance(value, Mapping):
            return self.refuse(path, "a mapping")
        fitted = {}
        for one in wanted.fields:
            if (given := value.get(one.encode_name)) is not None:
                fitted[one.encode_name] = self.fit(given, one.type, _join(path, one.encode_name))
        return _present(fitted)

    def mapping(self, value: Any, wanted: inspect.DictType, path: str) -> Any:
        if not isinstance(value, Mapping):
            return self.refuse(path, "a mapping")
        fitted = {}
        for key, item in value.items():
            name = self.text(key, f"{path} key")
            if isinstance(name, str):
                fitted[name] = self.fit(
                    _zero(wanted.value_type) if item is None else item, wanted.value_type, f"{path}[{name}]"
                )
        return _present(fitted)

    def sequence(self, value: Any, wanted: inspect.VarTupleType, path: str) -> Any:
        if not isinstance(value, list | tuple):
            return self.refuse(path, "a list")
        filled = [_zero(wanted.item_type) if item is None else item for item in value]
        fitted = [self.fit(item, wanted.item_type, f"{path}[{index}]") for index, item in enumerate(filled)]
        return [item for item in fitted if item is not _ABSENT]

    def union(self, value: Any, wanted: inspect.UnionType, path: str) -> Any:
        present = [one for one in wanted.types if not isinstance(one, inspect.NoneType)]
        return self.fit(value, present[0], path) if len(present) == 1 else self.quantity(value, path)

    def quantity(self, value: Any, path: str) -> Any:
        """Keep an amount as it stands, for its reader to judge; like the API server, forgive spaces around it."""
        if isinstance(value, str):
            return value.strip()
        if not _is_number(value):
            self.refuse(path, "a quantity")
            return str(value).lower() if isinstance(value, bool) else ""  # unreadable, which is not the same as absent
        return max(_INT64[0], min(value, _INT64[-1])) if isinstance(value, int) else value

    def text(self, value: Any, path: str) -> Any:
        if isinstance(value, str):
            return value
        self.refuse(path, "a string")
        if isinstance(value, bool):
            return str(value).lower()
        return str(value) if _is_number(value) and abs(value) < _LARGEST_AS_TEXT else _ABSENT

    def integer(self, value: Any, path: str) -> Any:
        if isinstance(value, int) and not isinstance(value, bool) and value in _INT64:
            return value
        self.refuse(path, "an integer")
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < _LONGEST_NUMBER:
            return min(int(value), _INT64[-1])
        return _ABSENT


def convert(value: Any, struct: type[Struct]) -> tuple[Struct, tuple[str, ...]]:
    """Read a document into `struct`: what does not fit is left out and noted."""
    fitting = _Fitting()
    fitted = fitting.fit(value, inspect.type_info(struct), "")
    return msgspec.convert({} if fitted is _ABSENT else fitted, struct), tuple(fitting.notes)


def _is_number(value: Any) -> bool:
    """Tell a number from truth values, infinities and what is none; an integer may be of any size."""
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    )


def _zero(wanted: inspect.Type) -> Any:
    if isinstance(wanted, inspect.StructType | inspect.DictType):
        return {}
    return 0 if isinstance(wanted, inspect.UnionType) else ""


def _present(fitted: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fitted.items() if value is not _ABSENT}


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
