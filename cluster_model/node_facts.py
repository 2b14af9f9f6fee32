"""What GPUs a node has, read once from its labels, annotations, taints and quantities.

Real clusters describe the same card in many ways; here they become one set of facts. A fact that cannot be read is
unknown and named in `untrusted`; nothing here raises on a node's content.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cluster_model import gpu_models, node_cards, node_memory, node_model, objects
from cluster_model import node_labels as keys
from cluster_model.gpu_models import KnownModels
from cluster_model.node_labels import LabelReader, Untrusted

__all__ = ["UTILIZATION", "NodeFacts", "Untrusted", "read"]

UTILIZATION = "gpu.nvidia.com/utilization"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The GPUs of one node; None is unknown."""

    model: str | None  # canonical short name
    memory_mib: int | None  # of one nvidia.com/gpu: a slice, a virtual card, else the card
    card_memory_mib: int | None
    physical: int | None  # cards behind the units
    replicas: int | None  # units per card; 0 when every card is cut by MIG
    shared: bool  # units are time-sliced or MPS replicas
    unhealthy: int  # devices in capacity and not in allocatable
    capacity: Mapping[str, int]  # GPU and MIG resources
    schedulable: Mapping[str, int]  # the same, from status.allocatable
    device_memory_mib: Mapping[str, int]  # of one MIG device, by resource
    taints: tuple[str, ...]  # key=value:Effect
    untrusted: tuple[Untrusted, ...]
    withheld: tuple[Untrusted, ...]  # what asks that no GPU pod be placed here for now
    utilization: float | None  # 0 to 1, from the node's annotation


def read(node: objects.Node, extra_models: tuple[str, ...] = ()) -> NodeFacts:
    """Read the facts of a node; `extra_models` are GPU models known by configuration."""
    reader = LabelReader(node.metadata.labels)
    units = node_cards.units(node.status, reader)
    naming = node_model.read(reader, _known(extra_models))
    cards = node_cards.read(reader, naming, units)
    memory_mib, card_mib = node_memory.unit_mib(reader, naming), node_memory.card_mib(reader, naming)
    devices = node_memory.device_mib(reader, node_memory.resource_names(units.capacity, units.allocatable))
    utilization = _utilization(node, reader)
    return NodeFacts(
        model=naming.model.name if naming.model else None,
        memory_mib=memory_mib,
        card_memory_mib=card_mib,
        physical=cards.physical,
        replicas=cards.replicas,
        shared=cards.shared,
        unhealthy=units.unhealthy(),
        capacity=MappingProxyType(dict(units.capacity)),
        schedulable=MappingProxyType(dict(units.allocatable)),
        device_memory_mib=MappingProxyType(devices),
        taints=tuple(map(_taint, node.spec.taints)),
        untrusted=tuple(reader.doubts),
        withheld=_withheld(reader),
        utilization=utilization,
    )


@functools.lru_cache(maxsize=8)
def _known(extra_models: tuple[str, ...]) -> KnownModels:
    return KnownModels.extended(extra_models) if extra_models else gpu_models.BUILT_IN


def _taint(taint: objects.Taint) -> str:
    """Write a taint as kubectl does: key=value:Effect, without the value key:Effect."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _utilization(node: objects.Node, reader: LabelReader) -> float | None:
    text = node.metadata.annotations.get(UTILIZATION)
    if text is None:
        return None
    found = keys.ratio(text)
    if found is None:
        reader.doubts.append(Untrusted(f"metadata.annotations[{UTILIZATION}]", text, "must be 0 to 1"))
    return found


def _withheld(reader: LabelReader) -> tuple[Untrusted, ...]:
    """Name the labels by which operators and clouds ask to keep GPU pods off a node for now."""
    wanted = {keys.MIG_STATE: "success", keys.DRIVER_UPGRADE: "upgrade-done", keys.OCI_HEALTH: "healthy"}
    bad = [key for key, good in wanted.items() if key in reader.labels and not reader.has(key, good)]
    return tuple(Untrusted(key, reader.labels[key], f"is not {wanted[key]}") for key in bad)
