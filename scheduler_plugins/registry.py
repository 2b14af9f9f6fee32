"""Every plugin by name, in one literal table: what it filters and scores, its default weight and its args."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from cluster_model.verdict import BadRequest, Problem
from scheduler_plugins import (
    allocation_scores,
    az_scheduler,
    balanced_allocation,
    fit_args,
    gpu_scheduler,
    gpu_topology,
    image_locality,
    inter_pod_affinity,
    node_affinity,
    node_declared_features,
    node_less_pods,
    node_name,
    node_ports,
    node_resources_fit,
    node_unschedulable,
    node_volume_limits,
    plugin_args,
    pod_topology_spread,
    preemption,
    spot_scheduler,
    spread_args,
    taint_toleration,
    unsupported,
    victims,
    volume_binding,
    volume_restrictions,
    volume_zone,
)
from scheduler_plugins.framework import Filter, Profile, Sampling, Scorer, highest_is_best, lowest_is_best
from scheduler_plugins.hints.table import HINTS

SCHEDULER_NAME = "gpu-scheduler"
NO_ARGS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

BindFilter: TypeAlias = Callable[[str, Any], Filter]
BindScorer: TypeAlias = Callable[[str, int, Any], Scorer]
BindPostFilter: TypeAlias = Callable[[Any], Sampling]


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin: how to bind its args, and the weight of its score unless configured."""

    args: type[plugin_args.Args] = plugin_args.NoArgs
    filter: BindFilter | None = None
    scorer: BindScorer | None = None
    weight: int = 0
    post_filter: BindPostFilter | None = None
    by_default: bool = True  # else it runs where a configuration names it


def _taint_toleration(name: str, weight: int, _: Any) -> Scorer:
    return Scorer(name, weight, taint_toleration.score, lowest_is_best, static=True)


def _node_affinity_filter(name: str, found: node_affinity.Args) -> Filter:
    run = partial(node_affinity.check, args=found)
    return Filter(name, run, lambda pod, _: node_affinity.refuse(pod), node_affinity.narrow, static=True)


def _node_affinity_scorer(name: str, weight: int, found: node_affinity.Args) -> Scorer:
    return Scorer(name, weight, partial(node_affinity.score, args=found), highest_is_best, static=True)


def _spread_filter(name: str, found: spread_args.Args) -> Filter:
    run = partial(pod_topology_spread.check, defaults=spread_args.Defaults.of(found))
    return Filter(name, run, pod_topology_spread.refuse, row_local=False)


def _spread_scorer(name: str, weight: int, found: spread_args.Args) -> Scorer:
    run = partial(pod_topology_spread.score, defaults=spread_args.Defaults.of(found))
    return Scorer(name, weight, run, pod_topology_spread.normalise, row_local=False)


def _spot_filter(name: str, found: spot_scheduler.Args) -> Filter:
    return Filter(name, partial(spot_scheduler.check, marks=found.marks), static=True)


def _spot_scorer(name: str, weight: int, found: spot_scheduler.Args) -> Scorer:
    return Scorer(name, weight, partial(spot_scheduler.score, marks=found.marks), static=True)


def _az_scorer(name: str, weight: int, found: az_scheduler.Args) -> Scorer:
    run = partial(az_scheduler.score, keys=found.zone_keys)
    return Scorer(name, weight, run, az_scheduler.normalise, row_local=False)


def _affinity_filter(name: str, _: inter_pod_affinity.Args) -> Filter:
    return Filter(
        name, inter_pod_affinity.check, inter_pod_affinity.refuse, skips=inter_pod_affinity.skips, row_local=False
    )


def _affinity_scorer(name: str, weight: int, found: inter_pod_affinity.Args) -> Scorer:
    run = partial(inter_pod_affinity.score, args=found)
    return Scorer(name, weight, run, inter_pod_affinity.normalise, row_local=False)


PLUGINS: Mapping[str, Plugin] = MappingProxyType(
    {
        "NodeName": Plugin(filter=lambda name, _: Filter(name, node_name.check, narrow=node_name.narrow)),
        "NodeUnschedulable": Plugin(filter=lambda name, _: Filter(name, node_unschedulable.check, static=True)),
        "TaintToleration": Plugin(
            filter=lambda name, _: Filter(name, taint_toleration.check, static=True), scorer=_taint_toleration, weight=3
        ),
        "NodeAffinity": Plugin(node_affinity.Args, _node_affinity_filter, _node_affinity_scorer, weight=2),
        "NodePorts": Plugin(filter=lambda name, _: Filter(name, node_ports.check)),
        "GPUScheduler": Plugin(
            filter=lambda name, _: Filter(name, gpu_scheduler.check, static=True),
            scorer=lambda name, weight, _: Scorer(name, weight, gpu_scheduler.score, highest_is_best, static=True),
            weight=1,
        ),
        "GPUTopologyPlugin": Plugin(
            gpu_topology.Args,
            filter=lambda name, _: Filter(name, gpu_topology.check),
            scorer=lambda name, weight, found: Scorer(name, weight, partial(gpu_topology.score, args=found)),
            weight=10,
        ),
        "NodeResourcesFit": Plugin(
            fit_args.FitArgs,
            filter=lambda name, found: Filter(name, partial(node_resources_fit.check, args=found)),
            scorer=lambda name, weight, found: Scorer(name, weight, partial(allocation_scores.score, args=found)),
            weight=1,
        ),
        "VolumeRestrictions": Plugin(
            filter=lambda name, _: Filter(
                name, volume_restrictions.check, volume_restrictions.refuse, skips=volume_restrictions.skips
            ),
        ),
        "NodeVolumeLimits": Plugin(filter=lambda name, _: Filter(name, node_volume_limits.check)),
        "VolumeBinding": Plugin(
            volume_binding.BindingArgs,
            filter=lambda name, _: Filter(name, volume_binding.check, volume_binding.refuse),
            scorer=lambda name, weight, found: Scorer(name, weight, partial(volume_binding.score, args=found)),
            weight=1,
        ),
        "VolumeZone": Plugin(filter=lambda name, _: Filter(name, volume_zone.check, volume_zone.refuse)),
        "PodTopologySpread": Plugin(spread_args.Args, _spread_filter, _spread_scorer, weight=2),
        "InterPodAffinity": Plugin(inter_pod_affinity.Args, _affinity_filter, _affinity_scorer, weight=2),
        "NodeResourcesBalancedAllocation": Plugin(
            fit_args.BalancedArgs,
            scorer=lambda name, weight, found: Scorer(name, weight, partial(balanced_allocation.score, args=found)),
            weight=1,
        ),
        "ImageLocality": Plugin(
            scorer=lambda name, weight, _: Scorer(name, weight, image_locality.score, row_local=False, static=True),
            weight=1,
        ),
        victims.NAME: Plugin(preemption.PreemptionArgs, post_filter=preemption.sampling),
        "NodeDeclaredFeatures": Plugin(filter=lambda name, _: Filter(name, node_declared_features.check, static=True)),
        spot_scheduler.NAME: Plugin(spot_scheduler.Args, _spot_filter, _spot_scorer, weight=5, by_default=False),
        az_scheduler.NAME: Plugin(az_scheduler.Args, scorer=_az_scorer, weight=3, by_default=False),
        node_less_pods.NAME: Plugin(
            filter=lambda name, _: Filter(name, node_less_pods.check),
            scorer=lambda name, weight, _: Scorer(name, weight, node_less_pods.score),
            weight=1,
            by_default=False,
        ),
    }
)
DEFAULTS: tuple[tuple[str, int], ...] = tuple(
    (name, plugin.weight) for name, plugin in PLUGINS.items() if plugin.by_default
)
FILTERS: tuple[str, ...] = tuple(name for name, _ in DEFAULTS if PLUGINS[name].filter is not None)  # in order
SCORERS: tuple[tuple[str, int], ...] = tuple(pair for pair in DEFAULTS if PLUGINS[pair[0]].scorer is not None)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a profile is made of, as written. `paths` says where a plugin's args stand in the user's file."""

    scheduler_name: str
    filters: tuple[str, ...]
    scorers: tuple[tuple[str, int], ...]
    args: Mapping[str, Mapping[str, Any]]
    paths: Mapping[str, str]


def profile(
    scheduler_name: str = SCHEDULER_NAME,
    filters: Iterable[str] = FILTERS,
    scorers: Iterable[tuple[str, int]] = SCORERS,
    args: Mapping[str, Mapping[str, Any]] = NO_ARGS,
    paths: Mapping[str, str] = MappingProxyType({}),
) -> Profile:
    """Build a profile of our own plugins; raise BadRequest with what cannot be read."""
    return build(Wanted(scheduler_name, tuple(filters), tuple(scorers), args, paths))


def build(wanted: Wanted, plugins: Mapping[str, Plugin] = PLUGINS) -> Profile:
    """Build a profile from names, weights and args; raise BadRequest with what cannot be read.

    What no plugin can honour is always refused.
    """
    named = dict.fromkeys((*wanted.filters, *(name for name, _ in wanted.scorers), *wanted.args))
    bound = {name: _args(name, wanted, plugins) for name in named}
    chosen = (_bind_filter(name, bound[name], plugins) for name in wanted.filters)
    heeds = spot_scheduler.NAME in (*wanted.filters, *(name for name, _ in wanted.scorers))
    first = Filter(unsupported.NAME, refuse=lambda pod, _: unsupported.refuse(pod, heeds))
    scored = (_bind_scorer(name, weight, bound[name], plugins) for name, weight in wanted.scorers)
    binding = bound.get(volume_binding.NAME) if volume_binding.NAME in wanted.filters else None
    wait = binding.bind_timeout_seconds if isinstance(binding, volume_binding.BindingArgs) else None
    return Profile(wanted.scheduler_name, (first, *chosen), tuple(scored), bind_timeout_seconds=wait)


def preempting(found: Profile, args: Mapping[str, Any], path: str = f"args[{victims.NAME}]") -> Profile:
    """Let a profile evict pods for more important ones, with the args of DefaultPreemption as written."""
    return replace(found, preemption=preemption.sampling(plugin_args.decode(preemption.PreemptionArgs, args, path)))


def _args(name: str, wanted: Wanted, plugins: Mapping[str, Plugin]) -> plugin_args.Args:
    path = wanted.paths.get(name, f"args[{name}]")
    return plugin_args.decode(_plugin(name, plugins).args, wanted.args.get(name, {}), path)


def _bind_filter(name: str, found: plugin_args.Args, plugins: Mapping[str, Plugin]) -> Filter:
    bind = plugins[name].filter
    if bind is None:
        known = (other for other, plugin in plugins.items() if plugin.filter is not None)
        raise BadRequest(Problem("filters", name, f"must be a filter: {', '.join(known)}"))
    hints = HINTS.get(name)
    return bind(name, found) if hints is None else replace(bind(name, found), hints=partial(hints, found))


def _bind_scorer(name: str, weight: int, found: plugin_args.Args, plugins: Mapping[str, Plugin]) -> Scorer:
    bind = plugins[name].scorer
    if bind is None:
        known = (other for other, plugin in plugins.items() if plugin.scorer is not None)
        raise BadRequest(Problem("scorers", name, f"must be a scorer: {', '.join(known)}"))
    return bind(name, weight, found)


def _plugin(name: str, known: Mapping[str, Plugin]) -> Plugin:
    if name not in known:
        raise BadRequest(Problem("plugins", name, f"unknown plugin; known: {', '.join(known)}"))
    return known[name]
