"""One node as the plain twins see it: its object and the pods that count on it."""

from dataclasses import dataclass
from typing import TypeAlias

from cluster_model import node_facts, objects, quantity
from cluster_model.node_facts import NodeFacts
from cluster_model.pod import PendingPod
from cluster_model.request import PodRequest
from cluster_model.state import ClusterState
from tests.oracle_labels import Place
from tests.oracle_storage import NOTHING_TOLD, Told

Said: TypeAlias = tuple[str, bool]  # reason, whether evicting pods could help


@dataclass(frozen=True)
class View:
    """One node with the requests of the pods that count on it."""

    node: objects.Node
    pods: tuple[PodRequest, ...] = ()
    held_pods: tuple[objects.Pod, ...] = ()
    told: Told = NOTHING_TOLD

    @property
    def place(self) -> Place:
        return Place(self.node, self.held_pods)

    @property
    def name(self) -> str:
        return self.node.metadata.name

    @property
    def facts(self) -> NodeFacts:
        return node_facts.read(self.node)

    def has(self, resource: str) -> int:
        try:
            amount = quantity.parse(self.node.status.allocatable.get(resource, 0))
        except ValueError:
            return 0
        return max(0, quantity.milli(amount) if resource == "cpu" else quantity.value(amount))

    def held(self, resource: str) -> int:
        return sum(pod.resources.get(resource, 0) for pod in self.pods)

    def held_with_defaults(self, resource: str) -> int:
        if resource == "cpu":
            return sum(pod.nonzero_milli_cpu for pod in self.pods)
        if resource == "memory":
            return sum(pod.nonzero_memory_bytes for pod in self.pods)
        return self.held(resource)


def views(state: ClusterState) -> list[View]:
    """Return the nodes of a cluster in the snapshot's order, each with the pods that count on it."""
    held: dict[str, list[PendingPod]] = {}
    for holding in state.holdings().values():
        held.setdefault(holding.node, []).append(holding.pod)
    found, told = [], Told(state.storage.objects())
    for name in state.snapshot().names:
        record = state.node(name)
        assert record is not None
        pods = held.get(name, [])
        found.append(View(record.node, tuple(pod.request for pod in pods), tuple(pod.pod for pod in pods), told))
    return found
