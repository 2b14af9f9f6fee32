"""Generators for NodeResourcesFit and NodeResourcesBalancedAllocation: tight nodes, and pods that ask in every way."""

from __future__ import annotations

from tests.differential.documents import Document, pod
from tests.differential.world import CPU, MEMORY, World, another_container, requests

NIC, GPU, FPGA = "example.com/nic", "nvidia.com/gpu", "other.example/fpga"
EXTENDED = (NIC, GPU, FPGA)
HUGE = "hugepages-2Mi"
ALLOCATABLE = {
    "cpu": ("0", "1", "2", "3900m", "4", "16", "0.1"),
    "memory": ("0", "1Gi", "2Gi", "4G", "8Gi", "64Gi", "3000000000"),
    "ephemeral-storage": ("0", "1Gi", "10G", "100Gi"),
    "pods": ("0", "1", "2", "3", "5", "110"),
}
SHAPES = ([(0, 10), (100, 0)], [(0, 0), (100, 10)], [(10, 3), (35, 10), (90, 1)], [(50, 0)], [(0, 0), (40, 0), (70, 9)])
STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
SCORED = ("cpu", "memory", "ephemeral-storage", *EXTENDED)


def node_resources_fit(world: World) -> None:
    """Make room scarce; ignore some resources, and score by any strategy."""
    scarcity(world)
    args: Document = {}
    if world.seldom(6):
        args["ignoredResources"] = world.some(EXTENDED)
    if world.seldom(6):
        args["ignoredResourceGroups"] = world.some(("example.com", "nvidia.com"))
    if world.seldom(2):
        args["scoringStrategy"] = _strategy(world)
    if args:
        world.args["NodeResourcesFit"] = args


def balanced_allocation(world: World) -> None:
    """Make room scarce and balance any resources."""
    scarcity(world)
    if world.seldom(2):
        chosen = world.rng.sample(SCORED, world.rng.randint(1, 4))
        resources = [{"name": resource, "weight": 1} for resource in chosen]
        world.args["NodeResourcesBalancedAllocation"] = {"resources": resources}


def pod_level(world: World) -> None:
    """Let pods ask as a whole, which replaces what their containers ask for together."""
    scarcity(world)
    for found in world.everybody():
        if world.seldom(2):
            found["spec"]["resources"] = _of_the_pod(world)


def pod_resize(world: World) -> None:
    """Let bound pods be in the middle of a resize: what they hold is the most of what is asked, allotted and in use."""
    scarcity(world)
    for found in world.pods:
        spec, status = found["spec"], found["status"]
        if world.seldom(2):
            status["containerStatuses"] = [_resizing(world, one) for one in spec["containers"]]
            status["initContainerStatuses"] = [_resizing(world, one) for one in spec.get("initContainers", ())]
        if world.seldom(4):
            spec["resources"] = _of_the_pod(world)
        if world.seldom(4):
            status["resources"] = {} if world.seldom(4) else {"requests": _amounts(world)}
            status |= {} if world.seldom(4) else {"allocatedResources": _amounts(world)}
        if world.seldom(6):
            refused = {"type": "PodResizePending", "status": "True", "reason": world.of(("Infeasible", "Deferred"))}
            status["conditions"] = [refused]


def nominated_pods(world: World) -> None:
    """Let pods wait for room that preemption makes: those of at least the pod's priority hold it already."""
    scarcity(world)
    world.spec()["priority"] = 5
    for number in world.up_to(3):
        waiting = pod(f"nominated-{number}", requests(world), priority=world.of((4, 5, 6)))
        waiting["status"] = {"nominatedNodeName": world.of(world.nodes)["metadata"]["name"]}
        world.pods.append(waiting)


def scarcity(world: World) -> None:
    """Give nodes less room and more kinds of it, and let pods ask for that in all the ways there are."""
    for one in world.nodes:
        allocatable = one["status"]["allocatable"]
        for resource, amounts in ALLOCATABLE.items():
            if world.seldom(3):
                allocatable[resource] = world.of(amounts)
        allocatable |= {resource: world.of(("0", "1", "2", "8")) for resource in world.some(EXTENDED)}
        if world.seldom(3):
            allocatable[HUGE] = world.of(("0", "16Mi", "1Gi"))
        if world.seldom(12):
            del allocatable[world.of(sorted(allocatable))]
    for found in world.everybody():
        _ask(world, found["spec"])


def _ask(world: World, spec: Document) -> None:
    for _ in world.up_to(2):
        another_container(world, spec)
    for one in (*spec["containers"], *spec.get("initContainers", ())):
        _ask_more(world, one["resources"])
    if world.seldom(6):
        spec["overhead"] = {"cpu": world.of(CPU), "memory": world.of(MEMORY)}
        spec["runtimeClassName"] = "sandbox"


def _ask_more(world: World, resources: Document) -> None:
    """Ask for resources that need an equal limit, or name a limit alone, which is a request once stored."""
    asked = resources["requests"]
    if world.seldom(3):
        asked["ephemeral-storage"] = world.of(("1Gi", "500M", "20G"))
    limited = resources.get("limits", {})
    same = {resource: world.of(("1", "2")) for resource in EXTENDED if resource not in limited and world.seldom(4)}
    if HUGE not in limited and asked.get("cpu", "0") != "0" and world.seldom(5):
        same[HUGE] = world.of(("2Mi", "16Mi"))
    if same:
        resources.setdefault("limits", {}).update(same)
        asked |= {} if world.seldom(3) else same
    if world.seldom(5) and "cpu" not in asked:
        resources.setdefault("limits", {})["cpu"] = world.of(("100m", "1"))


def _resizing(world: World, one: Document) -> Document:
    found = {"name": one["name"], "ready": True, "restartCount": 0, "image": one["image"], "imageID": "", "state": {}}
    if not world.seldom(3):
        found["allocatedResources"] = _amounts(world)
    if not world.seldom(3):
        found["resources"] = {"requests": _amounts(world)}
    return found


def _amounts(world: World) -> Document:
    """Name some amounts, at least one: an empty list is none on a server."""
    return requests(world) or {"cpu": world.of(CPU)}


def _of_the_pod(world: World) -> Document:
    """Set resources of the pod as a whole, which no container's sum may exceed."""
    requests = {resource: amount for resource, amount in (("cpu", "9"), ("memory", "24Gi")) if not world.seldom(3)}
    return {"requests": requests} if requests else {"limits": {"cpu": "12", "memory": "48Gi"}}


def _strategy(world: World) -> Document:
    kind = world.of(STRATEGIES)
    chosen = world.rng.sample(SCORED, world.rng.randint(1, 4))
    found: Document = {"type": kind, "resources": [{"name": name, "weight": world.of((1, 3, 100))} for name in chosen]}
    if kind == "RequestedToCapacityRatio":
        shape = [{"utilization": utilization, "score": score} for utilization, score in world.of(SHAPES)]
        found["requestedToCapacityRatio"] = {"shape": shape}
    return found
