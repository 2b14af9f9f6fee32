"""Builds Node objects for tests from labels and amounts, as short as they can be written."""

from collections.abc import Mapping

from cluster_model import node_facts, objects

GPU = "nvidia.com/gpu"


def node(
    labels: Mapping[str, str] | None = None,
    *,
    capacity: objects.Resources | None = None,
    allocatable: objects.Resources | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: tuple[objects.Taint, ...] = (),
) -> objects.Node:
    """Return a node with the given labels and amounts; capacity given alone is allocatable too."""
    capacity = capacity or {}
    return objects.Node(
        metadata=objects.ObjectMeta(name="n", labels=dict(labels or {}), annotations=dict(annotations or {})),
        spec=objects.NodeSpec(taints=taints),
        status=objects.NodeStatus(capacity=capacity, allocatable=capacity if allocatable is None else allocatable),
    )


def facts(
    labels: Mapping[str, str] | None = None,
    *,
    capacity: objects.Resources | None = None,
    allocatable: objects.Resources | None = None,
) -> node_facts.NodeFacts:
    """Return what is read from such a node."""
    return node_facts.read(node(labels, capacity=capacity, allocatable=allocatable))


def gfd(product: str, memory: int | str = "", count: int | str = "", **more: str) -> dict[str, str]:
    """Return the labels of GPU Feature Discovery; further ones are given without their prefix, dots as underscores."""
    labels = {"nvidia.com/gpu.product": product}
    if memory != "":
        labels["nvidia.com/gpu.memory"] = str(memory)
    if count != "":
        labels["nvidia.com/gpu.count"] = str(count)
    return labels | {f"nvidia.com/{key.replace('_', '.')}": value for key, value in more.items()}
