"""Reads a raw pod into the typed structs, and says at which field it does not fit. Changes nothing of the raw one."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cluster_model import objects
from cluster_model.verdict import BadRequest, Problem

# Neither is read, and the first is most of a pod's bytes.
_SKIPPED = frozenset({"managedFields", "status"})
_MISFIT = re.compile(r"Expected `([^`]+)`, got `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|([^.\[]+)")
_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_JSON_TYPES = {"str": str, "int": int, "float": float, "bool": bool, "array": list, "object": dict}


def read(raw: Mapping[str, Any], at: str = "") -> objects.Pod:
    """Read a pod, or a pod template that stands at the path `at`; raise BadRequest where a field has the wrong type."""
    prefix = f"{at}." if at else ""
    with contextlib.suppress(msgspec.ValidationError):
        return msgspec.convert(raw, objects.Pod)
    # Only now, because the walk costs more than all the rest: an API server of today sends no nulls.
    try:
        return msgspec.convert(_without_nulls(raw), objects.Pod)
    except msgspec.ValidationError as error:
        raise BadRequest(_problem(raw, str(error), prefix)) from error
    except RecursionError as error:
        raise BadRequest(Problem(f"{prefix}spec", "…", "must not be nested that deep")) from error


def _without_nulls(value: Any) -> Any:
    """Drop null members, which the API server reads as absent ones."""
    if isinstance(value, dict):
        return {
            key: _without_nulls(member) for key, member in value.items() if member is not None and key not in _SKIPPED
        }
    if isinstance(value, list):
        return [_without_nulls(member) for member in value]
    return value


def _problem(raw: Mapping[str, Any], text: str, prefix: str) -> Problem:
    """Turn the decoder's words, which do not name a map's key, into the API server's, which do."""
    match = _MISFIT.match(text)
    if match is None:
        return Problem(f"{prefix}metadata", "…", text)
    wanted, got, pattern = match.groups()
    rule = "must be " + " or ".join(_WORDS.get(word, word) for word in wanted.split(" | "))
    steps = [index or name for index, name in _STEP.findall(pattern or "")]
    for path, value in _walk(raw, steps, ""):
        if _is(value, got):
            return Problem(prefix + path, value, rule)
    return Problem(prefix + (pattern or "metadata"), got, rule)


def _walk(value: Any, steps: list[str], path: str) -> Iterator[tuple[str, Any]]:
    """Yield each concrete path that the steps can mean, with what stands there."""
    if not steps:
        yield path, value
    elif isinstance(value, dict):
        is_map = steps[0] == "..."
        for key in value if is_map else value.keys() & {steps[0]}:
            yield from _walk(value[key], steps[1:], f"{path}[{key}]" if is_map else f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and steps[0].isdigit() and int(steps[0]) < len(value):
        yield from _walk(value[int(steps[0])], steps[1:], f"{path}[{steps[0]}]")


def _is(value: Any, json_type: str) -> bool:
    return value is None if json_type == "null" else type(value) is _JSON_TYPES.get(json_type)
