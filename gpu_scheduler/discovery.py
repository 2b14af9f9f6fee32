"""Finds users' plugins by their entry points, and says at which extension points each works. Makes and runs none."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from cluster_model.verdict import BadRequest, Problem
from gpu_scheduler.extension_points import INTERFACES
from gpu_scheduler.kube_config import names
from gpu_scheduler.kube_config.schema import V1
from gpu_scheduler.plugin_sets import BUILT_IN
from scheduler_plugins import registry
from scheduler_plugins.guarded import RAISED
from scheduler_plugins.plugin_args import Args, NoArgs

GROUP = "gpu_scheduler.plugins"
# A name that kube-scheduler had once is refused in a file, whoever has it now.
TAKEN = registry.PLUGINS.keys() | names.POINTS.keys() | BUILT_IN.keys() | names.missing(V1)


@dataclass(frozen=True, slots=True)
class UserPlugin:
    """A class that was found, the args it takes and the points where it works."""

    made_of: type[Any]
    args: type[Args]
    points: frozenset[str]


@dataclass(frozen=True, slots=True)
class Found:
    """All plugins of users by name, and why others that are announced cannot be had."""

    plugins: Mapping[str, UserPlugin] = field(default_factory=lambda: MappingProxyType({}))
    broken: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


NOTHING_FOUND = Found()


def discover(announced: Iterable[EntryPoint] | None = None) -> Found:
    """Import what is announced; raise BadRequest where a name is taken. One that cannot be imported is only noted."""
    announced = tuple(entry_points(group=GROUP) if announced is None else announced)
    problems = tuple(_clashes(announced))
    if problems:
        raise BadRequest(*problems)
    plugins: dict[str, UserPlugin] = {}
    broken: dict[str, str] = {}
    for entry in announced:
        try:
            plugins[entry.name] = read(entry.load())
        except RAISED as error:  # a stranger's module may raise anything
            broken[entry.name] = f"{entry.value}: {type(error).__name__}: {error}"
    return Found(MappingProxyType(plugins), MappingProxyType(broken))


def _clashes(announced: tuple[EntryPoint, ...]) -> Iterator[Problem]:
    seen: set[str] = set()
    for entry in announced:
        path = f"entry_points[{GROUP}][{entry.name}]"
        if entry.name in TAKEN:
            yield Problem(path, entry.value, "must not have the name of a plugin that is built in")
        elif entry.name in seen:
            yield Problem(path, entry.value, "must not have the name of another plugin")
        seen.add(entry.name)


def read(loaded: Any) -> UserPlugin:
    """Take a class for a plugin; raise TypeError where it is none."""
    if not isinstance(loaded, type):
        raise TypeError(f"must be a class, not {type(loaded).__name__}")
    points = frozenset(point for point, interface in INTERFACES.items() if issubclass(loaded, interface))
    if not points:
        raise TypeError("must derive from an extension point of gpu_scheduler.extension_points")
    missing = sorted(getattr(loaded, "__abstractmethods__", ()))
    if missing:
        raise TypeError(f"must define {', '.join(missing)}")
    args = getattr(loaded, "args", NoArgs)
    if not (isinstance(args, type) and issubclass(args, Args)):
        raise TypeError("args must be a subclass of gpu_scheduler.extension_points.Args")
    return UserPlugin(loaded, args, points)
