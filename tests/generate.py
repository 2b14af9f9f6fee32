"""Small random clusters where every rule finds something to say: few keys, few values.

One generator, two sources of choices: hypothesis, which shrinks, and a seeded random, which is fast and even.
"""

from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from tests import build, generate_terms, generate_volumes
from tests.generate_source import Source
from tests.oracle import Settings
from tests.oracle_labels import AROUND

T = TypeVar("T")

KEYS = ("zone", "rank", "example.com/pool")
VALUES = ("a", "b", "1", "7", "03", "")
ASKED_VALUES = (*VALUES, "not a value", "-3", "9" * 70, "9" * 25)
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
NODE_NAMES = tuple(f"n{index}" for index in range(6))
MODELS = ("NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-SXM4-40GB", "NVIDIA-H100-80GB-HBM3", "Tesla-T4", "no such card", None)
MEMORIES = (81920, 81559, 40960, 15109, 15360, None)
ASKED_MODELS = (None, "A100", "A100-80GB", "H100,A100-40GB", "T4", "H100-80GB,T4")
ASKED_MEMORIES = (None, None, "40960", "16Gi", "80Gi", "16384")
SHAPES = ([(0, 10), (100, 0)], [(0, 0), (100, 10)], [(10, 3), (35, 10), (90, 1)], [(50, 0)], [(0, 0), (40, 0), (70, 9)])
MIG = "nvidia.com/mig-1g.5gb"
NIC = "example.com/nic"
# One size a name: which node said it first is no question here.
IMAGES = {
    "example.com/app:1": 700 << 20,
    "example.com/tool:latest": 90 << 20,
    "registry:5000/small:latest": 30 << 20,
    "example.com/model:2": 3000 << 20,
    "tiny:latest": 1 << 20,
}
ASKED_IMAGES = ("example.com/app:1", "example.com/tool", "registry:5000/small", "tiny", "example.com/app:2")
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions", "New")
COUNTED = ("cpu", "memory", build.GPU, NIC, "ephemeral-storage")


def taint(source: Source) -> objects.Taint:
    key, value = source.of(("nvidia.com/gpu", "dedicated")), source.of(("", "present", "team-a"))
    return objects.Taint(key=key, value=value, effect=source.of(EFFECTS))


def toleration(source: Source) -> objects.Toleration:
    return objects.Toleration(
        key=source.of(("", "nvidia.com/gpu", "dedicated", "node.kubernetes.io/unschedulable")),
        operator=source.of(("", "Equal", "Exists", "Gt")),
        value=source.of(("", "present", "team-a")),
        effect=source.of(("", *EFFECTS)),
    )


def labels(source: Source) -> dict[str, str]:
    return {key: source.of(VALUES) for key in source.some(KEYS)}


def node(source: Source, name: str) -> objects.Node:
    """Make a small node of any kind."""
    busy = source.of((None, None, "0", "0.25", "0.57", "1", "many"))
    extra = {resource: source.of(("1", "4")) for resource in (NIC, MIG) if source.seldom(3)}
    return build.node(
        name,
        gpus=source.of((None, 0, 1, 4, 8, 8, 8)),
        model=source.of(MODELS),
        memory=source.of(MEMORIES),
        labels=labels(source) | generate_terms.topology(source, name),
        annotations={} if busy is None else {"gpu.nvidia.com/utilization": busy},
        allocatable={
            "cpu": source.of(("0", "1500m", "8", "16", "17")),
            "memory": source.of(("0", "8Gi", "16Gi", "33Gi")),
            "pods": source.of(("0", "2", "110", "110", "110", "110")),
            **extra,
        },
        images={name: IMAGES[name] for name in source.some(tuple(IMAGES))},
        features=source.some(FEATURES),
        taints=source.several(lambda: taint(source), 3) if source.seldom() else (),
        unschedulable=source.seldom(12),
    )


def requirement(source: Source) -> objects.SelectorRequirement:
    """Make a label requirement, now and then a malformed one."""
    operator = source.of(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Within"))
    fitting = {"In": 2, "NotIn": 1, "Gt": 1, "Lt": 1}.get(operator, 0)
    count = source.of(range(3)) if source.seldom(8) else fitting
    values = ASKED_VALUES if source.seldom(8) else VALUES
    key = "bad key" if source.seldom(20) else source.of(KEYS)
    return build.requirement(key, operator, *(source.of(values) for _ in range(count)))


def field(source: Source) -> objects.SelectorRequirement:
    """Make a field requirement; Kubernetes reads none but of one value."""
    key = "metadata.namespace" if source.seldom(8) else "metadata.name"
    names = source.several(lambda: source.of((*NODE_NAMES, "elsewhere", "")), 2) if source.seldom() else None
    operator = source.of(("In", "In", "NotIn", "Exists"))
    return build.requirement(key, operator, *((source.of(NODE_NAMES),) if names is None else names))


def term(source: Source) -> objects.NodeSelectorTerm:
    fields = source.several(lambda: field(source), 2) if source.seldom(3) else ()
    return build.term(*source.several(lambda: requirement(source), 2), fields=fields)


def wish(source: Source) -> tuple[int, objects.NodeSelectorTerm]:
    """Make a preferred term that can be read: one that cannot be refuses the pod."""
    keyed = build.requirement(source.of(KEYS), source.of(("In", "NotIn")), source.of(VALUES))
    present = build.requirement(source.of(KEYS), source.of(("Exists", "DoesNotExist")))
    return source.of((1, 10, 33, 100)), source.of((build.term(keyed), build.term(present), build.term(keyed, present)))


def affinity(source: Source) -> objects.Affinity:
    required = source.several(lambda: term(source), 2)
    wishes = source.several(lambda: wish(source), 3)
    return build.affinity(*required, preferred=wishes)


def requests(source: Source) -> dict[str, str]:
    asked = {
        "cpu": ("0", "250m", "1", "3", "9"),
        "memory": ("0", "1Gi", "3Gi", "9Gi"),
        "ephemeral-storage": ("1Gi", "20Gi"),
    }
    rare = {NIC: ("0", "1", "3"), MIG: ("1", "3"), "hugepages-2Mi": ("2Mi",)}
    usual = {resource: source.of(asked[resource]) for resource in source.some(tuple(asked))}
    return usual | {resource: source.of(amounts) for resource, amounts in rare.items() if source.seldom(6)}


def port(source: Source) -> objects.ContainerPort:
    address = source.of(("", "0.0.0.0", "10.0.0.1", "10.0.0.2"))
    number, protocol = source.of((8080, 9090)), source.of(("TCP", "UDP", ""))
    return objects.ContainerPort(host_port=number, host_ip=address, protocol=protocol)


def container(source: Source, resources: objects.ResourceRequirements) -> objects.Container:
    """Make a container of some image, seldom one that needs a feature of the kubelet."""
    rules = (objects.ContainerRestartRule(action=source.of(("Restart", "RestartAllContainers"))),)
    mounts = (objects.VolumeMount(), objects.VolumeMount(bind_mount_options=("noexec",)))
    return objects.Container(
        name="c",
        image=source.of(ASKED_IMAGES),
        resources=resources,
        ports=source.several(lambda: port(source), 2) if source.seldom() else (),
        restart_policy_rules=rules if source.seldom(12) else (),
        volume_mounts=mounts if source.seldom(16) else (),
    )


def image_volume() -> objects.Volume:
    return objects.Volume(name="v", image=objects.ImageVolumeSource(reference="example.com/model:2"))


def pod(source: Source, name: str = "pending", on: str = "") -> PendingPod:
    """Make a pod; `on` names the node that it runs on, and a running one is never picky."""
    asked, gpus = requests(source), source.of((0, 1, 1, 2, 5))
    resources = build.container(asked | ({build.GPU: str(gpus)} if gpus else {})).resources
    picky, gpu = not on and source.seldom(3), gpus or MIG in asked
    return build.pod(
        name,
        node=on,
        phase="Running" if on else "Pending",
        model=source.of(ASKED_MODELS) if gpu and source.seldom(2) else None,
        memory=source.of(ASKED_MEMORIES) if gpu and source.seldom(3) else None,
        containers=(container(source, resources),),
        volumes=generate_volumes.volumes(source, 3 if on else 10) + ((image_volume(),) if source.seldom() else ()),
        host_network=source.seldom(12),
        host_users=source.of((None, None, True, False)),
        tolerations=source.several(lambda: toleration(source), 3),
        node_selector=labels(source) if picky and source.seldom() else {},
        affinity=generate_terms.pod_affinity(source, affinity(source) if picky else objects.Affinity()),
        topology_spread_constraints=generate_terms.spread(source) if picky else (),
        meta=generate_terms.meta(source),
    )


def to_place(source: Source) -> PendingPod:
    """Make a pod to decide for; now and then it names the node by hand, as one may offline."""
    made = pod(source).pod
    named = source.of((*NODE_NAMES, "elsewhere")) if source.seldom(12) else ""
    return PendingPod.read(msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, node_name=named)))


def cluster(source: Source) -> ClusterState:
    """Make the owner of a cluster of a few nodes with pods on them, some on nodes that do not exist."""
    found = [node(source, name) for name in source.some(NODE_NAMES)]
    places = (*(one.metadata.name for one in found), "elsewhere")
    running = [pod(source, f"running-{index}", source.of(places)) for index in range(source.of(range(7)))]
    made = build.state(*found, pods=running)
    build.stored(made, *(generate_volumes.storage(source, NODE_NAMES) if source.seldom(2) else ()))
    for namespace in AROUND.namespaces:
        made.set_namespace(namespace)
    for owner in (*AROUND.services, *AROUND.controllers):
        made.set_owner(owner)
    return made


def settings(source: Source) -> Settings:
    """Make args of the plugins that score."""
    counted = source.some(COUNTED) or ["cpu"]
    return Settings(
        count=source.of(("free", "total")),
        strategy=source.of(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")),
        weights={resource: source.of((1, 2, 5, 100)) for resource in counted},
        shape=source.of(SHAPES),
        balanced=tuple(source.some(COUNTED)) or ("cpu", "memory"),
        spread=generate_terms.spread_args(source) if source.seldom() else {},
        affinity=generate_terms.affinity_args(source) if source.seldom() else {},
        added=added_affinity(source) if source.seldom(6) else objects.NodeAffinity(),
        ignored=tuple(source.some((NIC, build.GPU, "example.com", "cpu"))) if source.seldom(6) else (),
    )


def added_affinity(source: Source) -> objects.NodeAffinity:
    """Make an affinity of a profile, of terms that can be read."""
    required = [wish(source)[1] for _ in range(source.of((0, 1, 2)))]
    found = build.affinity(*required, preferred=source.several(lambda: wish(source), 2)).node_affinity
    return found or objects.NodeAffinity()


def drawn(make: Callable[..., T], *more: Any) -> st.SearchStrategy[T]:
    """Return the hypothesis strategy of a generator."""
    return st.composite(lambda draw: make(Source(lambda values: draw(st.sampled_from(values))), *more))()


def seeded(seed: int) -> Source:
    """Return choices that the seed alone determines."""
    return Source(Random(seed).choice)
