"""Hypothesis strategies for small clusters where every rule finds something to say: few keys, few values."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from cluster_model import objects
from cluster_model.pod import PendingPod
from tests import build
from tests.oracle import Settings

KEYS = ("zone", "rank", "example.com/pool")
VALUES = ("a", "b", "1", "7", "03", "")
BAD_VALUES = ("not a value", "-3", "9" * 70)
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
NODE_NAMES = tuple(f"n{index}" for index in range(6))
MODELS = ("NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-SXM4-40GB", "NVIDIA-H100-80GB-HBM3", "Tesla-T4", "no such card", None)
MEMORIES = (81920, 81559, 40960, 15109, 15360, None)
ASKED_MODELS = (None, "A100", "A100-80GB", "H100,A100-40GB", "T4", "H100-80GB,T4")
ASKED_MEMORIES = (None, "40960", "16Gi", "80Gi", "16384")
SHAPES = ([(0, 10), (100, 0)], [(0, 0), (100, 10)], [(10, 3), (35, 10), (90, 1)], [(50, 0)], [(0, 0), (40, 0), (70, 9)])

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3)
taints = st.builds(
    objects.Taint,
    key=st.sampled_from(("nvidia.com/gpu", "dedicated")),
    value=st.sampled_from(("", "present", "team-a")),
    effect=st.sampled_from(EFFECTS),
)
tolerations = st.builds(
    objects.Toleration,
    key=st.sampled_from(("", "nvidia.com/gpu", "dedicated", "node.kubernetes.io/unschedulable")),
    operator=st.sampled_from(("", "Equal", "Exists", "Gt")),
    value=st.sampled_from(("", "present", "team-a")),
    effect=st.sampled_from(("", *EFFECTS)),
)
label_requirements = st.builds(
    objects.SelectorRequirement,
    key=st.sampled_from((*KEYS, "bad key")),
    operator=st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Within")),
    values=st.lists(st.sampled_from((*VALUES, *BAD_VALUES)), max_size=2).map(tuple),
)
field_requirements = st.builds(
    objects.SelectorRequirement,
    key=st.sampled_from(("metadata.name", "metadata.namespace")),
    operator=st.sampled_from(("In", "NotIn", "Exists")),
    values=st.lists(st.sampled_from((*NODE_NAMES, "elsewhere", "")), max_size=2).map(tuple),
)
terms = st.builds(
    objects.NodeSelectorTerm,
    match_expressions=st.lists(label_requirements, max_size=2).map(tuple),
    match_fields=st.lists(field_requirements, max_size=1).map(tuple),
)
good_requirements = st.one_of(
    st.builds(build.requirement, st.sampled_from(KEYS), st.sampled_from(("In", "NotIn")), st.sampled_from(VALUES)),
    st.builds(build.requirement, st.sampled_from(KEYS), st.sampled_from(("Exists", "DoesNotExist"))),
)
good_terms = st.builds(lambda found: build.term(*found), st.lists(good_requirements, max_size=2))
affinities = st.builds(
    lambda required, wishes: objects.Affinity(node_affinity=objects.NodeAffinity(required=required, preferred=wishes)),
    st.none() | st.builds(objects.NodeSelector, node_selector_terms=st.lists(terms, max_size=2).map(tuple)),
    st.lists(
        st.builds(objects.PreferredSchedulingTerm, weight=st.integers(1, 100), preference=good_terms), max_size=3
    ).map(tuple),
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(("0", "250m", "1", "3", "9")),
        "memory": st.sampled_from(("0", "1Gi", "3Gi", "9Gi")),
        "ephemeral-storage": st.sampled_from(("1Gi", "20Gi")),
        "example.com/nic": st.sampled_from(("0", "1", "2")),
        "nvidia.com/mig-1g.5gb": st.sampled_from(("1", "3")),
        "hugepages-2Mi": st.just("2Mi"),
    },
)
ports = st.lists(
    st.builds(
        objects.ContainerPort,
        host_port=st.sampled_from((8080, 9090)),
        host_ip=st.sampled_from(("", "0.0.0.0", "10.0.0.1", "10.0.0.2")),
        protocol=st.sampled_from(("TCP", "UDP", "")),
    ),
    max_size=2,
)


@st.composite
def nodes(draw: Callable[[st.SearchStrategy[Any]], Any], name: str) -> objects.Node:
    """Draw a small node of any kind."""
    sizes = {
        "cpu": draw(st.sampled_from(("0", "1500m", "4", "8"))),
        "memory": draw(st.sampled_from(("0", "4Gi", "8Gi"))),
        "pods": draw(st.sampled_from(("0", "1", "3", "110"))),
    }
    extra = draw(st.dictionaries(st.sampled_from(("example.com/nic", "nvidia.com/mig-1g.5gb")), st.just("2")))
    gpus = draw(st.sampled_from((None, 0, 1, 4, 8)))
    busy = draw(st.sampled_from((None, "0", "0.25", "0.57", "1", "many")))
    return build.node(
        name,
        gpus=gpus,
        model=draw(st.sampled_from(MODELS)),
        memory=draw(st.sampled_from(MEMORIES)),
        labels=draw(labels),
        annotations={} if busy is None else {"gpu.nvidia.com/utilization": busy},
        allocatable={**sizes, **extra},
        taints=tuple(draw(st.lists(taints, max_size=2))),
        unschedulable=draw(st.integers(0, 5)) == 0,
    )


@st.composite
def pods(draw: Callable[[st.SearchStrategy[Any]], Any], name: str = "pending", on: str = "") -> PendingPod:
    """Draw a pod; `on` names the node that it runs on."""
    asked = draw(requests)
    gpu = draw(st.sampled_from((0, 0, 1, 2, 5)))
    asks = gpu or "nvidia.com/mig-1g.5gb" in asked
    with_gpu = {**asked, build.GPU: str(gpu)} if gpu else asked
    one = build.container(with_gpu)
    containers = (objects.Container(name="c", resources=one.resources, ports=tuple(draw(ports))),)
    picky = not on and draw(st.booleans())
    return build.pod(
        name,
        node=on,
        phase="Running" if on else "Pending",
        model=draw(st.sampled_from(ASKED_MODELS)) if asks else None,
        memory=draw(st.sampled_from(ASKED_MEMORIES)) if asks else None,
        containers=containers,
        tolerations=tuple(draw(st.lists(tolerations, max_size=3))),
        node_selector=draw(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=1))
        if picky
        else {},
        affinity=draw(affinities) if picky else objects.Affinity(),
    )


@st.composite
def clusters(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """Draw the owner of a cluster of a few nodes with pods on them, some on nodes that do not exist."""
    names = draw(st.lists(st.sampled_from(NODE_NAMES), unique=True))
    found = [draw(nodes(name)) for name in names]
    places = draw(st.lists(st.sampled_from((*NODE_NAMES, "elsewhere")), max_size=6))
    running = [draw(pods(f"running-{index}", place)) for index, place in enumerate(places)]
    return build.state(*found, pods=running)


settings = st.builds(
    Settings,
    count=st.sampled_from(("free", "total")),
    strategy=st.sampled_from(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")),
    weights=st.dictionaries(
        st.sampled_from(("cpu", "memory", build.GPU, "example.com/nic", "ephemeral-storage")),
        st.integers(1, 100),
        min_size=1,
    ),
    shape=st.sampled_from(SHAPES),
    balanced=st.lists(
        st.sampled_from(("cpu", "memory", build.GPU, "example.com/nic", "ephemeral-storage")), unique=True, min_size=1
    ).map(tuple),
)

NODE_STRATEGY = st.sampled_from(NODE_NAMES[:3]).flatmap(nodes)
