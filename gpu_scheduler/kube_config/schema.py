"""The types of a KubeSchedulerConfiguration and of plugin args, as kube-scheduler 1.37 and the beta versions have them.

Only names and types: facts of k8s.io/kube-scheduler, k8s.io/component-base and k8s.io/api. No rules, no defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

GROUP = "kubescheduler.config.k8s.io"
V1 = "v1"
BETAS = ("v1beta3", "v1beta2", "v1beta1")
NO_FIELDS: "Mapping[str, Field]" = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Type:
    """One Go type. `kind`: string, bool, int32, int64, float32, bytes, duration, raw, slice, map or struct."""

    kind: str
    name: str  # as Go's messages have it
    elem: "Type | None" = None
    fields: "Mapping[str, Field]" = field(default_factory=lambda: NO_FIELDS)

    @property
    def short(self) -> str:
        """Return the name without its package."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct: its type, whether it is a pointer, and the embedded struct it comes from."""

    type: Type
    pointer: bool = False
    embedded: str = ""


TEXT, FLAG = Type("string", "string"), Type("bool", "bool")
INT32, INT64, FLOAT32 = Type("int32", "int32"), Type("int64", "int64"), Type("float32", "float32")
DURATION, RAW, BYTES = Type("duration", "v1.Duration"), Type("raw", "runtime.RawExtension"), Type("bytes", "[]uint8")
LABELS = Type("map", "map[string]string", TEXT)


def named(name: str) -> Type:
    """Return a string type that has a name of its own."""
    return Type("string", name)


def many(elem: Type) -> Type:
    """Return the list of a type."""
    return Type("slice", f"[]{elem.name}", elem)


def struct(name: str, *groups: Mapping[str, Type | Field]) -> Type:
    """Return a struct; a field given by its type alone is no pointer."""
    fields = {
        key: value if isinstance(value, Field) else Field(value) for group in groups for key, value in group.items()
    }
    return Type("struct", name, fields=MappingProxyType(fields))


def optional(type_: Type) -> Field:
    """Return a field that may be absent."""
    return Field(type_, pointer=True)


META = {"kind": Field(TEXT, embedded="TypeMeta"), "apiVersion": Field(TEXT, embedded="TypeMeta")}
LEADER_ELECTION = struct(
    "v1alpha1.LeaderElectionConfiguration",
    {"leaderElect": optional(FLAG)},
    dict.fromkeys(("leaseDuration", "renewDeadline", "retryPeriod"), DURATION),
    dict.fromkeys(("resourceLock", "resourceName", "resourceNamespace"), TEXT),
)
CLIENT_CONNECTION = struct(
    "v1alpha1.ClientConnectionConfiguration",
    dict.fromkeys(("kubeconfig", "acceptContentTypes", "contentType"), TEXT),
    {"qps": FLOAT32, "burst": INT32},
)
DEBUGGING = dict.fromkeys(
    ("enableProfiling", "enableContentionProfiling"), Field(FLAG, pointer=True, embedded="DebuggingConfiguration")
)
OLD_POINTS = (
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
)
MULTI_POINT = "multiPoint"
GROUP_POINTS = ("placementGenerate", "placementScore", "podGroupPostFilter")
POINTS = ("preEnqueue", *OLD_POINTS, *GROUP_POINTS)
FIELDS_OF_POINTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "v1beta1": OLD_POINTS,
        "v1beta2": OLD_POINTS,
        "v1beta3": ("preEnqueue", *OLD_POINTS, MULTI_POINT),
        V1: (*POINTS, MULTI_POINT),
    }
)


def _extender(version: str) -> Type:
    tls = struct(
        f"{version}.ExtenderTLSConfig",
        {"insecure": FLAG},
        dict.fromkeys(("serverName", "certFile", "keyFile", "caFile"), TEXT),
        dict.fromkeys(("certData", "keyData", "caData"), BYTES),
    )
    managed = struct(f"{version}.ExtenderManagedResource", {"name": TEXT, "ignoredByScheduler": FLAG})
    return struct(
        f"{version}.Extender",
        dict.fromkeys(("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"), TEXT),
        {"weight": INT64, "tlsConfig": optional(tls), "httpTimeout": DURATION, "managedResources": many(managed)},
        dict.fromkeys(("enableHTTPS", "nodeCacheCapable", "ignorable"), FLAG),
    )


def _profile(version: str) -> Type:
    plugin = struct(f"{version}.Plugin", {"name": TEXT, "weight": optional(INT32)})
    plugin_set = struct(f"{version}.PluginSet", {"enabled": many(plugin), "disabled": many(plugin)})
    plugins = struct(f"{version}.Plugins", dict.fromkeys(FIELDS_OF_POINTS[version], plugin_set))
    plugin_config = struct(f"{version}.PluginConfig", {"name": TEXT, "args": RAW})
    return struct(
        f"{version}.KubeSchedulerProfile",
        {"schedulerName": optional(TEXT), "plugins": optional(plugins), "pluginConfig": many(plugin_config)},
        {"percentageOfNodesToScore": optional(INT32)} if version in (V1, "v1beta3") else {},
    )


def configuration(version: str) -> Type:
    """Return the type of a whole file."""
    addresses = dict.fromkeys(("healthzBindAddress", "metricsBindAddress"), optional(TEXT))
    return struct(
        f"{version}.KubeSchedulerConfiguration",
        META,
        {"parallelism": optional(INT32), "leaderElection": LEADER_ELECTION, "clientConnection": CLIENT_CONNECTION},
        DEBUGGING,
        {"percentageOfNodesToScore": optional(INT32)},
        dict.fromkeys(("podInitialBackoffSeconds", "podMaxBackoffSeconds"), optional(INT64)),
        {"profiles": many(_profile(version)), "extenders": many(_extender(version))},
        {"delayCacheUntilActive": FLAG} if version == V1 else {},
        addresses if version in ("v1beta1", "v1beta2") else {},
    )


_REQUIREMENT = struct(
    "v1.NodeSelectorRequirement", {"key": TEXT, "operator": named("v1.NodeSelectorOperator"), "values": many(TEXT)}
)
_TERM = struct("v1.NodeSelectorTerm", {"matchExpressions": many(_REQUIREMENT), "matchFields": many(_REQUIREMENT)})
_PREFERRED = struct("v1.PreferredSchedulingTerm", {"weight": INT32, "preference": _TERM})
NODE_AFFINITY = struct(
    "v1.NodeAffinity",
    {
        "requiredDuringSchedulingIgnoredDuringExecution": optional(
            struct("v1.NodeSelector", {"nodeSelectorTerms": many(_TERM)})
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": many(_PREFERRED),
    },
)
_LABEL_REQUIREMENT = struct(
    "v1.LabelSelectorRequirement",
    {"key": TEXT, "operator": named("v1.LabelSelectorOperator"), "values": many(TEXT)},
)
SPREAD_CONSTRAINT = struct(
    "v1.TopologySpreadConstraint",
    {"maxSkew": INT32, "topologyKey": TEXT, "whenUnsatisfiable": named("v1.UnsatisfiableConstraintAction")},
    {
        "labelSelector": optional(
            struct("v1.LabelSelector", {"matchLabels": LABELS, "matchExpressions": many(_LABEL_REQUIREMENT)})
        ),
        "minDomains": optional(INT32),
        "matchLabelKeys": many(TEXT),
    },
    dict.fromkeys(("nodeAffinityPolicy", "nodeTaintsPolicy"), optional(named("v1.NodeInclusionPolicy"))),
)


def _args_of_v1beta1(resource: Type, point: Type) -> dict[str, dict[str, Type | Field]]:
    """Return the args of plugins that the next version removed."""
    labels = ("presentLabels", "absentLabels", "presentLabelsPreference", "absentLabelsPreference")
    return {
        "NodeLabel": dict.fromkeys(labels, many(TEXT)),
        "NodeResourcesLeastAllocated": {"resources": many(resource)},
        "NodeResourcesMostAllocated": {"resources": many(resource)},
        "RequestedToCapacityRatio": {"shape": many(point), "resources": many(resource)},
        "ServiceAffinity": dict.fromkeys(("affinityLabels", "antiAffinityLabelsPreference"), many(TEXT)),
    }


# What a beta version does not have yet: args of a plugin, or one field of them.
LATER: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "v1beta3": (("DynamicResources", ""),),
        "v1beta2": (("DynamicResources", ""),),
        "v1beta1": (
            ("DynamicResources", ""),
            ("NodeResourcesBalancedAllocation", ""),
            ("InterPodAffinity", "ignorePreferredTermsOfExistingPods"),
            ("NodeResourcesFit", "scoringStrategy"),
            ("VolumeBinding", "shape"),
        ),
    }
)


def plugin_args(version: str) -> Mapping[str, Type]:
    """Return the types of the args of all plugins that have some, by kind."""
    resource = struct(f"{version}.ResourceSpec", {"name": TEXT, "weight": INT64})
    point = struct(f"{version}.UtilizationShapePoint", {"utilization": INT32, "score": INT32})
    fields = _fields_of_args(version, resource, point)
    if version == "v1beta1":
        fields |= _args_of_v1beta1(resource, point)
    for name, later in LATER.get(version, ()):
        if later:
            del fields[name][later]
        else:
            del fields[name]
    return {f"{name}Args": struct(f"{version}.{name}Args", META, of) for name, of in fields.items()}


def _fields_of_args(version: str, resource: Type, point: Type) -> dict[str, dict[str, Type | Field]]:
    ratio = struct(f"{version}.RequestedToCapacityRatioParam", {"shape": many(point)})
    strategy = struct(
        f"{version}.ScoringStrategy",
        {"type": named(f"{version}.ScoringStrategyType"), "resources": many(resource)},
        {"requestedToCapacityRatio": optional(ratio)},
    )
    candidates = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    return {
        "DefaultPreemption": dict.fromkeys(candidates, optional(INT32)),
        "DynamicResources": dict.fromkeys(("filterTimeout", "bindingTimeout"), optional(DURATION)),
        "InterPodAffinity": {"hardPodAffinityWeight": optional(INT32), "ignorePreferredTermsOfExistingPods": FLAG},
        "NodeAffinity": {"addedAffinity": optional(NODE_AFFINITY)},
        "NodeResourcesBalancedAllocation": {"resources": many(resource)},
        "NodeResourcesFit": {
            **dict.fromkeys(("ignoredResources", "ignoredResourceGroups"), many(TEXT)),
            "scoringStrategy": optional(strategy),
        },
        "PodTopologySpread": {
            "defaultConstraints": many(SPREAD_CONSTRAINT),
            "defaultingType": named(f"{version}.PodTopologySpreadConstraintsDefaulting"),
        },
        "VolumeBinding": {"bindTimeoutSeconds": optional(INT64), "shape": many(point)},
    }
