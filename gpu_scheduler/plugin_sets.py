"""Which plugins a profile runs: kube-scheduler's rules for merging a profile's lists with the defaults.

A name is one of three kinds. *Ours* filter or score here. *Built in* are part of the process itself (queue order,
gates, binding) and can neither be replaced nor taken out. *Elsewhere* are kube-scheduler's plugins that do not exist
here: to enable one is refused, because to accept it would drop a rule in silence; to disable one is a truth already.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cluster_model.verdict import Problem
from gpu_scheduler.fields import Fields

POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
)
BUILT_IN: Mapping[str, str] = {"SchedulingGates": "preEnqueue", "PrioritySort": "queueSort", "DefaultBinder": "bind"}
ELSEWHERE = frozenset(
    {
        "DefaultPreemption",
        "DeferredPodScheduling",
        "DynamicResources",
        "GangScheduling",
        "InterPodAffinity",
        "NodeVolumeLimits",
        "PodGroupPodsCount",
        "PodTopologySpread",
        "TopologyPlacementGenerator",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    }
)
MAX_TOTAL_SCORE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list of plugins."""

    name: str
    weight: int
    path: str


@dataclass(frozen=True, slots=True)
class PluginSet:
    """One extension point as written."""

    enabled: tuple[Entry, ...] = ()
    disabled: tuple[Entry, ...] = ()

    @property
    def off(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.disabled)


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to choose from: our plugins by extension point, and the defaults in order with their weights."""

    filters: frozenset[str]
    scorers: frozenset[str]
    defaults: tuple[tuple[str, int], ...]

    @property
    def ours(self) -> frozenset[str]:
        return self.filters | self.scorers

    @property
    def names(self) -> str:
        return ", ".join(sorted(self.ours | BUILT_IN.keys()))

    def extends(self, name: str, point: str) -> bool:
        """Whether the plugin has work at that point."""
        if point in ("filter", "preFilter"):
            return name in self.filters
        if point in ("score", "preScore"):
            return name in self.scorers
        return BUILT_IN.get(name) == point


@dataclass(frozen=True, slots=True)
class Chosen:
    """The plugins that run, in their order."""

    filters: tuple[Entry, ...]
    scorers: tuple[Entry, ...]


@dataclass(slots=True)
class Reading:
    """What was found while reading one profile's lists."""

    known: Known
    problems: list[Problem]
    warnings: list[str] = field(default_factory=list)


def read(plugins: Fields, reading: Reading, multi_point: bool) -> dict[str, PluginSet]:
    """Read the lists of every extension point; `multi_point` says whether the file's version has that one."""
    points = (*POINTS, "multiPoint") if multi_point else POINTS
    sets = {point: _read_set(plugins.part(point)) for point in points}
    plugins.close()
    for point, written in sets.items():
        _check(point, written, reading)
    return sets


def choose(sets: Mapping[str, PluginSet], path: str, reading: Reading) -> Chosen:
    """Merge a profile's lists with the defaults, point by point."""
    known, problems = reading.known, reading.problems
    defaults = [Entry(name, weight, "default") for name, weight in known.defaults]
    builtin = [Entry(name, 0, "default") for name in BUILT_IN]
    multi = _merged([*builtin, *defaults], sets.get("multiPoint", PluginSet()))
    filters, scorers, binders, sorters = (
        _expanded(point, sets.get(point, PluginSet()), multi, known)
        for point in ("filter", "score", "bind", "queueSort")
    )
    if not binders:
        problems.append(Problem(f"{path}.bind", "", "at least one bind plugin is needed: DefaultBinder"))
    if not sorters:
        problems.append(Problem(f"{path}.queueSort", "", "one queue sort plugin is needed: PrioritySort"))
    scorers = [Entry(entry.name, entry.weight or 1, entry.path) for entry in scorers]
    if sum(entry.weight for entry in scorers) * 100 > MAX_TOTAL_SCORE:
        problems.append(Problem(f"{path}.score", "", "total score of Score plugins could overflow"))
    return Chosen(tuple(filters), tuple(scorers))


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
    if entry.name not in known.ours | BUILT_IN.keys():
        reading.problems.append(Problem(entry.path, entry.name, unknown_rule(entry.name, known)))
    elif point != "multiPoint" and not known.extends(entry.name, point):
        rule = f"does not extend this point; at {point} are known: {_at(point, known)}"
        reading.problems.append(Problem(entry.path, entry.name, rule))
    elif point in ("preFilter", "preScore"):
        reading.warnings.append(f"{entry.path}: no effect: {entry.name} runs as a whole at filter and score")


def _check_disabled(point: str, entry: Entry, reading: Reading) -> None:
    known = reading.known
    if not entry.name or entry.name in ELSEWHERE - known.ours:
        return
    if entry.name not in known.ours | BUILT_IN.keys() | {"*"}:
        reading.problems.append(Problem(entry.path, entry.name, f"unknown plugin; known: *, {known.names}"))
    elif point == "preEnqueue" or entry.name == "SchedulingGates":
        reading.warnings.append(
            f"{entry.path}: no effect: a pod with scheduling gates is never tried, binding would fail"
        )
    elif point in ("preFilter", "preScore"):
        reading.warnings.append(f"{entry.path}: no effect: {entry.name} runs as a whole at filter and score")


def unknown_rule(name: str, known: Known) -> str:
    """Say why a name cannot be enabled, and which can."""
    if name in ELSEWHERE:
        return f"a plugin of kube-scheduler that this scheduler does not have; known: {known.names}"
    return f"unknown plugin; known: {known.names}"


def _at(point: str, known: Known) -> str:
    names = sorted(name for name in known.ours | BUILT_IN.keys() if known.extends(name, point))
    return ", ".join(names) or "none"


def _merged(defaults: list[Entry], written: PluginSet) -> list[Entry]:
    """Drop what is disabled; a default named again keeps its place and takes the new weight; others follow."""
    custom = {entry.name: entry for entry in written.enabled}
    kept = [] if "*" in written.off else [entry for entry in defaults if entry.name not in written.off]
    merged = [custom.get(entry.name, entry) for entry in kept]
    names = {entry.name for entry in merged}
    return merged + [entry for entry in written.enabled if entry.name not in names]


def _expanded(point: str, written: PluginSet, multi: list[Entry], known: Known) -> list[Entry]:
    """First the point's own entries that override a multiPoint one, then the rest of multiPoint, then the others."""
    here = [] if "*" in written.off else [entry for entry in multi if known.extends(entry.name, point)]
    here = [entry for entry in here if entry.name not in written.off]
    own = {entry.name for entry in written.enabled}
    shared = {entry.name for entry in here}
    first = [entry for entry in written.enabled if entry.name in shared]
    rest = [entry for entry in here if entry.name not in own]
    return first + rest + [entry for entry in written.enabled if entry.name not in shared]
