"""A cluster in the making: the plain start that every case has, which the generators of the plugins then change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from tests.differential.documents import ZONE, Document, container, node, pod

T = TypeVar("T")

NODE_COUNTS = (1, 2, 2, 3, 3, 4, 5, 6, 9)
CROWDS = (12, 25)  # counts of two digits come before those of one
MOST_PODS = 8  # for each so many nodes
CPU = ("0", "100m", "250m", "333m", "0.5", "1", "1500m")
MEMORY = ("0", "64Mi", "200Mi", "123456789", "1G", "1Gi", "2560Mi")


@dataclass
class World:
    """Where one case grows. Every choice comes from its own source of randomness."""

    rng: Random
    nodes: list[Document] = field(default_factory=list)
    pods: list[Document] = field(default_factory=list)  # bound
    pod: Document = field(default_factory=dict)  # to place
    args: dict[str, Document] = field(default_factory=dict)  # by plugin
    others: dict[str, list[Document]] = field(default_factory=dict)  # by kind, as the case names it

    def of(self, values: Sequence[T]) -> T:
        """Choose one."""
        return self.rng.choice(values)

    def seldom(self, times: int = 4) -> bool:
        """Be true once in so many times."""
        return self.rng.randrange(times) == 0

    def some(self, values: Sequence[T]) -> list[T]:
        """Choose each or not."""
        return [value for value in values if self.rng.random() < 0.5]

    def up_to(self, most: int) -> range:
        """Choose how often."""
        return range(self.rng.randint(0, most))

    def spec(self) -> Document:
        """The spec of the pod to place."""
        found: Document = self.pod["spec"]
        return found

    def everybody(self) -> Iterator[Document]:
        """Yield the pod to place and the bound ones."""
        yield self.pod
        yield from self.pods


def start(rng: Random, node_prefix: str = "n") -> World:
    """Make a few nodes in zones with pods on them, and a pod that could go anywhere."""
    world = World(rng)
    for number in range(world.of(CROWDS if world.seldom(30) else NODE_COUNTS)):
        world.nodes.append(node(f"{node_prefix}{number}", labels={ZONE: world.of("ab")}))
    for number in world.up_to(MOST_PODS * max(1, len(world.nodes) // MOST_PODS)):
        on = "gone" if world.seldom(30) else world.of(world.nodes)["metadata"]["name"]
        world.pods.append(pod(f"bound-{number}", requests(world), nodeName=on))
        _age(world, world.pods[-1])
    world.pod = pod("placed", requests(world))
    return world


def requests(world: World) -> Document:
    """Ask for some of what every node has."""
    asked = {"cpu": world.of(CPU), "memory": world.of(MEMORY)}
    return {resource: asked[resource] for resource in world.some(tuple(asked))}


def another_container(world: World, spec: Document) -> Document:
    """Give a pod one more container of any kind."""
    kind = world.of(("containers", "initContainers", "sidecar"))
    listed = spec.setdefault("containers" if kind == "containers" else "initContainers", [])
    always = {"restartPolicy": "Always"} if kind == "sidecar" else {}
    listed.append(container(f"{kind[:4].lower()}{len(listed)}", requests(world), **always))
    added: Document = listed[-1]
    return added


def _age(world: World, bound: Document) -> None:
    """Let some pods be over, which count no more, and others be on their way out, which still do."""
    bound["status"] = {"phase": world.of(("Running", "Running", "Running", "Pending", "Failed", "Succeeded"))}
    if world.seldom(10):
        bound["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
