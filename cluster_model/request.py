"""The one parser of what a pod asks for: resources in effect, GPUs and their annotations, host ports.

With its sibling modules the only code that knows GPU resource names and annotations. Never raises on a pod's content:
what is wrong with it is in `problems`, what we cannot honour yet in `unsupported`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cluster_model import (
    capacity_type,
    deletion_cost,
    effective,
    gpu_annotations,
    gpu_names,
    objects,
    pod_terms,
    pod_volumes,
    resizing,
)
from cluster_model.capacity_type import Capacity
from cluster_model.gpu_annotations import DEFAULT_RULES, FRACTION, Demand, ModelRequest, Rules
from cluster_model.pod_terms import NO_TERMS, PodTerms
from cluster_model.pod_volumes import NO_VOLUMES, PodVolumes
from cluster_model.verdict import Problem

__all__ = ["GpuRequest", "HostPort", "ModelRequest", "PodRequest", "Rules", "parse"]


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """The GPU side of a request. Models, memory and fraction come from the annotations alone."""

    units: int = 0  # nvidia.com/gpu
    models: tuple[ModelRequest, ...] = ()  # empty: any
    memory_mib: int | None = None  # least memory per GPU
    fraction: float | None = None
    asks: bool = False  # asks for a GPU in any form
    annotated: bool = False  # some key starts with gpu.nvidia.com/

    @property
    def fraction_milli(self) -> int | None:
        """The share in thousandths of a card, rounded up."""
        return None if self.fraction is None else math.ceil(round(self.fraction * 1000, 6))


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """A port taken on the node itself."""

    protocol: str
    ip: str
    port: int


@dataclass(frozen=True, slots=True)
class PodRequest:
    """What one pod asks for, read once."""

    # In effect, and once it runs what it holds: cpu in milli, all else in units; tracked names only.
    resources: Mapping[str, int]
    nonzero_milli_cpu: int  # for scoring only, as is the next
    nonzero_memory_bytes: int
    scored: Mapping[str, int]  # what NodeResourcesFit scores the pod by: the sum of its containers, with defaults
    gpu: GpuRequest
    host_ports: frozenset[HostPort] = frozenset()
    terms: PodTerms = NO_TERMS  # what it asks of the pods around it
    volumes: PodVolumes = NO_VOLUMES
    capacity: Capacity | None = None  # what its annotation says of spot nodes
    problems: tuple[Problem, ...] = ()
    unsupported: tuple[str, ...] = ()  # paths of hard constraints that we do not implement yet
    warnings: tuple[str, ...] = ()


def parse(pod: objects.Pod, rules: Rules = DEFAULT_RULES, at: str = "") -> PodRequest:
    """Read a pod, or a pod template that stands at the path `at` ("spec.template")."""
    prefix = f"{at}." if at else ""
    total = resizing.held(pod, effective.read(pod.spec, f"{prefix}spec"))
    resources = effective.in_units(total.amounts)
    annotations = pod.metadata.annotations
    demand = Demand(resources.get(gpu_names.GPU, 0), _asks(resources, pod.spec))
    reading = gpu_annotations.read(annotations, demand, rules, f"{prefix}metadata")
    costs = deletion_cost.problems(annotations, f"{prefix}metadata")
    capacity, wrong_capacity = capacity_type.read(annotations, f"{prefix}metadata")
    return PodRequest(
        resources=MappingProxyType(resources),
        nonzero_milli_cpu=total.nonzero_milli_cpu,
        nonzero_memory_bytes=total.nonzero_memory_bytes,
        scored=MappingProxyType(effective.in_units(total.by_containers)),
        gpu=_gpu(demand, reading, FRACTION in annotations),
        host_ports=frozenset(_host_ports(pod.spec)),
        terms=pod_terms.read(pod),
        volumes=pod_volumes.read(pod),
        capacity=capacity,
        problems=total.problems + reading.problems + costs + wrong_capacity,
        unsupported=tuple(_unsupported(pod, prefix)),
        warnings=reading.warnings,
    )


def _gpu(demand: Demand, reading: gpu_annotations.Reading, asks_for_share: bool) -> GpuRequest:
    return GpuRequest(
        units=demand.gpus,
        models=reading.models,
        memory_mib=reading.memory_mib,
        fraction=reading.fraction,
        asks=demand.asks_for_gpu or asks_for_share,
        annotated=reading.annotated,
    )


def _asks(resources: Mapping[str, int], spec: objects.PodSpec) -> bool:
    return bool(spec.resource_claims) or any(n > 0 and gpu_names.asks_for_gpu(name) for name, n in resources.items())


def _host_ports(spec: objects.PodSpec) -> Iterator[HostPort]:
    """Yield the ports that running containers take; on the host network every container port is one."""
    sidecars = (init for init in spec.init_containers if init.restart_policy == "Always")
    for container in (*sidecars, *spec.containers):
        for port in container.ports:
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number > 0:
                yield HostPort(port.protocol or "TCP", port.host_ip or "0.0.0.0", number)


def _unsupported(pod: objects.Pod, prefix: str) -> Iterator[str]:
    """Yield the paths of what would have to hold on a node and that no plugin of ours checks."""
    spec = pod.spec
    if FRACTION in pod.metadata.annotations:
        yield f"{prefix}metadata.annotations[{FRACTION}]"
    yield from (f"{prefix}spec.resourceClaims[{index}]" for index in range(len(spec.resource_claims)))
