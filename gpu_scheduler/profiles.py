"""Turns configured profiles into the plugins that decide. The names and args of plugins are the registry's."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cluster_model.verdict import BadRequest, Problem
from gpu_scheduler.config import ProfileConfig
from gpu_scheduler.kube_config import check as kube_check
from gpu_scheduler.kube_config import go_text, names, schema
from gpu_scheduler.kube_config.check import Verdict
from gpu_scheduler.kube_config.trees import Members, plain
from gpu_scheduler.kube_config.validation import ProfileRead
from gpu_scheduler.plugin_sets import Known
from scheduler_plugins import gpu_topology, plugin_args, registry, victims, volume_binding
from scheduler_plugins.framework import Filter, Profile


def _points(plugin: object) -> frozenset[str]:
    """Return the extension points that a plugin of the registry binds something for, by the names of its fields."""
    found = {}
    for field in dataclasses.fields(plugin):  # type: ignore[arg-type]
        first, *others = field.name.split("_")
        found[first + "".join(word.capitalize() for word in others)] = getattr(plugin, field.name)
    return frozenset(point for point in schema.POINTS if found.get(point) is not None)


KNOWN = Known(
    filters=frozenset(name for name, plugin in registry.PLUGINS.items() if plugin.filter is not None),
    scorers=frozenset(name for name, plugin in registry.PLUGINS.items() if plugin.scorer is not None),
    defaults=registry.DEFAULTS,
    points={name: _points(plugin) for name, plugin in registry.PLUGINS.items()},
)


def build(configured: Iterable[ProfileConfig]) -> dict[str, Profile]:
    """Bind every profile's plugins, by scheduler name; raise BadRequest with every problem of their args."""
    built: dict[str, Profile] = {}
    problems: list[Problem] = []
    for found in configured:
        try:
            built[found.scheduler_name] = _build(found)
        except BadRequest as refused:
            problems.extend(refused.problems)
    if problems:
        raise BadRequest(*problems)
    return built


def extra_models(configured: Iterable[ProfileConfig]) -> tuple[str, ...]:
    """Return the GPU models that some profile names beside the built-in ones: nodes are read once for all profiles."""
    written = (found.args.get(gpu_topology.NAME, {}).get("extraModels") or () for found in configured)
    return tuple(sorted({name for names in written for name in names}))


def _build(found: ProfileConfig) -> Profile:
    """Bind one profile. What is named at preFilter alone refuses pods and narrows nodes, but judges no node."""
    named = (*found.filters, *found.pre_filters)
    profile = registry.profile(found.scheduler_name, named, found.scorers, found.args, found.args_paths)
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


def check(text: str) -> Verdict:
    """Judge a configuration as kube-scheduler does that has our plugins beside its own."""
    verdict = kube_check.check(text, {name: KNOWN.at(name) for name in KNOWN.ours})
    if not verdict.valid:
        return verdict
    return dataclasses.replace(verdict, errors=tuple(_wrong_args(verdict.reads)))


def _wrong_args(profiles: Iterable[ProfileRead]) -> Iterator[str]:
    for index, profile in enumerate(profiles):
        for place, configured in enumerate(profile.content.get("pluginConfig", ())):
            name = configured.get("name", "")
            if name in KNOWN.ours - names.POINTS.keys():
                wrong = _wrong(name, configured.get("args"), f"profiles[{index}].pluginConfig[{place}].args")
                at = f"initializing profiles: creating profile for scheduler name {profile.name}: initializing plugin"
                yield from (f"{at} {go_text.quoted(name)}: {problem}" for problem in wrong)


def _wrong(name: str, args: Any, path: str) -> tuple[Problem, ...]:
    found = plain(args) if isinstance(args, Members) else args
    if found is not None and not isinstance(found, Mapping):
        return (Problem(path, go_text.as_json(args), "must be a mapping"),)
    try:
        plugin_args.decode(registry.PLUGINS[name].args, found or {}, path)
    except BadRequest as refused:
        return refused.problems
    return ()
