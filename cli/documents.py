"""Loads the documents of a YAML or JSON file the way Kubernetes' own tools do. No object is judged here."""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

_TAG = "tag:yaml.org,2002:"
_CORE = frozenset({"null", "bool", "int", "float", "str", "seq", "map"})
_INT = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]*|[1-9][0-9_]*|0x[0-9a-fA-F_]+)\Z")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"
)

Resolvers = dict[str, list[tuple[str, re.Pattern[str]]]]


def _resolvers() -> Resolvers:
    """Take PyYAML's rules for plain scalars, with Go's numbers and without dates and "="."""
    kept = {_TAG + name for name in ("null", "bool", "merge")}
    resolvers: Resolvers = {
        first: [(tag, form) for tag, form in rules if tag in kept]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for first in "-+.0123456789":
        resolvers[first] = [*resolvers.get(first, []), (_TAG + "int", _INT), (_TAG + "float", _FLOAT)]
    return resolvers


class Malformed(ValueError):
    """Text that is neither YAML nor JSON; says why."""


def _loader() -> type[yaml.SafeLoader]:
    """Read YAML as Kubernetes' Go libraries do: no dates, no base-60 numbers, and 1e3 is a number.

    Those are a translation of libyaml, which takes tabs between words; PyYAML's own scanner, the fallback, does not.
    """
    scanner: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    members = {
        "yaml_implicit_resolvers": _resolvers(),
        "yaml_constructors": {
            tag: read
            for tag, read in yaml.SafeLoader.yaml_constructors.items()
            if tag is None or tag.removeprefix(_TAG) in _CORE
        },
    }
    return type("_Loader", (scanner,), members)


_LOADER = _loader()


def load(data: bytes) -> list[Any]:
    """Return every document in the text. Malformed says what is wrong with it."""
    try:
        text = data.decode("utf-8-sig")
        if text.lstrip()[:1] in ("{", "["):
            try:
                return list(_json_stream(text))
            except json.JSONDecodeError:
                pass  # flow-style YAML starts like JSON
        return list(yaml.load_all(text, _LOADER))
    except yaml.YAMLError as error:
        raise Malformed(" ".join(str(error).replace(' in "<unicode string>",', " at").split())) from error
    except RecursionError as error:
        raise Malformed("nested too deeply") from error
    except (ValueError, LookupError) as error:  # not UTF-8, a number of thousands of digits, "!!bool maybe"
        raise Malformed(f"unreadable value: {error}") from error


def _json_stream(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while (at := _skip_blanks(text, at)) < len(text):
        document, at = decoder.raw_decode(text, at)
        yield document


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
