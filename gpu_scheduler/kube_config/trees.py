"""Plain data as JSON has it: what both sources, YAML and JSON, are turned into before anything is decoded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Tree: TypeAlias = "bool | str | Number | Items | Members | None"


class Number(str):
    """A number as it is written: Go decides by the text whether it is whole."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    values: tuple[Tree, ...]

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.values)


@dataclass(frozen=True, slots=True)
class Members:
    """An object: names in the order in which they are decoded; in JSON one may stand twice."""

    pairs: tuple[tuple[str, Tree], ...]

    def get(self, name: str) -> Tree:
        """Return the member of that name, the last one where there are several."""
        return dict(self.pairs).get(name)


class Unreadable(ValueError):
    """A document that cannot be read at all, in the words of the Go library that gives up."""


@dataclass(frozen=True, slots=True)
class Twice:
    """A name that stands twice in one mapping, and the line of its second value."""

    line: int
    name: str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its tree, the text it came from, what stands twice in YAML, and whether another one follows."""

    tree: Tree
    text: str
    twice: tuple[Twice, ...] = ()
    more: bool = False


def kind_of(tree: Tree) -> str:
    """Say what Go's decoder calls the value."""
    match tree:
        case None:
            return "null"
        case bool():
            return "bool"
        case Number():
            return "number"
        case str():
            return "string"
        case Items():
            return "array"
    return "object"


def plain(tree: Tree) -> object:
    """Turn a tree into what Python's own JSON reader gives."""
    match tree:
        case Items():
            return [plain(value) for value in tree]
        case Members():
            return {name: plain(value) for name, value in tree.pairs}
        case Number():
            return int(tree) if tree.lstrip("-").isdigit() else float(tree)
    return tree
