"""The webhook's configuration, the annotations and the known models as a page, taken from the code that reads them."""

from __future__ import annotations

import dataclasses
import inspect
import io
import tokenize
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cluster_model import deletion_cost, gpu_annotations, gpu_models, node_facts, node_labels, settings_tree
from tests.docs.markdown import code, paragraph, table
from webhook import config

WORDS = {str: "text", int: "whole number", float: "number", bool: "boolean"}


def fields() -> list[str]:
    """The fields of webhook.yaml with the comments that stand beside them in the code."""
    rows = list(rows_of(config.Config, config.Config()))
    return [
        "## webhook.yaml",
        "",
        *paragraph(
            "The file of `gpu-scheduler webhook --config`. Everything may be left out. "
            "An unknown key or a wrong value ends the process with exit code 2, the path and the rule."
        ),
        *table(["field", "form", "default", "note"], rows),
    ]


def annotation_table() -> list[str]:
    """The annotations of pods and of nodes, with the rules that refusals quote."""
    rows = [
        [code(gpu_annotations.MODEL), "pod", gpu_annotations.MODEL_FORM],
        [code(gpu_annotations.MEMORY), "pod", gpu_annotations.MEMORY_FORM],
        [code(gpu_annotations.FRACTION), "pod", gpu_annotations.FRACTION_FORM],
        [code(deletion_cost.ANNOTATION), "pod", deletion_cost.RULE.removeprefix("must be ")],
        [code(node_facts.UTILIZATION), "node", "0 to 1"],
    ]
    return [
        "## Annotations",
        "",
        *table(["annotation", "on a", "must be"], rows),
        *paragraph(
            f"At most {gpu_annotations.MOST_MODELS} models in one list. "
            f"A pod with a GPU annotation {gpu_annotations.NO_GPU}."
        ),
    ]


def models() -> list[str]:
    """The models that are known without configuration."""
    sizes = ((name, gpu_models.largest_memory_mib(name)) for name in sorted(gpu_models.KNOWN))
    named = ", ".join(f"{name} ({size})" if size else name for name, size in sizes)
    return [
        "## Known models",
        "",
        *paragraph(
            "In parentheses the MiB of the largest known card; without one, no memory is ever too much to ask for."
        ),
        *paragraph(f"{named}."),
    ]


def labels() -> list[str]:
    """The node labels that are read."""
    keys: dict[str, None] = {}
    for value in (value for name, value in vars(node_labels).items() if name.isupper()):
        keys |= dict.fromkeys(key for key in (value if isinstance(value, tuple) else (value,)) if _is_label(key))
    return [
        "## Node labels",
        "",
        *paragraph("Read where a node has them. `gpu-scheduler read node` shows what comes of it."),
        *paragraph(", ".join(map(code, keys)) + "."),
    ]


def _is_label(value: object) -> bool:
    return isinstance(value, str) and "/" in value and " " not in value


def rows_of(kind: type[Any], values: Any, path: str = "") -> Iterator[list[str]]:
    """A row for each field of a tree of dataclasses: path, form, default, and the comment above it."""
    hints, remarks = typing.get_type_hints(kind, include_extras=True), comments(kind)
    for field in dataclasses.fields(kind):
        name = settings_tree.camel(field.name)
        value, where = getattr(values, field.name), f"{path}.{name}".lstrip(".")
        if dataclasses.is_dataclass(value):
            yield from rows_of(type(value), value, where)
        else:
            yield [code(where), _form(hints[field.name]), code(_shown(value)), remarks.get(field.name, "")]


def _form(kind: Any) -> str:
    """Say a type in words, with its bounds."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _form(inner[0]) + _bounds(inner[1])
    if origin is typing.Literal:
        return " or ".join(map(code, inner))
    if origin is tuple:
        return f"list of {_form(inner[0])}"
    if origin is dict:
        return "mapping of text to text"
    if origin in (types.UnionType, typing.Union):
        return " or ".join("null" if each is type(None) else _form(each) for each in inner)
    return WORDS[kind]


def _bounds(meta: msgspec.Meta) -> str:
    if meta.ge is not None and meta.le is not None:
        return f", {meta.ge:.0f} to {meta.le:.0f}"
    if meta.gt is not None and meta.le is not None:
        return f" above {meta.gt:.0f}, at most {meta.le:.0f}"
    return f" of at most {meta.max_length} characters" if meta.max_length is not None else ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {text}" for key, text in value.items()) + "}"
    return str(value)


def comments(kind: type[Any]) -> dict[str, str]:
    """The comments that stand above the fields of a class, by field."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        text = line.strip()
        if text.startswith("# "):
            above.append(text.removeprefix("# "))
        elif _is_field(text):
            found[text.partition(":")[0]] = " ".join(above)
            above = []
        else:
            above = []
    return found


def _is_field(text: str) -> bool:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))[:2]
    except tokenize.TokenError:
        return False
    return [token.type for token in tokens] == [tokenize.NAME, tokenize.OP] and tokens[1].string == ":"
