"""Turns configured profiles into the plugins that decide. The names and args of plugins are the registry's."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from cluster_model.verdict import BadRequest, Problem
from gpu_scheduler.config import ProfileConfig, Verbatim
from gpu_scheduler.discovery import NOTHING_FOUND, Found
from gpu_scheduler.extension_points import FilterPlugin, Handle, ScorePlugin
from gpu_scheduler.hooks import Points
from gpu_scheduler.kube_config import check as kube_check
from gpu_scheduler.kube_config import go_text, names, schema
from gpu_scheduler.kube_config.check import Verdict
from gpu_scheduler.kube_config.trees import Members, plain
from gpu_scheduler.kube_config.validation import ProfileRead
from gpu_scheduler.plugin_sets import Known
from gpu_scheduler.waiting_pods import WaitingPods
from scheduler_plugins import gpu_topology, guarded, plugin_args, registry, victims, volume_binding
from scheduler_plugins.framework import Filter, Profile
from scheduler_plugins.registry import Plugin, Wanted


def _points(plugin: object) -> frozenset[str]:
    """Return the extension points that a plugin of the registry binds something for, by the names of its fields."""
    found = {}
    for field in dataclasses.fields(plugin):  # type: ignore[arg-type]
        first, *others = field.name.split("_")
        found[first + "".join(word.capitalize() for word in others)] = getattr(plugin, field.name)
    return frozenset(point for point in schema.POINTS if found.get(point) is not None)


def known(found: Found) -> Known:
    """Return what a configuration may name: our plugins and those of users."""
    ours, users = registry.PLUGINS.items(), found.plugins.items()
    return Known(
        filters=frozenset(name for name, plugin in ours if plugin.filter is not None)
        | frozenset(name for name, plugin in users if "filter" in plugin.points),
        scorers=frozenset(name for name, plugin in ours if plugin.scorer is not None)
        | frozenset(name for name, plugin in users if "score" in plugin.points),
        defaults=registry.DEFAULTS,
        points={name: _points(plugin) for name, plugin in ours} | {name: plugin.points for name, plugin in users},
        broken=found.broken,
    )


KNOWN = known(NOTHING_FOUND)


@dataclass(frozen=True, slots=True)
class Assembly:
    """A profile, what runs around its decisions at which point in which order, and the plugins of users among it."""

    profile: Profile
    points: Points
    users: Mapping[str, object]


def build(configured: Iterable[ProfileConfig]) -> dict[str, Profile]:
    """Return the profiles alone, of a configuration that names our own plugins."""
    return {name: assembled.profile for name, assembled in assemble(configured).items()}


def assemble(
    configured: Iterable[ProfileConfig], found: Found = NOTHING_FOUND, handle: Handle | None = None
) -> dict[str, Assembly]:
    """Make every profile's plugins, by scheduler name; raise BadRequest with every problem of their args."""
    built: dict[str, Assembly] = {}
    problems: list[Problem] = []
    for one in configured:
        try:
            users = _made(one, found, handle or Handle(WaitingPods()))
            built[one.scheduler_name] = Assembly(_build(one, found, users), one.points, users)
        except BadRequest as refused:
            problems.extend(refused.problems)
    if problems:
        raise BadRequest(*problems)
    return built


def _made(one: ProfileConfig, found: Found, handle: Handle) -> dict[str, object]:
    """Make the users' plugins that a profile enables."""
    enabled = dict.fromkeys(name for there in one.points.values() for name in there if name in found.plugins)
    made: dict[str, object] = {}
    for name in (*enabled, *(name for name in one.pre_filters if name in found.plugins)):
        args = plugin_args.decode(found.plugins[name].args, one.args.get(name, {}), one.args_paths.get(name, name))
        at = f"initializing profiles: creating profile for scheduler name {one.scheduler_name}"
        try:
            made[name] = found.plugins[name].made_of(args, handle)
        except guarded.RAISED as error:
            said = f"{at}: initializing plugin {go_text.quoted(name)}: {type(error).__name__}: {error}"
            raise BadRequest(Verbatim(name, "", said)) from error
    return made


def _as_plugin(args: type[plugin_args.Args], made: object) -> Plugin:
    """Return a row of the registry for a user's plugin."""
    filters, scores = isinstance(made, FilterPlugin), isinstance(made, ScorePlugin)
    return Plugin(
        args,
        filter=(lambda name, _: guarded.as_filter(name, cast(FilterPlugin, made))) if filters else None,
        scorer=(lambda name, weight, _: guarded.as_scorer(name, weight, cast(ScorePlugin, made))) if scores else None,
    )


def extra_models(configured: Iterable[ProfileConfig]) -> tuple[str, ...]:
    """Return the GPU models that some profile names beside the built-in ones: nodes are read once for all profiles."""
    written = (found.args.get(gpu_topology.NAME, {}).get("extraModels") or () for found in configured)
    return tuple(sorted({name for names in written for name in names}))


def _build(found: ProfileConfig, others: Found, users: Mapping[str, object]) -> Profile:
    """Bind one profile. What is named at preFilter alone refuses pods and narrows nodes, but judges no node."""
    wanted = Wanted(
        found.scheduler_name, (*found.filters, *found.pre_filters), found.scorers, found.args, found.args_paths
    )
    rows = {name: _as_plugin(plugin.args, users.get(name)) for name, plugin in others.plugins.items()}
    profile = registry.build(wanted, {**registry.PLUGINS, **rows})
    filters = tuple(_without_run(one) if one.name in found.pre_filters else one for one in profile.filters)
    profile = dataclasses.replace(profile, filters=filters, asks_for_devices=found.devices)
    if volume_binding.NAME not in found.points["preBind"]:
        profile = dataclasses.replace(profile, bind_timeout_seconds=None)
    if victims.NAME not in found.points["postFilter"]:
        return profile
    path = found.args_paths.get(victims.NAME, victims.NAME)
    return registry.preempting(profile, found.args.get(victims.NAME, {}), path)


def _without_run(found: Filter) -> Filter:
    return dataclasses.replace(found, run=None)


def check(text: str, found: Found = NOTHING_FOUND) -> Verdict:
    """Judge a configuration as kube-scheduler does that has our plugins and those of users beside its own."""
    there = known(found)
    verdict = kube_check.check(text, {name: there.at(name) for name in there.ours})
    if not verdict.valid:
        return verdict
    kinds = {name: plugin.args for name, plugin in registry.PLUGINS.items()}
    kinds |= {name: plugin.args for name, plugin in found.plugins.items()}
    ours = {name: kind for name, kind in kinds.items() if name not in names.POINTS}
    return dataclasses.replace(verdict, errors=tuple(_wrong_args(verdict.reads, ours)))


def _wrong_args(profiles: Iterable[ProfileRead], kinds: Mapping[str, type[plugin_args.Args]]) -> Iterator[str]:
    for index, profile in enumerate(profiles):
        for place, configured in enumerate(profile.content.get("pluginConfig", ())):
            name = configured.get("name", "")
            if name in kinds:
                wrong = _wrong(kinds[name], configured.get("args"), f"profiles[{index}].pluginConfig[{place}].args")
                at = f"initializing profiles: creating profile for scheduler name {profile.name}: initializing plugin"
                yield from (f"{at} {go_text.quoted(name)}: {problem}" for problem in wrong)


def _wrong(kind: type[plugin_args.Args], args: Any, path: str) -> tuple[Problem, ...]:
    found = plain(args) if isinstance(args, Members) else args
    if found is not None and not isinstance(found, Mapping):
        return (Problem(path, go_text.as_json(args), "must be a mapping"),)
    try:
        plugin_args.decode(kind, found or {}, path)
    except BadRequest as refused:
        return refused.problems
    return ()
