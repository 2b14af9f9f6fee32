"""kube-scheduler's own plugins: where each works, which run by default and in which order, which are gone.

Source: the reference, section 2.4, and the interfaces that the plugins of 1.37.2 implement.
"""

from collections.abc import Mapping
from types import MappingProxyType

from gpu_scheduler.kube_config.schema import GROUP, V1

_FILTER = ("preFilter", "filter")
_SCORE = ("preScore", "score")
_POINTS: dict[str, tuple[str, ...]] = {
    "SchedulingGates": ("preEnqueue",),
    "PrioritySort": ("queueSort",),
    "NodeName": _FILTER,
    "NodeUnschedulable": _FILTER,
    "TaintToleration": (*_FILTER, *_SCORE),
    "NodeAffinity": (*_FILTER, *_SCORE),
    "NodePorts": _FILTER,
    "NodeResourcesFit": (*_FILTER, *_SCORE, "placementScore"),
    "VolumeRestrictions": _FILTER,
    "NodeVolumeLimits": _FILTER,
    "VolumeBinding": (*_FILTER, *_SCORE, "reserve", "preBind"),
    "VolumeZone": _FILTER,
    "PodTopologySpread": (*_FILTER, *_SCORE),
    "InterPodAffinity": (*_FILTER, *_SCORE),
    "DynamicResources": (
        "preEnqueue",
        *_FILTER,
        "postFilter",
        "podGroupPostFilter",
        "score",
        "reserve",
        "preBind",
    ),
    "DefaultPreemption": ("preEnqueue", "postFilter", "podGroupPostFilter"),
    "NodeResourcesBalancedAllocation": _SCORE,
    "ImageLocality": ("score",),
    "DefaultBinder": ("bind",),
    "NodeDeclaredFeatures": _FILTER,
    "DeferredPodScheduling": (*_FILTER, "permit"),
    "GangScheduling": ("preEnqueue", "permit"),
    "TopologyPlacementGenerator": ("placementGenerate",),
    "PodGroupPodsCount": ("placementScore",),
}
POINTS: Mapping[str, frozenset[str]] = MappingProxyType({name: frozenset(at) for name, at in _POINTS.items()})
WEIGHTS: Mapping[str, int] = MappingProxyType(
    {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
)
GATED_OFF = ("DeferredPodScheduling", "GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount")
DEFAULTS: tuple[tuple[str, int | None], ...] = tuple(
    (name, WEIGHTS.get(name)) for name in POINTS if name not in GATED_OFF
)

# Volume limits of one kind of disk each, all of which NodeVolumeLimits checks today.
DISK_LIMITS = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
TODAY: Mapping[str, str] = MappingProxyType(dict.fromkeys(DISK_LIMITS, "NodeVolumeLimits"))
SCORES_BEFORE_FIT = ("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio")
_REMOVED_IN_V1BETA2 = ("NodeLabel", "ServiceAffinity", "NodePreferAvoidPods", *SCORES_BEFORE_FIT)
# Names that a version refuses by a rule of its own, and the version that the rule names.
INVALID: Mapping[str, tuple[tuple[str, ...], str]] = MappingProxyType(
    {
        V1: (DISK_LIMITS, V1),
        "v1beta3": (_REMOVED_IN_V1BETA2, f"{GROUP}/v1beta2"),
        "v1beta2": (_REMOVED_IN_V1BETA2, f"{GROUP}/v1beta2"),
    }
)
# Its own plugins of earlier releases: in v1 no other's, but gone.
GONE = (*_REMOVED_IN_V1BETA2, "DefaultPodTopologySpread", "SelectorSpread")


def missing(version: str) -> frozenset[str]:
    """Return the names that no plugin can have in a file of that version."""
    return frozenset({"", "*", *INVALID.get(version, ((), ""))[0], *(GONE if version == V1 else ())})


def today(name: str, version: str) -> str:
    """Return what a plugin of a beta version is called now."""
    return name if version == V1 else TODAY.get(name, name)
