"""One node as the ledger keeps it: the object, the facts and amounts read from it; and what changed between two."""

from collections.abc import Mapping
from dataclasses import dataclass

from cluster_model import gpu_names, node_facts, objects, quantity
from cluster_model.columns import MAX_AMOUNT
from cluster_model.verdict import Event

PODS = "pods"
CPU = "cpu"


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node and what was read from it once."""

    node: objects.Node
    facts: node_facts.NodeFacts
    allocatable: Mapping[str, int]  # cpu in thousandths, all else in units; unreadable amounts are left out
    unreadable: tuple[node_facts.Untrusted, ...]

    @property
    def has_gpu(self) -> bool:
        """Whether anything of a GPU is allocatable: whole ones, shares or slices of any system."""
        return any(amount > 0 and gpu_names.asks_for_gpu(name) for name, amount in self.allocatable.items())

    @classmethod
    def read(cls, node: objects.Node, before: "NodeRecord | None", extra_models: tuple[str, ...]) -> "NodeRecord":
        """Read a node; an update that changes nothing of interest keeps the earlier reading."""
        if before is not None and _same_reading(before.node, node):
            return cls(node, before.facts, before.allocatable, before.unreadable)
        facts = node_facts.read(node, extra_models)
        allocatable, unreadable = _amounts(node)
        return cls(node, facts, allocatable, tuple(dict.fromkeys(facts.untrusted + unreadable)))


def changes(before: NodeRecord, after: NodeRecord) -> frozenset[Event]:
    """Name the kinds of change that could cure a rejection; a heartbeat gives none."""
    old, new = before.node, after.node
    found = {
        Event.NODE_ALLOCATABLE: before.allocatable != after.allocatable,
        Event.NODE_LABEL: old.metadata.labels != new.metadata.labels,
        Event.NODE_TAINT: _taints_changed(old.spec, new.spec),
        Event.NODE_CONDITION: _conditions(old) != _conditions(new),
        Event.NODE_FEATURE: set(old.status.declared_features) != set(new.status.declared_features),
        Event.NODE_ANNOTATION: old.metadata.annotations != new.metadata.annotations and before.facts != after.facts,
    }
    return frozenset(event for event, changed in found.items() if changed)


def _taints_changed(old: objects.NodeSpec, new: objects.NodeSpec) -> bool:
    return old.taints != new.taints or (old.unschedulable and not new.unschedulable)


def _conditions(node: objects.Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def _same_reading(old: objects.Node, new: objects.Node) -> bool:
    return (
        old.status.allocatable == new.status.allocatable
        and old.status.capacity == new.status.capacity
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
        and old.spec.taints == new.spec.taints
    )


def _amounts(node: objects.Node) -> tuple[dict[str, int], tuple[node_facts.Untrusted, ...]]:
    amounts: dict[str, int] = {}
    unreadable = []
    for resource, text in node.status.allocatable.items():
        try:
            parsed = quantity.parse(text)
        except ValueError:
            where = f"status.allocatable[{resource}]"
            unreadable.append(node_facts.Untrusted(where, str(text), "must be a quantity such as 8, 500m or 32Gi"))
            continue
        amount = quantity.milli(parsed) if resource == CPU else quantity.value(parsed)
        amounts[resource] = max(0, min(amount, MAX_AMOUNT))
    return amounts, tuple(unreadable)
