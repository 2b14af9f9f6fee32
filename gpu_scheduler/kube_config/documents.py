"""From the text of a file to its typed content, as kube-scheduler's strict codec reads it: all that can fail there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_scheduler.kube_config import go_text, json_source, schema, yaml_source
from gpu_scheduler.kube_config.decoding import Decoder, Mistyped, Place
from gpu_scheduler.kube_config.trees import Document, Members, Number, Tree, Unreadable, kind_of

KIND = "KubeSchedulerConfiguration"
SCHEME = "pkg/runtime/scheme.go:111"  # what the binary calls the set of its types
META_TYPE = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


class Refused(ValueError):
    """The file cannot be decoded; says why in kube-scheduler's words."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Group, version and kind of an object."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file that could be decoded. Every pluginConfig of a known kind has its args typed under `typed`."""

    version: str
    content: dict[str, Any]
    typed: Mapping[tuple[int, int], dict[str, Any]]  # by profile and place in its pluginConfig


def source(text: str) -> Document:
    """Read the text as JSON where it starts like an object, else as YAML; raise Refused."""
    try:
        if text.lstrip().startswith("{"):
            return json_source.read(text)
        return yaml_source.read(text)
    except Unreadable as error:
        if text.lstrip().startswith("{"):
            raise Refused(f"couldn't get version/kind; json parse error: {error}") from error
        raise Refused(str(error)) from error


def decode(text: str, versions: tuple[str, ...]) -> Decoded:
    """Decode a file of one of the versions; raise Refused."""
    document = source(text)
    kind = _interpret(document.tree, document.text, None)
    type_ = _type(kind, versions)
    strict = list(_twice(document))
    content = _content(document.tree, type_, strict)
    typed = _nested(content, kind.version, strict) if kind.kind == KIND else {}
    if strict:
        raise Refused(f"strict decoding error: {', '.join(strict)}")
    if kind.kind != KIND:
        raise Refused(f"couldn't decode as {KIND}, got {kind.group_version}, Kind={kind.kind}: ")
    return Decoded(kind.version, content, typed)


def _twice(document: Document) -> tuple[str, ...]:
    joined = "\n  ".join(
        f"line {twice.line}: key {yaml_source.go_syntax(twice.name)} already set in map" for twice in document.twice
    )
    return (f"yaml: unmarshal errors:\n  {joined}",) if joined else ()


def _content(tree: Tree, type_: schema.Type, strict: list[str]) -> dict[str, Any]:
    decoder = Decoder()
    try:
        found = decoder.decode(tree, type_)
    except Mistyped as error:
        raise Refused(str(error)) from error
    strict.extend(decoder.strict)
    return found


def _type(kind: Kind, versions: tuple[str, ...]) -> schema.Type:
    if kind.group == schema.GROUP and kind.version in versions:
        found = {KIND: schema.configuration(kind.version), **schema.plugin_args(kind.version)}.get(kind.kind)
        if found is not None:
            return found
    of = f"no kind {go_text.quoted(kind.kind)} is registered for version {go_text.quoted(kind.group_version)}"
    raise Refused(f"{of} in scheme {go_text.quoted(SCHEME)}")


def _interpret(tree: Tree, text: str, default: Kind | None) -> Kind:
    """Find out what the object is; here alone Go does not mind the case of names."""
    if tree is not None and not isinstance(tree, Members):
        raise Refused(_unparsed(Place().mistyped(kind_of(tree), META_TYPE)))
    found = {"apiversion": "", "kind": ""}
    first = ""
    for name, value in tree.pairs if isinstance(tree, Members) else ():
        if name.lower() not in found or value is None:
            continue
        if isinstance(value, str) and not isinstance(value, Number):
            found[name.lower()] = value
        else:
            declared = "apiVersion" if name.lower() == "apiversion" else "kind"
            first = first or Place("", (declared,)).mistyped(kind_of(value), "string")
    if first:
        raise Refused(_unparsed(first))
    return _complete(_group_version(found["apiversion"]), found["kind"], text, default)


def _unparsed(why: str) -> str:
    return f"couldn't get version/kind; json parse error: {why}"


def _group_version(text: str) -> tuple[str, str]:
    if text in ("", "/"):
        return "", ""
    if text.count("/") > 1:
        raise Refused(f"unexpected GroupVersion string: {text}")
    group, _, version = text.rpartition("/")
    return group, version


def _complete(group_version: tuple[str, str], kind: str, text: str, default: Kind | None) -> Kind:
    group, version = group_version
    if default is not None:
        kind = kind or default.kind
        if not version and group in ("", default.group):
            group, version = default.group, default.version
    if not kind:
        raise Refused(f"Object 'Kind' is missing in '{text}'")
    if not version:
        raise Refused(f"Object 'apiVersion' is missing in '{text}'")
    return Kind(group, version, kind)


def _nested(content: dict[str, Any], version: str, strict: list[str]) -> dict[tuple[int, int], dict[str, Any]]:
    """Decode the args of plugins that have typed ones; those of others stay as they are."""
    typed: dict[tuple[int, int], dict[str, Any]] = {}
    for first, profile in enumerate(content.get("profiles", ())):
        for second, configured in enumerate(profile.get("pluginConfig", ())):
            name = configured.get("name", "")
            expected = Kind(schema.GROUP, version, f"{name}Args")
            if expected.kind not in schema.plugin_args(version):
                continue
            at = f"decoding .profiles[{first}].pluginConfig[{second}]"
            try:
                typed[first, second] = _args(name, configured.get("args"), expected, (at, strict))
            except Refused as error:
                raise Refused(f"{at}: {error}") from error
    return typed


def _args(name: str, tree: Tree, expected: Kind, report: tuple[str, list[str]]) -> dict[str, Any]:
    found: list[str] = []
    try:
        kind = _interpret(tree, go_text.as_json(tree), expected)
        content = _content(tree, _type(kind, (expected.version,)), found)
    except Refused as error:
        raise Refused(f"decoding args for plugin {name}: {error}") from error
    if kind.group_kind != expected.group_kind:
        raise Refused(f"args for plugin {name} were not of type {expected.group_kind}, got {kind.group_kind}")
    if found:
        at, strict = report
        inner = f"decoding args for plugin {name}: strict decoding error: {', '.join(found)}"
        strict.append(f"{at}: strict decoding error: {inner}")
    return content
