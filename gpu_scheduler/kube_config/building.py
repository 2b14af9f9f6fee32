"""What kube-scheduler does after its check: it makes extenders and profiles, and says what cannot be made."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpu_scheduler.kube_config import args_validation, defaults, go_text, merging, names
from gpu_scheduler.kube_config.merging import Entry, PluginSet, Sets
from gpu_scheduler.kube_config.schema import GROUP_POINTS, MULTI_POINT
from gpu_scheduler.kube_config.validation import ProfileRead

ORDER = (
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
    *GROUP_POINTS,
)
MAX_SCORE = 100
MAX_INT64 = 2**63 - 1
NO_ARGS: Mapping[str, str] = {
    "DefaultPreemption": "got args of type <nil>, want *DefaultPreemptionArgs",
    "DynamicResources": "got args of type <nil>, want *DynamicResourcesArgs",
    "NodeAffinity": "args are not of type NodeAffinityArgs, got <nil>",
}
FIT = "NodeResourcesFit"
PEM = b"-----BEGIN"


class CannotBuild(ValueError):
    """No scheduler can be made of it; says why in kube-scheduler's words."""


@dataclass(frozen=True, slots=True)
class Plugins:
    """The plugins that there are: where each works. Names that nobody knows work wherever they are written."""

    points: Mapping[str, frozenset[str]]
    missing: frozenset[str]  # names that no plugin has
    foreign: frozenset[str] = frozenset()  # somebody's, not ours

    def exists(self, name: str) -> bool:
        """Say whether there is such a plugin."""
        return name not in self.missing

    def extends(self, name: str, point: str) -> bool:
        """Say whether a plugin works at a point when it is written there."""
        return name in self.foreign or point in self.points.get(name, ())

    def spread_to(self, point: str) -> frozenset[str]:
        """Return the plugins that multiPoint brings to a point."""
        return frozenset(name for name, points in self.points.items() if point in points)


@dataclass(slots=True)
class _First:
    """The queue sort of the first profile, which all must share."""

    name: str = ""
    args: object = None
    known: bool = field(default=False)


def build(extenders: list[Mapping[str, Any]], profiles: Iterable[ProfileRead], plugins: Plugins) -> None:
    """Make everything; raise CannotBuild."""
    profiles = tuple(profiles)
    ignored = _extenders(extenders)
    if ignored:
        _need_fit(profiles)
    first = _First()
    for profile in profiles:
        try:
            sort = _framework(profile, plugins, ignored)
        except CannotBuild as error:
            raise CannotBuild(
                f"initializing profiles: creating profile for scheduler name {profile.name}: {error}"
            ) from error
        _same_sort(profile, sort, first)


def merged(profile: ProfileRead) -> dict[str, PluginSet]:
    """Merge a profile's lists with kube-scheduler's own defaults."""
    return merging.merged(profile.sets, [Entry(name, weight) for name, weight in names.DEFAULTS])


def _extenders(extenders: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """Check what the extenders need for TLS, as far as no file is opened; return the resources left to them."""
    for extender in extenders:
        wrong = next(_wrong_tls(extender.get("tlsConfig", {})), None)
        if wrong:
            raise CannotBuild(f"couldn't build extenders: {wrong}")
    return tuple(
        resource.get("name", "")
        for extender in extenders
        for resource in extender.get("managedResources", ())
        if resource.get("ignoredByScheduler")
    )


def _wrong_tls(tls: Mapping[str, Any]) -> Iterator[str]:
    authority, cert, key = tls.get("caData"), tls.get("certData"), tls.get("keyData")
    if tls.get("insecure") and (authority or tls.get("caFile")):
        yield "specifying a root certificates file with the insecure flag is not allowed"
    if authority and PEM not in authority:
        yield "unable to load root certificates: unable to parse bytes as PEM block"
    if cert and (key or tls.get("keyFile")) and PEM not in cert:
        yield "tls: failed to find any PEM data in certificate input"
    if key and cert and PEM not in key:
        yield "tls: failed to find any PEM data in key input"


def _need_fit(profiles: tuple[ProfileRead, ...]) -> None:
    for profile in profiles:
        if FIT not in _configured(profile, merged(profile)):
            raise CannotBuild("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")


def _configured(profile: ProfileRead, sets: Sets) -> frozenset[str]:
    """Return the plugins that have args: written ones, and by default all enabled but at one forgotten point."""
    written = (one.get("name", "") for one in profile.content.get("pluginConfig", ()))
    enabled = (
        entry.name
        for point, found in sets.items()
        if point != "podGroupPostFilter"
        for entry in found.enabled
        if entry.name in defaults.BY_NAME
    )
    return frozenset((*written, *enabled))


def _framework(profile: ProfileRead, plugins: Plugins, ignored: tuple[str, ...]) -> str:
    """Make one profile; return the name of its queue sort plugin."""
    sets = merged(profile)
    _make_plugins(profile, sets, ignored)
    for point in ORDER:
        _check_list(point, sets.get(point, PluginSet()), plugins)
    found = running(sets, plugins)
    unsure = any(entry.name in plugins.foreign for entry in sets[MULTI_POINT].enabled)
    _check_counts(profile.name, found, unsure)
    for point, of in (("score", "score"), ("placementScore", "placement score")):
        own = sets.get(point, PluginSet()).enabled
        if _overflows([*own, *sets[MULTI_POINT].enabled], plugins, point):
            raise CannotBuild(f"{of} plugins: total score of Score plugins could overflow")
    return found["queueSort"][0].name if found["queueSort"] else ""


def running(sets: Sets, plugins: Plugins) -> dict[str, tuple[Entry, ...]]:
    """Return what runs at each point, in its order; raise CannotBuild where multiPoint cannot be spread."""
    return {point: _spread(point, sets, plugins) for point in ORDER}


def _make_plugins(profile: ProfileRead, sets: Sets, ignored: tuple[str, ...]) -> None:
    """Check what is checked only here: args that are missing, and those of NodeResourcesFit.

    kube-scheduler makes them in no fixed order and stops at the first that cannot be made.
    """
    enabled = {entry.name for found in sets.values() for entry in found.enabled}
    for name in sorted(enabled & defaults.BY_NAME.keys() - _configured(profile, sets)):
        why = NO_ARGS.get(name, f"want args to be of type {name}Args, got <nil>")
        raise CannotBuild(f"initializing plugin {go_text.quoted(name)}: {why}")
    if FIT in enabled:
        args = {**_fit_args(profile), **({"ignoredResources": list(ignored)} if ignored else {})}
        wrong = list(dict.fromkeys(args_validation.resources_fit("", args)))
        if wrong:
            said = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
            raise CannotBuild(f"initializing plugin {go_text.quoted(FIT)}: {said}")


def _fit_args(profile: ProfileRead) -> Mapping[str, Any]:
    written = profile.content.get("pluginConfig", ())
    for index, configured in enumerate(written):
        if configured.get("name", "") == FIT:
            return profile.typed[index] or {}
    return defaults.resources_fit({})


def interface(point: str) -> str:
    """Return the name of the Go interface of a point."""
    return f"{point[0].upper()}{point[1:]}Plugin"


def _check_list(point: str, found: PluginSet, plugins: Plugins) -> None:
    seen: set[str] = set()
    for entry in found.enabled:
        name = go_text.quoted(entry.name)
        if not plugins.exists(entry.name):
            raise CannotBuild(f"{interface(point)} {name} does not exist")
        if not plugins.extends(entry.name, point):
            raise CannotBuild(f"plugin {name} does not extend {interface(point)} plugin")
        if entry.name in seen:
            raise CannotBuild(f"plugin {name} already registered as {go_text.quoted(interface(point))}")
        seen.add(entry.name)


def _spread(point: str, sets: Sets, plugins: Plugins) -> tuple[Entry, ...]:
    own, multi = sets.get(point, PluginSet()), sets[MULTI_POINT]
    reached = "*" not in own.off
    gone = next((entry for entry in multi.enabled if not plugins.exists(entry.name)), None)
    before = multi.enabled[: multi.enabled.index(gone)] if gone else multi.enabled
    found = merging.expand(own, PluginSet(before), plugins.spread_to(point))
    if found.twice:
        name = go_text.quoted(found.twice[0].name)
        raise CannotBuild(f"plugin {name} already registered as {go_text.quoted(interface(point))}")
    if gone and reached:
        raise CannotBuild(f"{interface(point)} {go_text.quoted(gone.name)} does not exist")
    return found.entries


def _check_counts(profile: str, running: Mapping[str, tuple[Entry, ...]], unsure: bool) -> None:
    """Count what must be there once. `unsure`: a plugin that nobody here knows may work at any point."""
    name, sorts = go_text.quoted(profile), len(running["queueSort"])
    if sorts > 1 or (not sorts and not unsure):
        raise CannotBuild(
            f"only one queue sort plugin required for profile with scheduler name {name}, but got {sorts}"
        )
    if not running["bind"] and not unsure:
        raise CannotBuild(f"at least one bind plugin is needed for profile with scheduler name {name}")
    if len(running["placementGenerate"]) > 1:
        raise CannotBuild(f"at most one placement generate plugin is allowed for profile with scheduler name {name}")


def _overflows(entries: Iterable[Entry], plugins: Plugins, point: str) -> bool:
    """Add up as Go does: what is left of the highest sum wraps round once a negative weight was taken from it."""
    total = 0
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen or not plugins.extends(entry.name, point):
            continue
        seen.add(entry.name)
        score = (entry.weight or 1) * MAX_SCORE
        left = MAX_INT64 - total
        if score > (left if left <= MAX_INT64 else left - 2**64):
            return True
        total += score
    return False


def _same_sort(profile: ProfileRead, sort: str, first: _First) -> None:
    args = next(
        (one.get("args") for one in profile.content.get("pluginConfig", ()) if one.get("name", "") == sort), None
    )
    if not first.known:
        first.name, first.args, first.known = sort, args, True
    elif sort and first.name and sort != first.name:
        shown, quoted, other = (go_text.quoted(text) for text in (profile.name, sort, first.name))
        raise CannotBuild(
            f"initializing profiles: different queue sort plugins for profile {shown}: {quoted}, first: {other}"
        )
    elif args != first.args:
        raise CannotBuild(
            f"initializing profiles: different queue sort plugin args for profile {go_text.quoted(profile.name)}"
        )


def errors(profiles: Iterable[ProfileRead], extenders: list[Mapping[str, Any]], plugins: Plugins) -> Iterator[str]:
    """Yield the one error that stops the making, if any does."""
    try:
        build(extenders, profiles, plugins)
    except CannotBuild as error:
        yield str(error)
