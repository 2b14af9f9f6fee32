"""The scheduler's configuration as a page: fields, plugins, args and reasons, taken from the code that reads them."""

from __future__ import annotations

import importlib
import pkgutil
import types
import typing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

import scheduler_plugins
from cluster_model.verdict import Reason
from gpu_scheduler import plugin_sets, profiles
from gpu_scheduler.kube_config import names
from scheduler_plugins import gpu_topology, plugin_args, registry
from tests.docs import probing
from tests.docs.markdown import code, paragraph, table

ABOUT_FILE = """
The file of `gpu-scheduler run --config`. It is read strictly: an unknown field, plugin or arg, a wrong type, or a name
that stands twice ends the process with exit code 2, and every problem is printed with its path. What kube-scheduler
would not load is refused in its words; `gpu-scheduler config check` says just that, and starts nothing. A field without
a default here has no setting behind it.
"""
ABOUT_PLUGINS = """
They run by default, in this order; the first filter that rejects a node speaks for it. Only where a configuration names
them run: {names}.
"""
ABOUT_POINTS = """
`profiles[].plugins` has a list `enabled` (`name`, `weight`) and a list `disabled` (`name`, or `*`) for each of:
{points}. They are merged with the defaults by kube-scheduler's rules.
"""
ABOUT_NOT_NOW = """
Plugins of kube-scheduler that have nothing to do here, so they are accepted with a remark: a pod with resource claims
stays pending, and the gates of the others are off by default: {names}.
"""
ABOUT_ELSEWHERE = """
Plugins of kube-scheduler that do not exist here. To enable one is an error, to disable one is accepted: {names}.
"""
ABOUT_OLD = """
In a file of a beta version these are NodeVolumeLimits; in one of v1 they are refused, as by kube-scheduler: {names}.
"""
ABOUT_REASONS = """
What the event and the condition of a pending pod say, and the changes of the cluster that wake such a pod. Where a text
has two rows, one is for nodes that would have room if pods ended, the other for those that never have it. Beside these,
NodeResourcesFit says `Insufficient <resource>` with the events of `Too many pods`, and UnsupportedConstraints repeats a
malformed annotation or names an unsupported field; only a change of the pod itself cures that.
"""
WORDS: dict[Any, str] = {str: "text", int: "whole number", bool: "boolean"}
KNOWN_NAMES = "; known: "  # what follows is a table of its own


def fields() -> list[str]:
    """The file's fields; those of kube-scheduler that have no effect are marked so."""
    rows = [
        [code(found.path), found.form, code(found.default), found.note.partition(KNOWN_NAMES)[0]]
        for found in probing.settings()
    ]
    return [
        "## KubeSchedulerConfiguration",
        "",
        *paragraph(ABOUT_FILE),
        *table(["field", "form", "default", "note"], rows),
    ]


def plugins() -> list[str]:
    """Our plugins in the order in which they filter, and the names that mean something else here."""
    rows = []
    for name, plugin in registry.PLUGINS.items():
        work = {"filter": plugin.filter, "score": plugin.scorer, "post filter": plugin.post_filter}
        does = [word for word, bound in work.items() if bound is not None]
        weight = str(plugin.weight) if plugin.scorer is not None else ""
        rows.append([code(name), ", ".join(does), weight, _about(name)])
    named = [pair for pair in registry.PLUGINS.items() if not pair[1].by_default]
    points = ", ".join(map(code, (*plugin_sets.POINTS, "multiPoint")))
    builtin = [[code(name), code(point)] for name, point in plugin_sets.BUILT_IN.items()]
    return [
        "## Plugins",
        "",
        *paragraph(ABOUT_PLUGINS.format(names=", ".join(code(name) for name, _ in named))),
        *table(["name", "does", "default weight", "what"], rows),
        *paragraph(ABOUT_POINTS.format(points=points)),
        *paragraph("Part of the process, accepted at their own point, never replaced:"),
        *table(["name", "point"], builtin),
        *paragraph(ABOUT_NOT_NOW.format(names=_listed_names(plugin_sets.NOT_NOW))),
        *paragraph(ABOUT_ELSEWHERE.format(names=_listed_names(plugin_sets.ELSEWHERE))),
        *paragraph(ABOUT_OLD.format(names=_listed_names(frozenset(names.TODAY)))),
    ]


def _listed_names(found: frozenset[str]) -> str:
    return ", ".join(map(code, sorted(found - profiles.KNOWN.ours))) or "none"


def args() -> list[str]:
    """What `pluginConfig[].args` may say."""
    rows = [row for name, plugin in registry.PLUGINS.items() for row in _args(name, plugin.args)]
    heads = ["plugin", "arg", "form", "default", "rule"]
    return ["## Plugin args", "", *table(heads, rows)]


def reasons() -> list[str]:
    """Why a node is rejected, and the events after which such a pod is tried again."""
    rows = []
    for name, reason in sorted(reasons_found(), key=_place):
        events = ", ".join(code(event.value) for event in sorted(reason.cured_by))
        rows.append([reason.text, code(name), "yes" if reason.preemption_may_help else "no", events])
    return [
        "## Reasons",
        "",
        *paragraph(ABOUT_REASONS),
        *table(["text", "said by", "can eviction help", "woken by"], rows),
    ]


def _about(name: str) -> str:
    """The first sentence of the plugin's module, without the name it begins with."""
    plugin = registry.PLUGINS[name]
    bare = plugin.args()
    run = plugin.filter(name, bare).run if plugin.filter else plugin.scorer and plugin.scorer(name, 1, bare).run
    function = run.func if isinstance(run, partial) else run or plugin.post_filter
    module = importlib.import_module(typing.cast(types.FunctionType, function).__module__)
    sentence = " ".join((module.__doc__ or "").partition("\n\n")[0].split())
    return sentence.partition(": ")[2].split(". ")[0].rstrip(".")


def _args(name: str, kind: Any) -> Iterator[list[str]]:
    for where, form, default, wrap in _leaves(kind, "", lambda inside: inside):
        wrong = wrap(-1 if form == WORDS[int] else probing.STRANGER)
        yield [code(name), code(where), form, code(default), _rule(kind, wrong, where.replace("[]", "[0]"))]


def _leaves(kind: Any, path: str, wrap: Callable[[Any], Any]) -> Iterator[tuple[str, str, str, Callable[[Any], Any]]]:
    """Each arg: path, form, default, and how a value for it stands in the whole."""
    for field in msgspec.structs.fields(kind):
        where, inside = f"{path}.{field.encode_name}".lstrip("."), _within(wrap, field.encode_name)
        inner, suffix = _inner(field.type)
        if inner is not field.type:
            yield where, _form(field.type), _plain(field.default), inside
        if inner is not None:
            yield from _leaves(inner, where + suffix, _listed(inside) if suffix else inside)


def _within(wrap: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    return lambda value: wrap({name: value})


def _listed(wrap: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: wrap([value])


def _rule(kind: Any, wrong: Any, path: str) -> str:
    """What the args' own check says of a wrong value; nothing where it is only of a wrong type."""
    try:
        args = msgspec.convert(wrong, kind)
    except msgspec.ValidationError:
        return ""
    return "; ".join(dict.fromkeys(problem.rule for problem in args.problems("") if problem.path == f".{path}"))


def _inner(kind: Any) -> tuple[Any, str]:
    """The args inside a field's type, and whether it is a list of them."""
    if isinstance(kind, type) and issubclass(kind, plugin_args.Args):
        return kind, ""
    found = [_inner(each)[0] for each in typing.get_args(kind)]
    return next(filter(None, found), None), "[]" if typing.get_origin(kind) is tuple else ""


def _form(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(map(code, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        return f"list of {_form(typing.get_args(kind)[0])}"
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return _form(next(each for each in typing.get_args(kind) if each is not type(None)))
    return WORDS.get(kind) or ("mapping" if _inner(kind)[0] else f"Kubernetes' {kind.__name__}")


def _plain(value: Any) -> str:
    if isinstance(value, tuple) and any(isinstance(each, msgspec.Struct) for each in value):
        return str(msgspec.to_builtins(list(value))).replace("'", "")  # as YAML would have it
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return "" if value in (None, (), msgspec.NODEFAULT) or isinstance(value, msgspec.Struct) else str(value)


def _place(pair: tuple[str, Reason]) -> tuple[str, str, bool]:
    name, reason = pair
    return name, reason.text, reason.preemption_may_help


def reasons_found() -> set[tuple[str, Reason]]:
    """The reasons that stand as constants in the plugins' modules, by the name of the plugin."""
    found = set()
    for info in pkgutil.iter_modules(scheduler_plugins.__path__):
        module = importlib.import_module(f"scheduler_plugins.{info.name}")
        name = getattr(module, "NAME", None) or (module.__doc__ or "").partition(":")[0].partition(",")[0]
        found |= {(name, value) for value in vars(module).values() if isinstance(value, Reason)}
    return found | {(gpu_topology.NAME, reason) for reasons in gpu_topology.TABLE for reason in reasons}
