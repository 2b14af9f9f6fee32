"""Writes crowded clusters, where a pod gets room only if others go: priorities, budgets, start times, nominations."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.differential import volume_cases
from tests.differential.documents import HOSTNAME, ZONE, Document, node, pod
from tests.differential.world import World

PRIORITIES = (-10, 0, 0, 0, 1, 5, 100, 2000000)
APPS = ("web", "batch", "train", "cache")
GPU = "nvidia.com/gpu"
CPU = ("500m", "1", "1", "1500m", "2")
MEMORY = ("512Mi", "1Gi", "2Gi", "3G")
NODE_COUNTS = (1, 2, 3, 4, 6, 9)
MOST_PODS_A_NODE = 6


def cases(seed: int, count: int) -> Iterator[Document]:
    """Yield situations; each depends on the seed and its own number only."""
    return (case(seed, number) for number in range(count))


def case(seed: int, number: int, node_prefix: str = "n") -> Document:
    """Write one situation under the default profile."""
    world = World(Random(f"preemption/{seed}/{number}"))
    for place in range(world.of(NODE_COUNTS)):
        _add_node(world, f"{node_prefix}{place}")
    world.pod = _pod(world, "placed", (5, 50, 100, 1000))
    world.spec()["containers"][0]["resources"] = _resources(world, ask=True)
    if world.seldom(20):
        world.spec()["preemptionPolicy"] = "Never"
    for trait in (_nomination, _pinned, _port, _spread, _apart, _others_wait, _over, volume_cases.contended):
        if world.seldom(6):
            trait(world)
    budgets = [_budget(world, app) for app in APPS if world.seldom(2)]
    found = {"id": f"{seed}/{number}", "config": None, "nodes": world.nodes, "pods": world.pods, "pod": world.pod}
    return found | {"podDisruptionBudgets": budgets, **world.others}


def _add_node(world: World, name: str) -> None:
    room = {"cpu": world.of(("2", "4", "4")), "memory": world.of(("4Gi", "8Gi")), GPU: world.of(("0", "1", "2", "4"))}
    room["pods"] = world.of(("3", "6", "110"))
    world.nodes.append(node(name, room, {ZONE: world.of("ab")}))
    for number in range(world.rng.randint(2, min(MOST_PODS_A_NODE, int(room["pods"])))):
        held = _pod(world, f"{name}-{number}", PRIORITIES, nodeName=name)
        held["spec"]["containers"][0]["resources"] = _resources(world, ask=False)
        # Each pod started at a time of its own, so that the order of victims is one.
        started = f"2026-01-{world.rng.randint(1, 28):02}T{len(world.pods) // 60:02}:{len(world.pods) % 60:02}:00Z"
        held["status"] = {"phase": "Running", "startTime": started}
        world.pods.append(held)


def _pod(world: World, name: str, priorities: tuple[int, ...], **spec: Any) -> Document:
    made = pod(name, priority=world.of(priorities), **spec)
    made["metadata"]["labels"] = {"app": world.of(APPS)} if not world.seldom(5) else {}
    made["metadata"]["namespace"] = "other" if world.seldom(8) else "default"
    return made


def _resources(world: World, ask: bool) -> Document:
    found = {"cpu": world.of(CPU), "memory": world.of(MEMORY)}
    if world.seldom(2) or (ask and world.seldom(2)):
        found[GPU] = world.of(("1", "1", "2", "3"))
    limits = {GPU: found[GPU]} if GPU in found else {}
    return {"requests": found} | ({"limits": limits} if limits else {})


def _budget(world: World, app: str) -> Document:
    """Protect an application; no pod has two budgets, whose order would matter."""
    selector: Document = {"matchLabels": {"app": app}}
    if world.seldom(8):
        selector = world.of(({}, {"matchExpressions": [{"key": "app", "operator": "In", "values": [app]}]}))
    status: Document = {"disruptionsAllowed": world.of((0, 0, 1, 2)), "currentHealthy": 1, "desiredHealthy": 1}
    status["expectedPods"] = 1
    if world.seldom(4) and world.pods:
        status["disruptedPods"] = {world.of(world.pods)["metadata"]["name"]: "2026-02-01T00:00:00Z"}
    metadata = {"name": f"of-{app}", "namespace": "other" if world.seldom(8) else "default"}
    return {"metadata": metadata, "spec": {"selector": selector, "minAvailable": 1}, "status": status}


def _nomination(world: World) -> None:
    """Let the pod have preempted before; its victims may still be on their way out."""
    on = world.of(world.nodes)["metadata"]["name"]
    world.pod["status"] = {"nominatedNodeName": on}
    for held in world.pods:
        if held["spec"]["nodeName"] == on and world.seldom(2):
            held["metadata"]["deletionTimestamp"] = "2026-02-01T00:00:00Z"
            if not world.seldom(3):
                reason = world.of(("PreemptionByScheduler", "EvictionByEvictionAPI"))
                held["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": reason}]


def _over(world: World) -> None:
    """Let some pods be on their way out for reasons of their own, and others be over already."""
    for held in (one for one in world.pods if "nodeName" in one["spec"]):
        if world.seldom(4):
            held["metadata"]["deletionTimestamp"] = "2026-02-01T00:00:00Z"
        elif world.seldom(8):
            held["status"]["phase"] = world.of(("Succeeded", "Failed"))


def _pinned(world: World) -> None:
    world.spec()["nodeSelector"] = {ZONE: world.of("ab")}


def _port(world: World) -> None:
    """Let the pod want a port that one pod of a node may hold, as only one can."""
    one_each = {held["spec"]["nodeName"]: held for held in world.pods if not world.seldom(3)}
    for found in (world.pod, *one_each.values()):
        found["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]


def _spread(world: World) -> None:
    """Let the pod spread over zones or nodes among its like."""
    app = world.pod["metadata"]["labels"].setdefault("app", world.of(APPS))
    world.spec()["topologySpreadConstraints"] = [
        {
            "topologyKey": world.of((ZONE, HOSTNAME)),
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {} if world.seldom(4) else {"matchLabels": {"app": app}},
        }
    ]


def _apart(world: World) -> None:
    """Keep the pod apart from an application, and now and then another pod from the pod's."""
    _keep_apart(world, world.pod)
    for held in world.pods:
        if world.seldom(5):
            _keep_apart(world, held)


def _keep_apart(world: World, found: Document) -> None:
    selector = {"matchLabels": {"app": world.of(APPS)}}
    term = {"topologyKey": world.of((ZONE, HOSTNAME, HOSTNAME)), "labelSelector": selector}
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    found["spec"]["affinity"] = {"podAntiAffinity": wanted}


def _others_wait(world: World) -> None:
    """Let others wait for room on nodes, of more and of less importance than the pod."""
    for number in range(world.rng.randint(1, 2)):
        waiting = _pod(world, f"waiting-{number}", (1, 50, 1000))
        waiting["spec"]["containers"][0]["resources"] = _resources(world, ask=True)
        waiting["status"] = {"nominatedNodeName": world.of(world.nodes)["metadata"]["name"]}
        if world.seldom(3):
            _keep_apart(world, waiting)
        world.pods.append(waiting)
