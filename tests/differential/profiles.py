"""The plugins that both schedulers have, and one configuration read for both sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scheduler_plugins import registry
from scheduler_plugins.framework import Profile
from tests.differential.documents import SCHEDULER_NAME, Document

OURS_ALONE = ("GPUScheduler", "GPUTopologyPlugin", "SpotScheduler", "AZScheduler", "NodeLessPods")
ELSEWHERE = ("DefaultPreemption",)  # it neither filters nor scores; see `preempting`
# In kube-scheduler's order of filters, with its default weight; 0 where a plugin does not score.
WEIGHTS: Mapping[str, int] = {
    "NodeName": 0,
    "NodeUnschedulable": 0,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodePorts": 0,
    "NodeResourcesFit": 1,
    "VolumeRestrictions": 0,
    "NodeVolumeLimits": 0,
    "VolumeBinding": 1,
    "VolumeZone": 0,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "NodeDeclaredFeatures": 0,
}


def ours(configured: Document | None) -> Profile:
    """Build our profile of the same plugins, weights and args; without a list of plugins it has all that both have."""
    profile = configured["profiles"][0] if configured else {}
    weights = dict(_enabled(profile)) if "plugins" in profile else WEIGHTS
    args = {entry["name"]: entry["args"] for entry in profile.get("pluginConfig", ())}
    return registry.profile(
        SCHEDULER_NAME,
        [name for name in weights if name in registry.FILTERS],
        [(name, weight) for name, weight in weights.items() if weight],
        {name: found for name, found in args.items() if name in weights},
    )


def missing() -> Iterator[str]:
    """Yield the plugins of ours, present in kube-scheduler, that are not compared here."""
    return (name for name in registry.PLUGINS if name not in (*WEIGHTS, *OURS_ALONE, *ELSEWHERE))


def weighted(plugins: Iterable[str]) -> list[tuple[str, int]]:
    """Return plugins in kube-scheduler's order with their weights."""
    chosen = frozenset(plugins)
    return [(name, weight) for name, weight in WEIGHTS.items() if name in chosen]


def _enabled(profile: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for entry in profile.get("plugins", {}).get("multiPoint", {}).get("enabled", ()):
        if entry["name"] in WEIGHTS:
            yield entry["name"], entry.get("weight", 0)
