"""The hints of every plugin by name, in one literal table. A plugin that is not there is taken at its reasons' word."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from cluster_model.verdict import Event
from scheduler_plugins.hints import gpus, neighbours, nodes, room, spreading, volumes
from scheduler_plugins.hints.interest import Interest, Interests, OwnersOf, always, never

SCHEDULING_GATES, DEFAULT_PREEMPTION = "SchedulingGates", "DefaultPreemption"

Bind: TypeAlias = Callable[[Any, OwnersOf], Interests]  # the plugin's args

HINTS: Mapping[str, Bind] = MappingProxyType(
    {
        "NodeName": lambda _, __: nodes.NODE_NAME,
        "NodeUnschedulable": lambda _, __: nodes.unschedulable(),
        "TaintToleration": lambda _, __: nodes.taints(),
        "NodeAffinity": lambda args, _: nodes.affinity(args),
        "NodePorts": lambda _, __: room.ports(),
        "NodeResourcesFit": lambda _, __: room.resources(),
        "VolumeRestrictions": lambda _, __: volumes.restrictions(),
        "NodeVolumeLimits": lambda _, __: volumes.limits(),
        "VolumeBinding": lambda _, __: volumes.binding(),
        "VolumeZone": lambda _, __: volumes.zones(),
        "PodTopologySpread": spreading.spread,
        "InterPodAffinity": lambda _, __: neighbours.affinity(),
        "NodeDeclaredFeatures": lambda _, __: nodes.features(),
        "GPUScheduler": lambda _, __: gpus.scheduler(),
        "GPUTopologyPlugin": lambda _, __: gpus.topology(),
    }
)
# Those that hold pods out of the queue. That a victim left says nothing of the pod for which it had to go: the plugins
# that rejected it judge that. But it is asked then whether the preemption is over.
HOLDING: Mapping[str, Interests] = MappingProxyType(
    {
        SCHEDULING_GATES: (Interest({Event.POD_GATES: always}),),
        DEFAULT_PREEMPTION: (Interest({Event.ASSIGNED_POD_DELETE: never}),),
    }
)
