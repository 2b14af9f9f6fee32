"""Writes cases of pods that wait and objects that change: each subject's world, and one object of it made another.

What an object becomes is taken part by part from another object of the same kind, so that the change is about
something that the world's pod may read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import chain
from random import Random

from tests.differential import generate
from tests.differential import volume_documents as make
from tests.differential.affinity import REQUIRED
from tests.differential.documents import ZONE, Document, default_config
from tests.differential.volume_cases import DRIVERS, WAITS
from tests.differential.world import World

Path = tuple[str, ...]

NODE, ASSIGNED, TARGET = "Node", "AssignedPod", "TargetPod"
VOLUME, CLAIM = "PersistentVolume", "PersistentVolumeClaim"
CLASS, CSI_NODE, DRIVER, CAPACITY, ATTACHMENT = STORAGE = (
    "storage.k8s.io/StorageClass",
    "storage.k8s.io/CSINode",
    "storage.k8s.io/CSIDriver",
    "storage.k8s.io/CSIStorageCapacity",
    "storage.k8s.io/VolumeAttachment",
)
LISTS = {
    VOLUME: "persistentVolumes",
    CLAIM: "persistentVolumeClaims",
    CLASS: "storageClasses",
    CSI_NODE: "csiNodes",
    DRIVER: "csiDrivers",
    CAPACITY: "csiStorageCapacities",
    ATTACHMENT: "volumeAttachments",
}
# What matters to the plugins of each subject changes most often there.
SUBJECTS: Mapping[str, Sequence[str]] = {
    "NodeUnschedulable": (NODE, NODE, TARGET),
    "TaintToleration": (NODE, NODE, TARGET),
    "NodeAffinity": (NODE,),
    "NodePorts": (ASSIGNED,),
    "NodeResourcesFit": (NODE, ASSIGNED, TARGET),
    "PodResize": (ASSIGNED,),
    "PodTopologySpread": (NODE, ASSIGNED, TARGET),
    "DefaultSpread": (NODE, ASSIGNED),
    "InterPodAffinity": (NODE, ASSIGNED, TARGET),
    "CrowdedAffinity": (NODE, ASSIGNED),
    "NodeDeclaredFeatures": (NODE, TARGET, TARGET),
    "VolumeRestrictions": (ASSIGNED, CLAIM),
    "NodeVolumeLimits": (ASSIGNED, CSI_NODE, CLAIM, ATTACHMENT),
    "VolumeBinding": (VOLUME, CLAIM, CLASS, CSI_NODE, DRIVER, CAPACITY),
    "VolumeZone": (VOLUME, CLAIM, CLASS),
}
# Those of whose changes only few are about what a pod reads come more often.
SELDOM_ABOUT = (
    "NodeUnschedulable",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "CrowdedAffinity",
    "VolumeBinding",
)
OFTEN = (*SUBJECTS, *("PodTopologySpread", "InterPodAffinity") * 5, *SELDOM_ABOUT * 2)
KINDS = (NODE, ASSIGNED, TARGET, VOLUME, CLAIM, *STORAGE)
MIXED = 4  # every fourth case is about any subject and any kind
PARTS: Mapping[str, Sequence[Path]] = {
    NODE: (
        ("metadata", "labels"),
        ("spec", "taints"),
        ("spec", "unschedulable"),
        ("status", "allocatable"),
        ("status", "declaredFeatures"),
    ),
    ASSIGNED: (("metadata", "labels"), ("spec", "containers"), ("status", "nominatedNodeName")),
    TARGET: (
        ("metadata", "labels"),
        ("metadata", "annotations"),
        ("spec", "containers"),
        ("spec", "tolerations"),
        ("spec", "schedulingGates"),
        ("spec", "hostNetwork"),
        ("spec", "hostUsers"),
    ),
    VOLUME: (("metadata", "labels"), ("status", "phase")),
    CLAIM: (("spec", "volumeName"), ("metadata", "annotations")),
    CLASS: (("allowedTopologies",), ("volumeBindingMode",)),
    CSI_NODE: (("spec", "drivers"), ("metadata", "annotations")),
    DRIVER: (("spec", "storageCapacity"),),
    CAPACITY: (("capacity",), ("maximumVolumeSize",)),
    ATTACHMENT: (("metadata", "annotations"),),
}
TOLERATIONS: tuple[list[Document], ...] = (
    [],
    [{"operator": "Exists"}],
    [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}],
    [{"key": "dedicated", "operator": "Exists"}, {"key": "dedicated", "operator": "Equal", "value": "gpu"}],
)
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"


def cases(seed: int, count: int) -> Iterator[Document]:
    """Yield cases; each depends on the seed and its own number only."""
    return (case(seed, number) for number in range(count))


def case(seed: int, number: int) -> Document:
    """Write one case: another world lends the parts that change."""
    world = World(Random(f"hints/{seed}/{number}"))
    subjects: tuple[str, ...] = tuple(generate.SUBJECTS)
    kind = world.of(KINDS)
    if number % MIXED:
        subjects = (world.of(OFTEN),)
        kind = world.of(SUBJECTS[subjects[0]])
    found, donor = (generate.case(seed, 2 * number + more, subjects) for more in (0, 1))
    _spice(world, found)
    found.pop("config", None)
    configured = default_config(_args(donor if world.seldom(2) else {}))
    if configured is not None:
        found["config"] = configured
    found["change"] = {"kind": kind, **_change(world, kind, found, donor)}
    return {**found, "id": f"hints/{seed}/{number}"}


def _args(found: Document) -> Document:
    """Return the args that a case gives to plugins, whichever it configures: here all of them are asked."""
    profile = (found.get("config") or {"profiles": [{}]})["profiles"][0]
    return {entry["name"]: entry["args"] for entry in profile.get("pluginConfig", ())}


def _spice(world: World, found: Document) -> None:
    """Let the pod have what only hints read: a volume of a driver in the pod itself."""
    if world.seldom(3):
        make.mount(found["pod"], "own-driver", {"csi": {"driver": world.of(DRIVERS)}})


def _change(world: World, kind: str, found: Document, donor: Document) -> Document:
    if kind == TARGET:
        return {"old": _changed(world, kind, found["pod"], donor["pod"])}
    one, other = (_about(world, kind, _pick(world, kind, where), found["pod"]) for where in (found, donor))
    way = world.of(("came", "went", "changed", "changed"))
    if kind == ASSIGNED:
        _settle(world, one, way)
    if way != "changed":
        return {"new": one} if way == "came" else {"old": one}
    if kind == ASSIGNED and world.seldom(2):
        labelled = deepcopy(one)
        labelled["metadata"].setdefault("labels", {}).update(world.of([*_selectors(found["pod"]["spec"]), {}]))
        return world.of(({"old": one, "new": labelled}, {"old": labelled, "new": one}))
    return {"old": one, "new": _changed(world, kind, one, other)}


def _pick(world: World, kind: str, found: Document) -> Document:
    """Choose an object of a case, or make the kind's plainest one."""
    listed = found.get({NODE: "nodes", ASSIGNED: "pods"}.get(kind, LISTS.get(kind, "")), ())
    picked = deepcopy(world.of(listed)) if listed else _plain(world, kind)
    if kind == CLAIM and world.seldom(2):
        picked["metadata"]["name"] = world.of([*_claims_of(found["pod"]), "nobodys"])
    return picked


def _about(world: World, kind: str, one: Document, pod: Document) -> Document:
    """Make an object one that may matter to the pod, half of the time."""
    if kind == ASSIGNED and world.seldom(2):
        labels = world.of([*_selectors(pod["spec"]), {}])
        one["metadata"].setdefault("labels", {}).update(labels)
        one["metadata"]["namespace"] = pod["metadata"]["namespace"]
        ports = pod["spec"]["containers"][0].get("ports")
        if ports:
            one["spec"]["containers"][0]["ports"] = deepcopy(ports)
    if kind == NODE and world.seldom(2):
        one["metadata"]["labels"].pop(world.of([*one["metadata"]["labels"], "absent"]), None)
        one["metadata"]["labels"].update(pod["spec"].get("nodeSelector", {}))
    if kind == CLASS and world.seldom(2):
        expression = {"key": ZONE, "values": [world.of("ab")]}
        one["allowedTopologies"] = [{"matchLabelExpressions": [expression]}]
    own = [volume["csi"]["driver"] for volume in pod["spec"].get("volumes", ()) if "csi" in volume]
    if kind == DRIVER and own:
        one["metadata"]["name"], one["spec"]["storageCapacity"] = own[0], world.seldom(2)
    return one


def _selectors(spec: Document) -> Iterator[Document]:
    """Yield labels that a pod's constraints and terms look for."""
    affinity = spec.get("affinity", {})
    kinds = (affinity.get(kind, {}).get(REQUIRED, ()) for kind in ("podAffinity", "podAntiAffinity"))
    for one in chain(spec.get("topologySpreadConstraints", ()), *kinds):
        if one.get("labelSelector", {}).get("matchLabels"):
            yield one["labelSelector"]["matchLabels"]


def _plain(world: World, kind: str) -> Document:
    match kind:
        case "AssignedPod":
            return {"metadata": {"name": "other", "namespace": "default"}, "spec": {"containers": [_container()]}}
        case "PersistentVolume":
            return make.volume("plain", "1Gi")
        case "PersistentVolumeClaim":
            return make.claim("plain", "1Gi")
        case "storage.k8s.io/StorageClass":
            mode = {"volumeBindingMode": WAITS} if world.seldom(2) else {}
            return make.storage_class("plain", "csi.example.com", **mode)
        case "storage.k8s.io/CSINode":
            return {
                "metadata": {"name": "n0", "annotations": {MIGRATED: world.of(("", "kubernetes.io/aws-ebs"))}},
                "spec": {"drivers": _drivers(world)},
            }
        case "storage.k8s.io/CSIDriver":
            return {"metadata": {"name": world.of(DRIVERS)}, "spec": {"storageCapacity": world.seldom(2)}}
        case "storage.k8s.io/CSIStorageCapacity":
            sizes = {key: world.of(("1Gi", "2Gi", "1025Mi")) for key in world.some(("capacity", "maximumVolumeSize"))}
            return {"metadata": {"name": "plain", "namespace": "default"}, "storageClassName": "plain", **sizes}
    source = {"persistentVolumeName": "plain"}
    return {"metadata": {"name": "plain"}, "spec": {"attacher": world.of(DRIVERS), "nodeName": "n0", "source": source}}


def _drivers(world: World) -> list[Document]:
    names = world.some(DRIVERS)
    return [{"name": name, "nodeID": "n0", "allocatable": {"count": world.of((0, 1, 2, 5))}} for name in names]


def _container() -> Document:
    return {"name": "app", "image": "example.com/app:1"}


def _settle(world: World, pod: Document, way: str) -> None:
    """Leave a pod where it is; let one that came or went only wait for room there, or nowhere."""
    if way != "changed" and world.seldom(6):
        node = pod["spec"].pop("nodeName", "n0")
        if world.seldom(2):
            pod.setdefault("status", {})["nominatedNodeName"] = node
    else:
        pod["spec"].setdefault("nodeName", "n0")


def _changed(world: World, kind: str, one: Document, other: Document) -> Document:
    """Return the object with some parts as the other one has them."""
    made = deepcopy(one)
    for path in PARTS[kind]:
        if world.seldom(2):
            _graft(made, other, path)
    if kind == TARGET and world.seldom(3):
        made["spec"]["tolerations"] = list(world.of(TOLERATIONS))
    if kind == TARGET and world.seldom(8):
        made["spec"] |= {"hostNetwork": True, "hostUsers": False}
    if kind == TARGET and world.seldom(6):
        made["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    if kind == CSI_NODE and world.seldom(3):
        made["spec"]["drivers"] = _drivers(world)
    return made


def _graft(made: Document, other: Document, path: Path) -> None:
    into, source = made, other
    for key in path[:-1]:
        into, source = into.setdefault(key, {}), source.get(key, {})
    if path[-1] in source:
        into[path[-1]] = deepcopy(source[path[-1]])
    else:
        into.pop(path[-1], None)


def _claims_of(pod: Document) -> Iterator[str]:
    for volume in pod["spec"].get("volumes", ()):
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume['name']}"
