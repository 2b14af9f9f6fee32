"""Generators for ImageLocality and NodeDeclaredFeatures: what lies on nodes, what they declare, what pods need."""

from __future__ import annotations

from tests.differential.documents import Document
from tests.differential.world import World, another_container

MIB = 1 << 20
HELD = (
    "example.com/app:1",
    "example.com/app@sha256:00",
    "example.com/tool:latest",
    "registry:5000/tool:latest",
    "model:2",
    "model",
)
ASKED = (*HELD, "example.com/tool", "registry:5000/tool", "absent")
SIZES = (0, MIB, 23 * MIB, 100 * MIB, 333333333, 1000 * MIB, 5 << 30)
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions", "New")


def image_locality(world: World) -> None:
    """Put images on nodes, whose sizes they disagree about, and let the pod use some, twice now and then."""
    for one in world.nodes:
        images = [_image(world) for _ in world.up_to(4)]
        if images:
            one["status"]["images"] = images
    for _ in world.up_to(2):
        another_container(world, world.spec())
    for one in (*world.spec()["containers"], *world.spec().get("initContainers", ())):
        one["image"] = world.of(ASKED)
    if world.seldom(3):
        volumes = world.spec().setdefault("volumes", [])
        volumes.append({"name": "image", "image": {"reference": world.of(ASKED), "pullPolicy": "IfNotPresent"}})


def node_declared_features(world: World) -> None:
    """Let nodes declare features, and the pod need some; the API server refuses host users that need one."""
    for one in world.nodes:
        one["status"]["declaredFeatures"] = sorted(world.some(FEATURES))
    spec = world.spec()
    if world.seldom(3):
        spec["hostNetwork"], spec["hostUsers"] = world.of(((True, True), (False, False)))
    for _ in world.up_to(1):
        another_container(world, spec)
    for one in (*spec["containers"], *spec.get("initContainers", ())):
        if world.seldom(4):
            _restart(world, one)
        if world.seldom(4):
            _mount(world, spec, one)


def _image(world: World) -> Document:
    names = world.rng.sample(HELD, world.rng.randint(1, 2))
    return {"names": names, "sizeBytes": world.of(SIZES)}


def _restart(world: World, container: Document) -> None:
    rule = {"action": world.of(("Restart", "RestartAllContainers")), "exitCodes": {"operator": "In", "values": [42]}}
    container.setdefault("restartPolicy", "Never")
    container["restartPolicyRules"] = [rule]


def _mount(world: World, spec: Document, container: Document) -> None:
    volumes = spec.setdefault("volumes", [])
    if not any(volume["name"] == "scratch" for volume in volumes):
        volumes.append({"name": "scratch", "emptyDir": {}})
    mount: Document = {"name": "scratch", "mountPath": "/scratch"}
    if world.seldom(2):
        mount["bindMountOptions"] = ["noexec"]
    container["volumeMounts"] = [mount]
