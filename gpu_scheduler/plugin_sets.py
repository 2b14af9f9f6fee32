"""Which plugins a profile runs, and which of kube-scheduler's names a configuration may hold.

A name is one of four kinds. *Ours* filter or score here, as those of users may that were found. *Built in* are part of
the process itself: queue order, gates, binding. *Not now* have nothing to do, because pods that need them are kept
pending or the gate of their feature is off. *Elsewhere* are kube-scheduler's plugins that do not exist here: to enable
one is refused, because to accept it would drop a rule in silence; to disable one is a truth already.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cluster_model.verdict import Problem
from gpu_scheduler.fields import Fields
from gpu_scheduler.kube_config import merging, names, schema
from gpu_scheduler.kube_config.merging import NOTHING, Entry, PluginSet

POINTS = schema.POINTS
BUILT_IN: Mapping[str, str] = MappingProxyType(
    {"SchedulingGates": "preEnqueue", "PrioritySort": "queueSort", "DefaultBinder": "bind"}
)
DEVICES = "DynamicResources"
NOT_NOW: frozenset[str] = frozenset({DEVICES, *names.GATED_OFF})
ELSEWHERE: frozenset[str] = frozenset(names.POINTS) - BUILT_IN.keys() - NOT_NOW
MAX_TOTAL_SCORE = 2**63 - 1
NO_POINTS: Mapping[str, frozenset[str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to choose from: our plugins by extension point, and the defaults in order with their weights."""

    filters: frozenset[str]
    scorers: frozenset[str]
    defaults: tuple[tuple[str, int], ...]
    points: Mapping[str, frozenset[str]] = field(default_factory=lambda: NO_POINTS)  # beside filter and score
    broken: Mapping[str, str] = field(default_factory=dict)  # users' plugins that cannot be had, and why

    @property
    def ours(self) -> frozenset[str]:
        """Return every plugin that can be started."""
        return self.filters | self.scorers | self.points.keys()

    @property
    def names(self) -> str:
        """List the names that may be enabled."""
        return ", ".join(sorted(self.ours | BUILT_IN.keys()))

    def extends(self, name: str, point: str) -> bool:
        """Whether the plugin has work at that point."""
        if point == "filter":
            return name in self.filters
        if point == "score":
            return name in self.scorers
        return BUILT_IN.get(name) == point or (name in self.ours and point in self.at(name))

    def at(self, name: str) -> frozenset[str]:
        """Return the points of a plugin: its own, and for one of kube-scheduler's all that it has there."""
        work = {"filter": self.filters, "score": self.scorers}
        folded = {"preFilter": "filter", "preScore": "score"}
        own = {point for point, there in work.items() if name in there}
        own |= {before for before, point in folded.items() if point in own}
        return frozenset(own) | self.points.get(name, frozenset()) | names.POINTS.get(name, frozenset())


@dataclass(frozen=True, slots=True)
class Chosen:
    """The plugins that run, in their order."""

    filters: tuple[Entry, ...]
    scorers: tuple[Entry, ...]
    pre_filters: tuple[str, ...]  # named at preFilter and no filters: they look at pods alone
    points: Mapping[str, tuple[str, ...]]  # by extension point
    devices: bool  # DynamicResources stays among kube-scheduler's default plugins


@dataclass(slots=True)
class Reading:
    """What was found while reading one file."""

    known: Known
    problems: list[Problem]
    version: str = schema.V1
    warnings: list[str] = field(default_factory=list)


def read(plugins: Fields, reading: Reading) -> dict[str, PluginSet]:
    """Read the lists of every extension point that the file's version has."""
    written = {point: _read_set(plugins.part(point)) for point in schema.FIELDS_OF_POINTS[reading.version]}
    plugins.close()
    found = {point: _renamed(one, reading.version) for point, one in written.items()}
    for point, one in found.items():
        _check(point, one, reading)
    return {point: _without(one, NOT_NOW - reading.known.ours) for point, one in found.items()}


def choose(written: Mapping[str, PluginSet], path: str, reading: Reading) -> Chosen:
    """Merge a profile's lists with the defaults, point by point."""
    known, problems = reading.known, reading.problems
    defaults = [Entry(name, weight) for name, weight in (*((name, 0) for name in BUILT_IN), *known.defaults)]
    sets = merging.merged(written, defaults)
    multi = sets[schema.MULTI_POINT]
    every = known.ours | BUILT_IN.keys()
    running = {
        point: merging.expand(
            sets.get(point, NOTHING), multi, (name for name in every if known.extends(name, point))
        ).entries
        for point in POINTS
    }
    if not running["bind"]:
        problems.append(Problem(f"{path}.bind", "", "at least one bind plugin is needed: DefaultBinder"))
    if not running["queueSort"]:
        problems.append(Problem(f"{path}.queueSort", "", "one queue sort plugin is needed: PrioritySort"))
    scorers = tuple(Entry(entry.name, entry.weight or 1, entry.path) for entry in running["score"])
    if sum(entry.weight or 1 for entry in scorers) * 100 > MAX_TOTAL_SCORE:
        problems.append(Problem(f"{path}.score", "", "total score of Score plugins could overflow"))
    points = {point: tuple(entry.name for entry in entries) for point, entries in running.items()}
    before = _before(sets.get("preFilter", NOTHING), points["filter"], reading)
    return Chosen(running["filter"], scorers, before, points, not _is_off(DEVICES, written))


def _is_off(name: str, written: Mapping[str, PluginSet]) -> bool:
    """Say whether a default plugin is disabled where it would act after the filters."""
    off = (written.get(point, NOTHING).disabled for point in (schema.MULTI_POINT, "postFilter"))
    return any(entry.name in (name, "*") for entries in off for entry in entries)


def _before(written: PluginSet, filters: tuple[str, ...], reading: Reading) -> tuple[str, ...]:
    """Return what is named at preFilter and is no filter; with a filter, its part before goes without saying."""
    for entry in written.enabled:
        if entry.name in filters:
            reading.warnings.append(_as_a_whole(entry))
    names_before = (entry.name for entry in written.enabled if entry.name not in filters)
    return tuple(name for name in names_before if name in reading.known.filters)


def _as_a_whole(entry: Entry) -> str:
    return f"{entry.path}: no effect: {entry.name} runs as a whole at filter and score"


def _read_set(written: Fields) -> PluginSet:
    enabled = tuple(_read_entry(row) for row in written.parts("enabled"))
    disabled = tuple(_read_entry(row) for row in written.parts("disabled"))
    written.close()
    return PluginSet(enabled, disabled)


def _read_entry(row: Fields) -> Entry:
    name, weight = row.text("name"), row.whole("weight")
    row.close()
    if not name:
        row.refuse("name", "must be the name of a plugin")
    if weight < 0:
        row.refuse("weight", "must not be negative")
    return Entry(name, weight, row.at("name"))


def _renamed(written: PluginSet, version: str) -> PluginSet:
    """Give plugins of a beta version the names of today; of those that are one today the first counts."""

    def today(entries: Iterable[Entry]) -> tuple[Entry, ...]:
        found: list[Entry] = []
        for entry in entries:
            name = names.today(entry.name, version)
            if name == entry.name or name not in (other.name for other in found):
                found.append(Entry(name, entry.weight, entry.path))
        return tuple(found)

    return PluginSet(today(written.enabled), today(written.disabled))


def _without(written: PluginSet, gone: frozenset[str]) -> PluginSet:
    return PluginSet(tuple(entry for entry in written.enabled if entry.name not in gone), written.disabled)


def _check(point: str, written: PluginSet, reading: Reading) -> None:
    for entry in _repeated(written.enabled):
        reading.problems.append(Problem(entry.path, entry.name, "must stand once in its list"))
    for entry in written.enabled:
        _check_enabled(point, entry, reading)
    for entry in written.disabled:
        _check_disabled(point, entry, reading)


def _repeated(entries: Iterable[Entry]) -> list[Entry]:
    seen: set[str] = set()
    return [entry for entry in entries if entry.name in seen or seen.add(entry.name)]  # type: ignore[func-returns-value]


def _check_enabled(point: str, entry: Entry, reading: Reading) -> None:
    known = reading.known
    if not entry.name:
        return
    if entry.name in NOT_NOW - known.ours:
        reading.warnings.append(f"{entry.path}: no effect: {not_now(entry.name)}")
    elif entry.name not in known.ours | BUILT_IN.keys():
        reading.problems.append(Problem(entry.path, entry.name, unknown_rule(entry.name, known)))
    elif point != schema.MULTI_POINT and not known.extends(entry.name, point):
        rule = f"does not extend this point; at {point} are known: {_at(point, known)}"
        reading.problems.append(Problem(entry.path, entry.name, rule))
    elif point == "preScore":
        reading.warnings.append(_as_a_whole(entry))


def _check_disabled(point: str, entry: Entry, reading: Reading) -> None:
    known = reading.known
    if not entry.name or entry.name in (ELSEWHERE | NOT_NOW | known.broken.keys()) - known.ours:
        return
    if entry.name not in known.ours | BUILT_IN.keys() | {"*"}:
        reading.problems.append(Problem(entry.path, entry.name, f"unknown plugin; known: *, {known.names}"))
    elif point == "preEnqueue" or entry.name == "SchedulingGates":
        reading.warnings.append(
            f"{entry.path}: no effect: a pod with scheduling gates is never tried, binding would fail"
        )
    elif point in ("preFilter", "preScore"):
        reading.warnings.append(_as_a_whole(entry))


def not_now(name: str) -> str:
    """Say why a plugin of kube-scheduler's has nothing to do here."""
    if name in names.GATED_OFF:
        return f"{name} does nothing while the gate of its feature is off"
    return "a pod with resource claims stays pending"


def unknown_rule(name: str, known: Known) -> str:
    """Say why a name cannot be enabled, and which can."""
    if name in known.broken:
        return f"cannot be imported: {known.broken[name]}"
    if name in ELSEWHERE:
        return f"a plugin of kube-scheduler that this scheduler does not have; known: {known.names}"
    return f"unknown plugin; known: {known.names}"


def _at(point: str, known: Known) -> str:
    found = sorted(name for name in known.ours | BUILT_IN.keys() if known.extends(name, point))
    return ", ".join(found) or "none"
