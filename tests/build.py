"""Builders of pods, nodes and snapshots for tests, as short as the claim needs; everything else is plausible."""

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

import numpy as np

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.state import ClusterState
from cluster_model.storage_objects import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from cluster_model.verdict import Event
from scheduler_plugins.framework import Decision

MODEL = "nvidia.com/gpu.product"
MEMORY = "nvidia.com/gpu.memory"
GPU = "nvidia.com/gpu"

_serial = count()


def container(requests: Mapping[str, str], ports: Iterable[int] = ()) -> objects.Container:
    """Build a container that asks for resources and host ports."""
    wanted = tuple(objects.ContainerPort(container_port=port, host_port=port) for port in ports)
    return objects.Container(name="c", resources=objects.ResourceRequirements(requests=dict(requests)), ports=wanted)


def raw_pod(
    name: str = "p",
    *,
    gpu: int = 0,
    node: str = "",
    phase: str = "Pending",
    uid: str | None = None,
    model: str | None = None,
    memory: str | None = None,
    requests: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    ports: Iterable[int] = (),
    meta: Mapping[str, Any] | None = None,
    **spec: Any,
) -> objects.Pod:
    """Build a pod; `model` and `memory` are the GPU annotations, further keywords are fields of its spec.

    `meta` are further fields of its metadata.
    """
    asked = {**({GPU: str(gpu)} if gpu else {}), **(requests or {})}
    noted = {"gpu.nvidia.com/model": model, "gpu.nvidia.com/memory": memory}
    marks = {key: value for key, value in noted.items() if value is not None} | dict(annotations or {})
    containers = spec.pop("containers", (container(asked, ports),))
    return objects.Pod(
        metadata=objects.ObjectMeta(
            name=name,
            uid=uid or f"uid-{name}",
            annotations=marks,
            **{"namespace": "default", **(meta or {})},
        ),
        spec=objects.PodSpec(containers=containers, node_name=node, **spec),
        status=objects.PodStatus(phase=phase),
    )


def pod(name: str = "p", **fields: Any) -> PendingPod:
    """Build a pod and read what it asks for; see `raw_pod`."""
    return PendingPod.read(raw_pod(name, **fields))


def node(
    name: str = "n",
    *,
    gpus: int | None = 8,
    model: str | None = "NVIDIA-A100-SXM4-80GB",
    memory: int | str | None = 81920,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    conditions: Mapping[str, str] | None = None,
    images: Mapping[str, int] | None = None,
    features: Iterable[str] = (),
    **spec: Any,
) -> objects.Node:
    """Build a node, by default one with eight A100; `images` says their bytes, further keywords are of its spec."""
    facts = {MODEL: model, MEMORY: None if memory is None else str(memory)} if gpus else {}
    marks = {key: value for key, value in facts.items() if value is not None} | dict(labels or {})
    amounts: objects.Resources = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "1Ti", "pods": "110"}
    amounts |= {GPU: str(gpus)} if gpus is not None else {}
    amounts |= dict(allocatable or {})
    kinds = tuple(objects.NodeCondition(type=kind, status=status) for kind, status in (conditions or {}).items())
    pulled = tuple(objects.ContainerImage(names=(name,), size_bytes=size) for name, size in (images or {}).items())
    return objects.Node(
        metadata=objects.ObjectMeta(name=name, labels=marks, annotations=dict(annotations or {})),
        spec=objects.NodeSpec(**spec),
        status=objects.NodeStatus(
            allocatable=amounts, conditions=kinds, images=pulled, declared_features=tuple(features)
        ),
    )


def state(
    *nodes: objects.Node, pods: Iterable[PendingPod] = (), taken: Mapping[str, int] | None = None
) -> ClusterState:
    """Build the owner of a cluster; `taken` names how many GPUs of a node are assigned already."""
    cluster = ClusterState()
    for one in nodes:
        cluster.set_node(one)
    for name, gpus in (taken or {}).items():
        cluster.set_pod(pod(f"taken-{next(_serial)}", gpu=gpus, node=name, phase="Running"))
    for one_pod in pods:
        cluster.set_pod(one_pod)
    return cluster


def snapshot(*nodes: objects.Node, pods: Iterable[PendingPod] = (), taken: Mapping[str, int] | None = None) -> Snapshot:
    """Build the snapshot of such a cluster."""
    return state(*nodes, pods=pods, taken=taken).snapshot()


def taint(text: str) -> objects.Taint:
    """Read a taint as kubectl writes it: key=value:Effect or key:Effect."""
    name, _, effect = text.rpartition(":")
    key, _, value = name.partition("=")
    return objects.Taint(key=key, value=value, effect=effect)


def requirement(key: str, operator: str, *values: str) -> objects.SelectorRequirement:
    """Build one requirement of a selector term."""
    return objects.SelectorRequirement(key=key, operator=operator, values=values)


def term(
    *labels: objects.SelectorRequirement, fields: Iterable[objects.SelectorRequirement] = ()
) -> objects.NodeSelectorTerm:
    """Build a selector term of label requirements and field requirements."""
    return objects.NodeSelectorTerm(match_expressions=labels, match_fields=tuple(fields))


def affinity(
    *required: objects.NodeSelectorTerm, preferred: Iterable[tuple[int, objects.NodeSelectorTerm]] = ()
) -> objects.Affinity:
    """Build a node affinity; without required terms it requires nothing."""
    wishes = tuple(objects.PreferredSchedulingTerm(weight=weight, preference=one) for weight, one in preferred)
    selector = objects.NodeSelector(node_selector_terms=required) if required else None
    return objects.Affinity(node_affinity=objects.NodeAffinity(required=selector, preferred=wishes))


def said(decision: Decision) -> dict[str, str]:
    """Return what was said of each node: "fits", or its reasons."""
    found = {name: decision.rejection(name) for name in decision.snapshot.names}
    return {
        name: "fits" if rejection is None else ", ".join(reason.text for reason in rejection.reasons)
        for name, rejection in found.items()
    }


def told(state: ClusterState, found: Any) -> frozenset[Event]:
    """Tell a cluster of one storage object of any kind; return what that could cure."""
    storage = state.storage
    take: dict[Any, Callable[[Any], frozenset[Event]]] = {
        PersistentVolume: storage.set_volume,
        PersistentVolumeClaim: storage.set_claim,
        StorageClass: storage.set_class,
        CsiNode: storage.set_csi_node,
        CsiDriver: storage.set_driver,
        CsiStorageCapacity: storage.set_capacity,
        VolumeAttachment: storage.set_attachment,
    }
    return take[type(found)](found)


def stored(state: ClusterState, *found: Any) -> ClusterState:
    """Tell a cluster of storage objects of any kind."""
    for one in found:
        told(state, one)
    return state


def removed(state: ClusterState, found: Any) -> None:
    """Tell a cluster that a storage object is gone."""
    storage, name = state.storage, found.metadata.name
    remove: dict[Any, Callable[[], object]] = {
        PersistentVolume: lambda: storage.remove_volume(name),
        PersistentVolumeClaim: lambda: storage.remove_claim(found.key),
        StorageClass: lambda: storage.remove_class(name),
        CsiNode: lambda: storage.remove_csi_node(name),
        CsiDriver: lambda: storage.remove_driver(name),
        CsiStorageCapacity: lambda: storage.remove_capacity(found.key),
        VolumeAttachment: lambda: storage.remove_attachment(name),
    }
    remove[type(found)]()


def rows(*places: int) -> Rows:
    """Build the rows with these numbers."""
    return np.array(places, np.intp)
