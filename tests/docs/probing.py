"""Finds out what the scheduler's configuration file may say by asking its own strict reader. Holds no list of fields.

A name that nobody reads is answered with all that are; a value of a wrong type with the right one; and a value that is
accepted shows in the result which setting it moved, or that it has no effect.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from cluster_model.verdict import BadRequest
from gpu_scheduler import config, profiles
from gpu_scheduler.kube_config import schema

STRANGER = "?"
HEAD = {"apiVersion": f"{schema.GROUP}/{schema.V1}", "kind": "KubeSchedulerConfiguration"}
KNOWN_RULE = "unknown field; known: "
# Tried in this order until one is accepted and differs from the default.
SAMPLES: tuple[Any, ...] = (True, False, -1, 5, "-1s", "3s", "77s", "example", "leases")
OWN_NAMESPACE = "(own namespace)"
Wrap = Callable[[Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of the file: its form, what it is when left out, and what else the reader says about it."""

    path: str
    form: str
    default: str
    note: str


def settings() -> Iterator[Setting]:
    """Every field of the file, except the lists of plugins, which are all alike."""
    yield from _mapping("", lambda inside: {**HEAD, **inside})


def _mapping(path: str, wrap: Wrap) -> Iterator[Setting]:
    for name in _names(path, wrap):
        yield from _field(f"{path}.{name}".lstrip("."), _inside(wrap, name))


def _inside(wrap: Wrap, name: str) -> Wrap:
    return lambda value: wrap({name: value})


def _field(path: str, wrap: Wrap) -> Iterator[Setting]:
    if path.endswith(".plugins"):
        yield Setting(path.replace("[0]", "[]"), "a mapping", "", "lists of plugins by extension point, see below")
    elif _names(path, wrap):
        yield from _mapping(path, wrap)
    elif _names(f"{path}[0]", lambda inside: wrap([inside])):
        yield from _mapping(f"{path}[0]", lambda inside: wrap([inside]))
    else:
        yield _leaf(path, wrap)


def _names(path: str, wrap: Wrap) -> list[str]:
    """The names that are known inside the mapping at a path; none where there is no mapping."""
    stranger = f"{path}.{STRANGER}".lstrip(".")
    rules = _rules(wrap({STRANGER: 0})).get(stranger, [])
    return next((rule.removeprefix(KNOWN_RULE).split(", ") for rule in rules if rule.startswith(KNOWN_RULE)), [])


def _leaf(path: str, wrap: Wrap) -> Setting:
    said = _rules(wrap({STRANGER: 0})).get(path, ["must be a mapping"])
    tried = [_tried(path, wrap(sample)) for sample in SAMPLES]
    rules = dict.fromkeys(rule for _, refused in tried for rule in refused)
    warnings = dict.fromkeys(text for outcome, _ in tried if outcome for text in outcome.warned)
    default = next((outcome.default for outcome, _ in tried if outcome and outcome.default), "")
    notes = [text for text in (*warnings, *said[1:], *rules) if text != said[0]]
    return Setting(
        path.replace("[0]", "[]"), said[0].removeprefix("must be "), default, "; ".join(dict.fromkeys(notes))
    )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What an accepted value did: the default that it replaced, the warnings that it met."""

    default: str
    warned: tuple[str, ...]


def _tried(path: str, document: Mapping[str, Any]) -> tuple[_Outcome | None, list[str]]:
    """Read a document in which one field is set; give what that did, or the rules by which it was refused."""
    try:
        found = _read(document)
    except BadRequest:
        return None, _rules(document).get(path, [])
    moved = [old for old, new in zip(_leaves(_read(HEAD)), _leaves(found), strict=True) if old != new]
    warned = tuple(text.removeprefix(f"{path}: ") for text in found.warnings if text.startswith(f"{path}: "))
    return _Outcome(_shown(moved[0]) if moved else "", warned), []


def _leaves(found: config.Config) -> list[Any]:
    """Every setting of a configuration but its warnings, in one order."""
    election, backoff = dataclasses.astuple(found.leader_election), dataclasses.astuple(found.backoff)
    return [*election, *backoff, found.kubeconfig, *(profile.scheduler_name for profile in found.profiles)]


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g} s" if isinstance(value, float) else str(value) or "empty"


def _read(document: Mapping[str, Any]) -> config.Config:
    return config.parse(yaml.safe_dump(dict(document)), profiles.KNOWN, OWN_NAMESPACE)


def _rules(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is wrong with a document, by path."""
    found: dict[str, list[str]] = {}
    try:
        _read(document)
    except BadRequest as refused:
        for problem in refused.problems:
            found.setdefault(problem.path, []).append(problem.rule)
    return found
