"""Generators for the plugins that look at one fact of a node: its name, its marks, its ports."""

from __future__ import annotations

from tests.differential.documents import Document, requirement
from tests.differential.world import World, another_container

EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
KEYS = ("dedicated", "nvidia.com/gpu", "node.kubernetes.io/unschedulable")
VALUES = ("", "present", "team-a")
PORTS = (80, 443, 8080)
PROTOCOLS = (None, "TCP", "UDP", "SCTP")
ADDRESSES = (None, None, "0.0.0.0", "127.0.0.1", "10.0.0.1", "::")


def node_name(world: World) -> None:
    """Bind the pod to one node by hand, or to one that is not there."""
    if world.seldom(3):
        world.spec()["nodeName"] = world.of([*(one["metadata"]["name"] for one in world.nodes), "nowhere"])


def narrowed_twice(world: World) -> None:
    """Name a node by hand, and by a field that affinity asks for: the same one, or nodes that have none in common."""
    names = [one["metadata"]["name"] for one in world.nodes]
    world.spec()["nodeName"] = world.of(names)
    fields = [requirement("metadata.name", "In", world.of(names)) for _ in range(world.rng.randint(1, 2))]
    wanted = {"nodeSelectorTerms": [{"matchFields": fields}]}
    world.spec().setdefault("affinity", {})["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": wanted}


def node_unschedulable(world: World) -> None:
    """Cordon some nodes."""
    for one in world.some(world.nodes):
        one["spec"]["unschedulable"] = True
    if world.seldom(3):
        world.spec().setdefault("tolerations", []).append(_toleration(world))


def taint_toleration(world: World) -> None:
    """Taint some nodes, hard and softly, and let the pod tolerate some of it."""
    for one in world.nodes:
        taints = {(taint["key"], taint["effect"]): taint for taint in (_taint(world) for _ in world.up_to(3))}
        one["spec"]["taints"] = list(taints.values())
    world.spec().setdefault("tolerations", []).extend(_toleration(world) for _ in world.up_to(3))


def node_ports(world: World) -> None:
    """Take ports of nodes by containers of every kind."""
    for found in world.everybody():
        spec = found["spec"]
        for _ in world.up_to(1):
            another_container(world, spec)
        spec["hostNetwork"] = world.seldom(8)
        _take_ports(world, spec)


def _taint(world: World) -> Document:
    value = world.of(VALUES)
    taint = {"key": world.of(KEYS), "effect": world.of(EFFECTS)}
    return taint | ({"value": value} if value else {})


def _toleration(world: World) -> Document:
    """Make one that the API server takes: without a key, or with Exists, there is no value."""
    key, operator = world.of(("", *KEYS)), world.of((None, "Equal", "Exists"))
    if not key:
        operator = "Exists"
    found = {"key": key, "operator": operator, "effect": world.of(("", *EFFECTS))}
    found["value"] = "" if operator == "Exists" else world.of(VALUES)
    return {name: value for name, value in found.items() if value}


def _take_ports(world: World, spec: Document) -> None:
    """Give containers ports, each port once in a pod; on the host network a container's port is the node's."""
    taken = set()
    for one in (*spec["containers"], *spec.get("initContainers", ())):
        for _ in world.up_to(2):
            port, protocol, address = world.of(PORTS), world.of(PROTOCOLS), world.of(ADDRESSES)
            if (port, protocol or "TCP") in taken:
                continue
            taken.add((port, protocol or "TCP"))
            found: Document = {"containerPort": port}
            found |= {} if world.seldom(4) else {"hostPort": port}
            found |= {name: value for name, value in (("protocol", protocol), ("hostIP", address)) if value}
            one.setdefault("ports", []).append(found)
