"""A profile's lists of plugins: how they merge with the defaults, and how multiPoint spreads over the points."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from gpu_scheduler.kube_config.schema import MULTI_POINT


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list of plugins, and where it is written."""

    name: str
    weight: int | None = None  # None: not given
    path: str = "default"


@dataclass(frozen=True, slots=True)
class PluginSet:
    """One extension point."""

    enabled: tuple[Entry, ...] = ()
    disabled: tuple[Entry, ...] = ()

    @property
    def off(self) -> frozenset[str]:
        """Return the names that are disabled."""
        return frozenset(entry.name for entry in self.disabled)


Sets: TypeAlias = Mapping[str, PluginSet]  # by extension point
NOTHING = PluginSet()


def read(plugins: Mapping[str, Any], path: str) -> dict[str, PluginSet]:
    """Take the lists from a decoded profile."""
    return {
        point: PluginSet(
            tuple(_entries(found.get("enabled", ()), f"{path}.{point}.enabled")),
            tuple(_entries(found.get("disabled", ()), f"{path}.{point}.disabled")),
        )
        for point, found in plugins.items()
    }


def _entries(found: Iterable[Mapping[str, Any]], path: str) -> Iterable[Entry]:
    for index, entry in enumerate(found):
        yield Entry(entry.get("name", ""), entry.get("weight"), f"{path}[{index}].name")


def merged(written: Sets, defaults: Iterable[Entry]) -> dict[str, PluginSet]:
    """Merge with the defaults, all of which are multiPoint's."""
    return {**written, MULTI_POINT: merge(tuple(defaults), written.get(MULTI_POINT, NOTHING))}


def merge(defaults: tuple[Entry, ...], written: PluginSet) -> PluginSet:
    """Drop what is disabled; a default written again keeps its place and takes the new weight; others follow."""
    last = {entry.name: index for index, entry in enumerate(written.enabled)}
    kept = () if "*" in written.off else tuple(entry for entry in defaults if entry.name not in written.off)
    replaced = {last[entry.name] for entry in kept if entry.name in last}
    in_place = [written.enabled[last[entry.name]] if entry.name in last else entry for entry in kept]
    others = [entry for index, entry in enumerate(written.enabled) if index not in replaced]
    return PluginSet((*in_place, *others), written.disabled)


@dataclass(frozen=True, slots=True)
class Expansion:
    """What runs at one point, and what stands twice in multiPoint."""

    entries: tuple[Entry, ...]
    twice: tuple[Entry, ...] = ()


def expand(own: PluginSet, multi: PluginSet, extends: Iterable[str]) -> Expansion:
    """Put first the point's entries that multiPoint has too, then the rest of multiPoint, then the other entries.

    `extends` are the plugins that work at the point.
    """
    if "*" in own.off:
        return Expansion(own.enabled)
    there = frozenset(extends) - own.off
    named = {entry.name for entry in own.enabled}
    spread = [entry for entry in multi.enabled if entry.name in there]
    shared = {entry.name for entry in spread} & named
    rest = {entry.name: entry for entry in reversed(spread) if entry.name not in named}
    ordered = [rest[name] for name in dict.fromkeys(entry.name for entry in spread) if name in rest]
    twice = [entry for entry in spread if entry.name in rest and entry is not rest[entry.name]]
    first = [entry for entry in own.enabled if entry.name in shared]
    last = [entry for entry in own.enabled if entry.name not in shared]
    return Expansion((*first, *ordered, *last), tuple(twice))
