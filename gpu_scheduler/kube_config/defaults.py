"""Fills in what a decoded file leaves out, as kube-scheduler does before it checks anything."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from gpu_scheduler.kube_config.go_text import SECOND

Args: TypeAlias = dict[str, Any]
SCHEDULER_NAME = "default-scheduler"
TOP: Mapping[str, int] = MappingProxyType(
    {
        "parallelism": 16,
        "percentageOfNodesToScore": 0,
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 10,
    }
)
ELECTION: Mapping[str, object] = MappingProxyType(
    {
        "leaseDuration": 15 * SECOND,
        "renewDeadline": 10 * SECOND,
        "retryPeriod": 2 * SECOND,
        "resourceLock": "leases",
        "resourceName": "kube-scheduler",
        "resourceNamespace": "kube-system",
    }
)
CPU_AND_MEMORY = ("cpu", "memory")
STORAGE_SHAPE = ({"utilization": 0, "score": 10}, {"utilization": 100, "score": 0})


def fill(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file with its defaults; a zero of a field that is no pointer is an absence."""
    election = content.get("leaderElection", {})
    given = {name: value for name, value in election.items() if value or name == "leaderElect"}
    profiles = [dict(profile) for profile in content.get("profiles", ())] or [{}]
    if len(profiles) == 1:
        profiles[0].setdefault("schedulerName", SCHEDULER_NAME)
    filled = {**TOP, **content, "profiles": profiles}
    filled["leaderElection"] = {"leaderElect": True, **ELECTION, **given}
    return filled


def default_preemption(args: Args) -> Args:
    """Look at a tenth of the nodes, but at 100 at least."""
    return {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100, **args}


def inter_pod_affinity(args: Args) -> Args:
    """Let a required term of another pod weigh 1."""
    return {"hardPodAffinityWeight": 1, **args}


def volume_binding(args: Args) -> Args:
    """Wait ten minutes, prefer empty volumes."""
    return {"bindTimeoutSeconds": 600, **args, "shape": args.get("shape") or list(STORAGE_SHAPE)}


def _weighed(resources: list[Args]) -> list[Args]:
    chosen = resources or [{"name": name} for name in CPU_AND_MEMORY]
    return [{**resource, "weight": resource.get("weight") or 1} for resource in chosen]


def balanced_allocation(args: Args) -> Args:
    """Balance cpu and memory."""
    return {**args, "resources": _weighed(args.get("resources", []))}


def topology_spread(args: Args) -> Args:
    """Spread by the system's own constraints."""
    return {**args, "defaultingType": args.get("defaultingType") or "System"}


def resources_fit(args: Args) -> Args:
    """Prefer what is least allocated, if nothing is said of a strategy."""
    strategy = args.get("scoringStrategy", {"type": "LeastAllocated"})
    return {**args, "scoringStrategy": {**strategy, "resources": _weighed(strategy.get("resources", []))}}


def dynamic_resources(args: Args) -> Args:
    """Filter for ten seconds, bind for ten minutes."""
    return {"filterTimeout": 10 * SECOND, "bindingTimeout": 600 * SECOND, **args}


BY_NAME: Mapping[str, Callable[[Args], Args]] = MappingProxyType(
    {
        "DefaultPreemption": default_preemption,
        "DynamicResources": dynamic_resources,
        "InterPodAffinity": inter_pod_affinity,
        "NodeAffinity": dict,
        "NodeResourcesBalancedAllocation": balanced_allocation,
        "NodeResourcesFit": resources_fit,
        "PodTopologySpread": topology_spread,
        "VolumeBinding": volume_binding,
    }
)
