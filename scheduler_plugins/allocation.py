"""How full nodes would be with the pod on them: the columns that the resource scores compare, one set a resource."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cluster_model.columns import MAX_AMOUNT, Amounts, Mask, sealed
from cluster_model.pod import PendingPod
from cluster_model.snapshot import NodeColumns, Rows, Snapshot

NATIVE = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True, slots=True, eq=False)
class Filling:
    """One resource of the feasible nodes, without the pod and with it."""

    weight: int
    present: Mask | None  # [feasible node] which have the resource; None: all
    capacity: Amounts  # [feasible node] 1 where absent
    before: Amounts  # [feasible node]
    after: Amounts  # [feasible node]


def with_defaults(pod: PendingPod, snapshot: Snapshot, rows: Rows, weights: Mapping[str, int]) -> list[Filling]:
    """Return the resources as NodeResourcesFit scores them: containers that name no cpu or memory count a default."""
    usage = snapshot.usage
    held = {"cpu": usage.nonzero_milli_cpu, "memory": usage.nonzero_memory_bytes}
    return list(_fillings(snapshot, rows, weights, pod.request.scored, held))


def as_requested(pod: PendingPod, snapshot: Snapshot, rows: Rows, weights: Mapping[str, int]) -> list[Filling]:
    """Return the resources as they are requested, without defaults."""
    return list(_fillings(snapshot, rows, weights, pod.request.resources, {}))


def _fillings(
    snapshot: Snapshot, rows: Rows, weights: Mapping[str, int], asked: Mapping[str, int], held: Mapping[str, Amounts]
) -> Iterator[Filling]:
    for resource, weight in weights.items():
        amount = min(asked.get(resource, 0), MAX_AMOUNT)
        if not amount and resource not in NATIVE:
            continue  # an extended resource that the pod does not ask for says nothing about the node
        capacity, present = _capacity(resource, snapshot.nodes)
        column = held.get(resource)
        before = (snapshot.requested(resource) if column is None else column).take(rows)
        here = None if present is None else present.take(rows)
        yield Filling(weight, here, capacity.take(rows), before, before + amount)


def _capacity(resource: str, nodes: NodeColumns) -> tuple[Amounts, Mask | None]:
    return nodes.remembered(("capacity", resource), lambda: _divisors(nodes.allocatable.get(resource, nodes.nothing)))


def _divisors(allocatable: Amounts) -> tuple[Amounts, Mask | None]:
    present = allocatable > 0
    return sealed(np.maximum(allocatable, 1)), None if present.all() else sealed(present)
