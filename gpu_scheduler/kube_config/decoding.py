"""Decodes a tree into a typed value as sigs.k8s.io/json does: what is mistyped, unknown or doubled, in its words."""

import base64
import binascii
import struct
from dataclasses import dataclass, field
from typing import Any

from gpu_scheduler.kube_config import go_text
from gpu_scheduler.kube_config.schema import Field, Type
from gpu_scheduler.kube_config.trees import Items, Members, Number, Tree, kind_of

BITS = {"int32": 32, "int64": 64}
MOST_STRICT_ERRORS = 100
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


class Mistyped(ValueError):
    """A value that does not fit its type: nothing of the document is used."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: for errors of type the struct and its fields, for strict ones the path."""

    struct: str = ""
    stack: tuple[str, ...] = ()
    path: str = ""

    def inside(self, of: Type, name: str, embedded: str) -> "Place":
        """Go to a field of a struct."""
        stack = (*self.stack, embedded, name) if embedded else (*self.stack, name)
        return Place(of.short, stack, self.joined(name))

    def at(self, index: int) -> "Place":
        """Go to an element of a list."""
        return Place(self.struct, self.stack, f"{self.path}[{index}]")

    def joined(self, name: str) -> str:
        """Return the path of a member here."""
        return f"{self.path}.{name}" if self.path else name

    def mistyped(self, value: str, type_name: str) -> str:
        """Say that a value does not fit."""
        into = f"struct field {self.struct}.{'.'.join(self.stack)} of" if self.stack else "value of"
        return f"json: cannot unmarshal {value} into Go {into} type {type_name}"


@dataclass(slots=True)
class Decoder:
    """Decodes one document. Absent and null members are left out of the structs that come out, which are dicts."""

    first: str | None = None  # the first error of type, which Go tells at the end
    strict: dict[str, None] = field(default_factory=dict)

    def decode(self, tree: Tree, type_: Type) -> dict[str, Any]:
        """Decode a whole document; raise Mistyped. What is unknown or doubled is in `strict` afterwards."""
        found = self._value(tree, type_, Place())
        if self.first is not None:
            raise Mistyped(self.first)
        return found or {}

    def _value(self, tree: Tree, type_: Type, place: Place) -> Any:
        if type_.kind == "raw":
            return tree
        if type_.kind == "duration":
            return _duration(tree, place)
        if tree is None:
            return None
        match type_.kind, tree:
            case "struct", Members():
                return self._struct(tree, type_, place)
            case "map", Members():
                return self._map(tree, type_, place)
            case "slice", Items() if type_.elem is not None:
                return [self._element(one, type_.elem, place.at(index)) for index, one in enumerate(tree)]
            case _, Number():
                return self._number(tree, type_, place)
            case ("bool", bool()) | ("string", str()):
                return tree
            case "bytes", str():
                return self._bytes(tree)
        return self._mistyped(kind_of(tree), type_, place)

    def _struct(self, tree: Members, type_: Type, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        seen: set[str] = set()
        for name, value in tree.pairs:
            declared = type_.fields.get(name)
            if declared is None:
                self._note("unknown", place.joined(name))
                continue
            if name in seen:
                self._note("duplicate", place.joined(name))
            seen.add(name)
            decoded = self._field(value, declared, place.inside(type_, name, declared.embedded))
            if decoded is not None:
                found[name] = decoded
        return found

    def _field(self, value: Tree, declared: Field, place: Place) -> Any:
        if value is None and declared.pointer:
            return None
        return self._value(value, declared.type, place)

    def _map(self, tree: Members, type_: Type, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in tree.pairs:
            if name in found:
                self._note("duplicate", place.joined(name))
            assert type_.elem is not None
            inside = Place(place.struct, place.stack, place.joined(name))
            found[name] = self._element(value, type_.elem, inside)
        return found

    def _element(self, value: Tree, type_: Type, place: Place) -> Any:
        """Decode what has a zero value of its own where it is null or does not fit."""
        found = self._value(value, type_, place)
        zero = {"struct": {}, "string": ""}.get(type_.kind)
        return zero if found is None else found

    def _number(self, text: Number, type_: Type, place: Place) -> Any:
        bits = BITS.get(type_.kind)
        if bits is not None:
            if text.removeprefix("-").isdigit() and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
                return int(text)
            return self._mistyped(f"number {text}", type_, place)
        if type_.kind == "float32":
            try:
                return struct.unpack("<f", struct.pack("<f", float(text)))[0]
            except OverflowError:
                return self._mistyped(f"number {text}", type_, place)
        return self._mistyped("number", type_, place)

    def _bytes(self, text: str) -> bytes | None:
        try:
            return base64.b64decode("".join(text.split("\n")).replace("\r", ""), validate=True)
        except (binascii.Error, ValueError):
            self.first = self.first or f"illegal base64 data at input byte {_first_wrong(text)}"
            return None

    def _mistyped(self, value: str, type_: Type, place: Place) -> None:
        self.first = self.first or place.mistyped(value, type_.name)

    def _note(self, what: str, path: str) -> None:
        if len(self.strict) < MOST_STRICT_ERRORS:
            self.strict.setdefault(f"{what} field {go_text.quoted(path)}")


def _duration(tree: Tree, place: Place) -> int:
    """Read a duration, which decodes itself and so gives up at once."""
    if tree is not None and (isinstance(tree, Number) or not isinstance(tree, str)):
        raise Mistyped(place.mistyped(kind_of(tree), "string"))
    try:
        return go_text.nanoseconds(tree or "")
    except go_text.BadDuration as error:
        raise Mistyped(str(error)) from error


def _first_wrong(text: str) -> int:
    """Find the place that Go complains about: a letter of another alphabet, or where what is cut off starts."""
    count = 0  # letters of the four that belong together
    letters = [(at, letter) for at, letter in enumerate(text) if letter not in "\r\n"]
    for index, (at, letter) in enumerate(letters):
        if letter in ALPHABET:
            count = (count + 1) % 4
            continue
        if letter != "=" or count < 2:
            return at
        return _after_padding([place for place, _ in letters[index:]], text, count)
    return len(text) - count


def _after_padding(places: list[int], text: str, count: int) -> int:
    """Go on behind the first `=`: a second one must follow where only two letters stand, then nothing."""
    if count == 3:
        return places[1]
    if len(places) == 1:
        return len(text)
    return places[1] - 1 if text[places[1]] != "=" else places[2]
