"""Reads the first YAML document of a text as Kubernetes does: libyaml's events, go-yaml's meaning of plain words."""

import base64
import binascii
import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from gpu_scheduler.kube_config import go_text
from gpu_scheduler.kube_config.trees import Document, Items, Members, Number, Tree, Twice, Unreadable

Scalar: TypeAlias = "bool | int | float | str | None"
TAG = "tag:yaml.org,2002:"
WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
RESOLVED = frozenset({"str", "bool", "int", "float", "null", "timestamp"})
INTEGER = re.compile(r"[-+]?(?:0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*|0[xX][0-9a-fA-F]+)\Z")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})\Z")
MOMENT = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)"
    r"| \d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?)\Z"
)
MIN_INT64, MAX_UINT64 = -(2**63), 2**64 - 1
ALIASED, STEPS, MOST_ALIASED = 100, 1_000, 0.99  # go-yaml's bounds for documents of this size


@dataclass(slots=True)
class Node:
    """One node of the document; an alias holds the node it stands for."""

    kind: str  # scalar, sequence, mapping, alias
    line: int
    value: str = ""
    tag: str = ""
    implicit: bool = False
    children: list["Node"] = field(default_factory=list)


def read(text: str) -> Document:
    """Read the first document; an empty text is null."""
    try:
        composer = _Composer(text)
        root = composer.root()
        reader = _Reader()
        value = None if root is None else reader.value(root)
    except RecursionError as error:
        raise Unreadable("yaml: exceeded max depth") from error
    return Document(_tree(value), text, tuple(reader.twice), composer.more())


class _Composer:
    """Builds nodes from libyaml's events."""

    def __init__(self, text: str) -> None:
        self._events = self._parse(text)
        self._anchors: dict[str, Node] = {}

    @staticmethod
    def _parse(text: str) -> Iterator[Any]:
        try:
            yield from yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.reader.ReaderError as error:
            raise Unreadable(f"yaml: {error.reason}") from error
        except yaml.MarkedYAMLError as error:
            raise Unreadable(f"yaml: {_where(error)}{error.problem}") from error

    def root(self) -> Node | None:
        """Build the first document; None where there is none."""
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                return self._node(next(self._events))
        return None

    def more(self) -> bool:
        """Say whether anything follows the first document; kube-scheduler does not look."""
        try:
            return any(isinstance(event, yaml.DocumentStartEvent) for event in self._events)
        except Unreadable:
            return True

    def _node(self, event: Any) -> Node:
        line = event.start_mark.line
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise Unreadable(f"yaml: unknown anchor '{event.anchor}' referenced")
            return Node("alias", line, event.anchor, children=[self._anchors[event.anchor]])
        if isinstance(event, yaml.ScalarEvent):
            implicit = event.implicit[0] and not event.style
            return self._anchored(event, Node("scalar", line, event.value, event.tag or "", implicit))
        kind = "sequence" if isinstance(event, yaml.SequenceStartEvent) else "mapping"
        node = self._anchored(event, Node(kind, line, tag=event.tag or ""))
        while not isinstance(child := next(self._events), yaml.CollectionEndEvent):
            node.children.append(self._node(child))
        return node

    def _anchored(self, event: Any, node: Node) -> Node:
        if event.anchor:
            self._anchors[event.anchor] = node
        return node


def _where(error: yaml.MarkedYAMLError) -> str:
    """Give the line as go-yaml does: it counts a scanner's from one and a parser's from nought."""
    line = error.problem_mark.line if error.problem_mark else 0
    if line:
        line += isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark:
        line = error.context_mark.line
    return f"line {line}: " if line else ""


class _Reader:
    """Gives nodes their values; notes the names that stand twice in one mapping."""

    def __init__(self) -> None:
        self.twice: list[Twice] = []
        self._open: list[Node] = []
        self._steps = 0
        self._aliased = 0

    def value(self, node: Node) -> Any:
        """Give a node its value."""
        self._count()
        if node.kind == "alias":
            if any(node is other for other in self._open):
                raise Unreadable(f"yaml: anchor '{node.value}' value contains itself")
            self._open.append(node)
            found = self.value(node.children[0])
            self._open.pop()
            return found
        if node.kind == "scalar":
            return _scalar(node)
        if node.kind == "sequence":
            return [self.value(child) for child in node.children]
        found = {}
        self._fill(node, found)
        return found

    def _count(self) -> None:
        self._steps += 1
        self._aliased += bool(self._open)
        if self._aliased > ALIASED and self._steps > STEPS and self._aliased / self._steps > MOST_ALIASED:
            raise Unreadable("yaml: document contains excessive aliasing")

    def _fill(self, node: Node, into: dict[tuple[type, Any], Any]) -> None:
        for name, child in zip(node.children[::2], node.children[1::2], strict=True):
            if name.kind == "scalar" and name.value == "<<" and (name.implicit or name.tag == f"{TAG}merge"):
                self._merge(child, into)
                continue
            found = self.value(name)
            if isinstance(found, dict | list):
                raise Unreadable(f"yaml: invalid map key: {go_syntax(found)}")
            value = self.value(child)
            key = (type(found), found)
            if key in into:
                self.twice.append(Twice(child.line + 1, found))
            into[key] = value

    def _merge(self, node: Node, into: dict[tuple[type, Any], Any]) -> None:
        nodes = list(reversed(node.children)) if node.kind == "sequence" else [node]
        for one in nodes:
            meant = one.children[0] if one.kind == "alias" else one
            if meant.kind != "mapping":
                raise Unreadable("yaml: map merge requires map or sequence of maps as the value")
            self._fill(meant, into)


def _scalar(node: Node) -> Scalar:
    tag = node.tag.removeprefix(TAG)
    if not tag and not node.implicit:
        return node.value
    if tag == "binary":
        try:
            return base64.b64decode(node.value, validate=True).decode("utf-8", "replace")
        except binascii.Error as error:
            raise Unreadable("yaml: !!binary value contains invalid base64 data") from error
    if tag == "str" or (tag and tag not in RESOLVED):
        return node.value
    return _typed(tag, node.value)


def _typed(tag: str, text: str) -> Scalar:
    found = _plain(text)
    kind = {bool: "bool", int: "int", float: "float", type(None): "null"}.get(type(found), "str")
    if isinstance(found, str) and tag in ("", "timestamp") and is_moment(text):
        kind = "timestamp"
    if tag in ("", kind):
        return found
    if tag == "float" and isinstance(found, int):
        return float(found)
    raise Unreadable(f"yaml: cannot decode !!{kind} `{text}` as a !!{tag}")


def _plain(text: str) -> Scalar:
    """Resolve an unquoted word: YAML 1.1's booleans, Go's numbers; a date stays text."""
    if text in WORDS:
        return WORDS[text]
    if text[:1] not in "+-.0123456789" or is_moment(text):
        return text
    bare = text if text[:1] == "." else text.replace("_", "")
    if INTEGER.match(bare):
        digits = re.sub(r"\A([-+]?)0(?=[0-7])", r"\g<1>0o", bare)
        number = int(digits, 0)
        if MIN_INT64 <= number <= MAX_UINT64:
            return number
    number_or_text = float(bare) if FLOAT.match(bare) else text
    return text if number_or_text in (float("inf"), float("-inf")) else number_or_text


def is_moment(text: str) -> bool:
    """Say whether go-yaml takes a word for a date, which it then leaves as text."""
    if MOMENT.match(text):
        return True
    found = DATE.match(text)
    if found is None:
        return False
    try:
        datetime.date(int(found[1]) or 4, int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def _tree(value: Any) -> Tree:
    """Turn values into JSON's, names in the order of their bytes as Go's encoder writes them."""
    if isinstance(value, list):
        return Items(tuple(_tree(one) for one in value))
    if isinstance(value, dict):
        named = {_name(key, one): one for (_, key), one in value.items()}
        return Members(tuple((name, _tree(named[name])) for name in sorted(named, key=str.encode)))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            shown = "NaN" if value != value else ("+Inf" if value > 0 else "-Inf")
            raise Unreadable(f"json: unsupported value: {shown}")
        return Number(go_text.float_text(value))
    return Number(value)


def _name(key: Scalar, value: Any) -> str:
    if key is None:
        shown = f"key: <nil>, value: {go_syntax(value)}"
        raise Unreadable(f"unsupported map key of type: %!s(<nil>), {shown}")
    return key if isinstance(key, str) else go_text.as_json(key)


def go_syntax(value: Any) -> str:
    """Write a value as a piece of Go."""
    match value:
        case list():
            return f"[]interface {{}}{{{', '.join(_inner(one) for one in value)}}}"
        case dict():
            pairs = (f"{_inner(key)}:{_inner(one)}" for (_, key), one in value.items())
            return f"map[interface {{}}]interface {{}}{{{', '.join(pairs)}}}"
        case str():
            return go_text.quoted(value)
    return "<nil>" if value is None else go_text.as_json(value)


def _inner(value: Any) -> str:
    return "interface {}(nil)" if value is None else go_syntax(value)
