"""Strict decoding of plugin args: unknown names, wrong types and broken rules are refused with path and form."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

import msgspec

from cluster_model.verdict import BadRequest, Problem


class Args(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of all args: immutable, camelCase as written. An absent or null field takes its default."""

    def problems(self, path: str) -> Iterator[Problem]:  # noqa: ARG002
        """Yield the rules that well-typed args break."""
        yield from ()


class NoArgs(Args, frozen=True):
    """Args of a plugin that takes none."""


Kind = TypeVar("Kind", bound=Args)
FORMS = {"int": "a whole number", "str": "a string", "array": "a list", "object": "a mapping"}


def decode(kind: type[Kind], found: Mapping[str, Any], path: str) -> Kind:
    """Read args as written under `path`; raise BadRequest with what is wrong."""
    plain = {name: value for name, value in _without_nulls(found).items() if name not in ("apiVersion", "kind")}
    unknown = tuple(_unknown(kind, plain, path))
    if unknown:
        raise BadRequest(*unknown)
    try:
        args = msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(_mistyped(str(error), plain, path)) from error
    broken = tuple(args.problems(path))
    if broken:
        raise BadRequest(*broken)
    return args


def _without_nulls(found: Any) -> Any:
    if isinstance(found, Mapping):
        return {name: _without_nulls(value) for name, value in found.items() if value is not None}
    return [_without_nulls(value) for value in found] if isinstance(found, list | tuple) else found


def _unknown(kind: Any, found: Any, path: str) -> Iterator[Problem]:
    """Walk the declared types beside the data; a name that its struct does not declare is unknown."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(found, Mapping):
        declared = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        for name, value in found.items():
            if name not in declared:
                yield Problem(
                    f"{path}.{name}", str(value), f"unknown field; known: {', '.join(sorted(declared)) or 'none'}"
                )
            else:
                yield from _unknown(declared[name], value, f"{path}.{name}")
    elif isinstance(found, list):
        for index, value in enumerate(found):
            for inner in get_args(kind):
                yield from _unknown(inner, value, f"{path}[{index}]")
    else:
        for inner in get_args(kind):
            yield from _unknown(inner, found, path)


def _mistyped(message: str, found: Any, path: str) -> Problem:
    """Turn msgspec's "Expected `int`, got `str` - at `$.weight`" into a problem at that place."""
    rule, _, place = message.partition(" - at `$")
    expected = rule.removeprefix("Expected ").partition(", got ")[0].replace("`", "").removesuffix(" | null")
    trail = place.rstrip("`")
    value = found
    for step in trail.replace("[", ".").replace("]", "").split("."):
        if step:
            value = value[int(step)] if isinstance(value, list) else value.get(step, "")
    return Problem(
        f"{path}{trail}",
        value if isinstance(value, str | int | float) else str(value),
        f"must be {FORMS.get(expected, expected)}",
    )
