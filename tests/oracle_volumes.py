"""The plain twins of the plugins of volumes: one node, one claim, one volume at a time. Slow by design."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

from cluster_model import objects, quantity
from cluster_model.storage_objects import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.oracle_labels import Place, selector_matches

Said = tuple[str, bool]
T = TypeVar("T")

NO_DISK = "node(s) had no available disk"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
TOO_MANY = "node(s) exceed max volume count"
ELSEWHERE = "node(s) had no available volume zone"
CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
UNMATCHED = "node(s) didn't find available persistent volumes to bind"
FULL = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
ZONES = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
EBS, EBS_PLUGIN = "ebs.csi.aws.com", "kubernetes.io/aws-ebs"


@dataclass(frozen=True)
class Told:
    """The objects of storage by kind."""

    everything: tuple[Any, ...] = ()

    def of(self, kind: type[T]) -> list[T]:
        return [one for one in self.everything if isinstance(one, kind)]

    def volume(self, name: str) -> PersistentVolume | None:
        return next((one for one in self.of(PersistentVolume) if one.metadata.name == name), None)

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        found = (one for one in self.of(PersistentVolumeClaim) if one.metadata.name == name)
        return next((one for one in found if one.metadata.namespace == namespace), None)

    def storage_class(self, name: str) -> StorageClass | None:
        return next((one for one in self.of(StorageClass) if one.metadata.name == name), None)

    def csi_node(self, name: str) -> CsiNode | None:
        return next((one for one in self.of(CsiNode) if one.metadata.name == name), None)

    def driver(self, name: str) -> CsiDriver | None:
        return next((one for one in self.of(CsiDriver) if one.metadata.name == name), None)


NOTHING_TOLD = Told()


def size(found: Mapping[str, objects.Quantity]) -> Fraction:
    return Fraction(quantity.parse(found.get("storage", 0)), quantity.NANOS_PER_UNIT)


def whole(amount: Fraction) -> int:
    return math.ceil(amount)


def uses(pod: objects.Pod) -> Iterator[tuple[str, bool]]:
    """The claims of a pod, and whether each was made for it."""
    for one in pod.spec.volumes:
        if one.persistent_volume_claim is not None:
            yield one.persistent_volume_claim.claim_name, False
        elif one.ephemeral is not None:
            yield f"{pod.metadata.name}-{one.name}", True


@dataclass
class Volumes:
    """Everything that matters of one pod's volumes in one cluster."""

    pod: objects.Pod
    places: list[Place]
    told: Told
    affinity_matches: Callable[[objects.NodeSelectorTerm, objects.Node], bool]
    shape: list[tuple[int, int]] = field(default_factory=lambda: [(0, 10), (100, 0)])

    def claims(self, own: bool) -> list[PersistentVolumeClaim]:
        found = [self.told.claim(self.pod.metadata.namespace, name) for name, made in uses(self.pod) if own or not made]
        return [one for one in found if one is not None]

    # What is refused before any node is looked at.

    def refusals(self) -> list[str]:
        for refused in (self.absent(), self.unusable(), self.unknown()):
            if refused:
                return [refused]
        return []

    def absent(self) -> str:
        for name, made in uses(self.pod):
            if not made and self.told.claim(self.pod.metadata.namespace, name) is None:
                return f'persistentvolumeclaim "{name}" not found'
        return ""

    def unusable(self) -> str:
        for name, made in uses(self.pod):
            found = self.told.claim(self.pod.metadata.namespace, name)
            if found is None:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            if found.status.phase == "Lost":
                gone = found.spec.volume_name
                return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{gone}"'
            if found.metadata.deletion_timestamp:
                return f'persistentvolumeclaim "{name}" is being deleted'
            owners = [one.uid for one in found.metadata.owner_references if one.controller]
            if made and self.pod.metadata.uid not in owners:
                mine, theirs = self.pod.metadata, found.metadata
                return (
                    f"PVC {theirs.namespace}/{theirs.name} was not created for pod {mine.namespace}/{mine.name} "
                    "(pod is not owner)"
                )
        waiting = any(self.kind(one) == "immediate" for one in self.claims(own=True))
        return "pod has unbound immediate PersistentVolumeClaims" if waiting else ""

    def unknown(self) -> str:
        for one in self.claims(own=False):
            if one.spec.volume_name:
                if self.told.volume(one.spec.volume_name) is None:
                    return f'persistentvolume "{one.spec.volume_name}" not found'
            elif not one.class_name:
                return "PersistentVolumeClaim had no pv name and storageClass name"
            else:
                found = self.told.storage_class(one.class_name)
                if found is None:
                    return f'storageclass.storage.k8s.io "{one.class_name}" not found'
                if found.volume_binding_mode != "WaitForFirstConsumer":
                    return "PersistentVolume had no name"
        return ""

    def kind(self, one: PersistentVolumeClaim) -> str:
        if one.spec.volume_name and "pv.kubernetes.io/bind-completed" in one.metadata.annotations:
            return "bound"
        found = self.told.storage_class(one.class_name)
        waits = found is not None and found.volume_binding_mode == "WaitForFirstConsumer"
        return "delayed" if waits and not one.spec.volume_name else "immediate"

    # VolumeRestrictions

    def restricted(self, place: Place) -> list[Said]:
        for mine in self.pod.spec.volumes:
            if any(clash(mine, theirs) for other in place.pods for theirs in other.spec.volumes):
                return [(NO_DISK, True)]
        alone = {one.key for one in self.claims(own=False) if "ReadWriteOncePod" in one.spec.access_modes}
        everywhere = (other for found in self.places for other in found.pods)
        taken = {f"{other.metadata.namespace}/{name}" for other in everywhere for name, made in uses(other) if not made}
        return [(IN_USE, True)] if alone & taken else []

    # NodeVolumeLimits

    def counted(self, pod: objects.Pod, on: CsiNode | None) -> set[tuple[str, str]]:
        """The volumes of a pod, by driver and handle, that a node with or without a CSINode counts."""
        found = set()
        for name, _ in uses(pod):
            one = self.told.claim(pod.metadata.namespace, name)
            counted = None if one is None else self.meaning(one, on)
            found |= set() if counted is None else {counted}
        for volume in pod.spec.volumes:
            if volume.aws_elastic_block_store is not None and on is not None:
                found.add((EBS, volume.aws_elastic_block_store.volume_id.split("/")[-1]))
        return found

    def meaning(self, one: PersistentVolumeClaim, on: CsiNode | None) -> tuple[str, str] | None:
        volume = self.told.volume(one.spec.volume_name) if one.spec.volume_name else None
        if volume is None:
            found = self.told.storage_class(one.class_name)
            if found is None:
                return None
            if found.provisioner == EBS_PLUGIN:
                return None if on is None else (EBS, f"to be made for {one.key}")
            return found.provisioner, f"to be made for {one.key}"
        if volume.spec.csi is not None:
            return volume.spec.csi.driver, volume.spec.csi.volume_handle
        if volume.spec.aws_elastic_block_store is not None and on is not None:
            return EBS, volume.spec.aws_elastic_block_store.volume_id.split("/")[-1]
        return None

    def limited(self, place: Place) -> list[Said]:
        on = self.told.csi_node(place.node.metadata.name)
        new = self.counted(self.pod, on)
        installed = [] if on is None else [one.name for one in on.spec.drivers or ()]
        for driver in sorted({driver for driver, _ in new}):
            said = self.told.driver(driver)
            if said is not None and said.spec.prevent_pod_scheduling_if_missing and driver not in installed:
                return [(f"{driver} CSI driver is not installed on the node", True)]
        held = {volume for other in place.pods for volume in self.counted(other, on)}
        there = held | set(self.attachments(place))
        for one in () if on is None else on.spec.drivers or ():
            more = len([volume for volume in new - held if volume[0] == one.name])
            most = one.allocatable.count
            if most is not None and more and len([each for each in there if each[0] == one.name]) + more > most:
                return [(TOO_MANY, True)]
        return []

    def attachments(self, place: Place) -> Iterator[tuple[str, str]]:
        for one in self.told.of(VolumeAttachment):
            volume = self.told.volume(one.spec.source.persistent_volume_name or "")
            if one.spec.node_name == place.node.metadata.name and volume is not None and volume.spec.csi is not None:
                yield one.spec.attacher, volume.spec.csi.volume_handle

    # VolumeZone

    def zoned(self, place: Place) -> list[Said]:
        labels = place.node.metadata.labels
        if not any(key in labels for key in ZONES):
            return []
        for one in self.claims(own=False):
            volume = self.told.volume(one.spec.volume_name)
            for key, text in {} if volume is None else volume.metadata.labels.items():
                allowed = [value.strip() for value in text.split("__")]
                if key in ZONES and "" not in allowed and labels.get(key, labels.get(ZONES[key])) not in allowed:
                    return [(ELSEWHERE, False)]
        return []

    # VolumeBinding

    def binding(self, place: Place) -> "Bound":
        return Bound(self, place)

    def bound_rejects(self, place: Place) -> list[Said]:
        return [(text, False) for text in self.binding(place).reasons]

    def bound_scores(self, fitting: list[Place]) -> dict[str, int]:
        return {place.node.metadata.name: self.binding(place).score() for place in fitting}


class Bound:
    """What the claims of a pod get on one node."""

    def __init__(self, volumes: Volumes, place: Place) -> None:
        self.volumes, self.place, self.told = volumes, place, volumes.told
        self.reasons: list[str] = []
        self.static: list[tuple[PersistentVolumeClaim, PersistentVolume]] = []
        self.made: list[tuple[PersistentVolumeClaim, CsiStorageCapacity | None]] = []
        kinds = [(one, volumes.kind(one)) for one in volumes.claims(own=True)]
        bound = self.check_bound([one for one, kind in kinds if kind == "bound"])
        delayed = self.check_delayed([one for one, kind in kinds if kind == "delayed"])
        said = {bound, delayed} - {""}
        self.reasons = [text for text in (CONFLICT, UNMATCHED, FULL, MISSING) if text in said]

    def check_bound(self, claims: list[PersistentVolumeClaim]) -> str:
        for one in claims:
            volume = self.told.volume(one.spec.volume_name)
            if volume is None:
                return MISSING
            if not self.reaches(volume):
                return CONFLICT
        return ""

    def reaches(self, volume: PersistentVolume) -> bool:
        affinity = volume.spec.node_affinity
        if affinity is None or affinity.required is None:
            return True
        terms = affinity.required.node_selector_terms
        return any(self.volumes.affinity_matches(term, self.place.node) for term in terms)

    def check_delayed(self, claims: list[PersistentVolumeClaim]) -> str:
        name, key = self.place.node.metadata.name, "volume.kubernetes.io/selected-node"
        if any(one.metadata.annotations.get(key, name) != name for one in claims):
            return UNMATCHED
        to_make = [one for one in claims if key in one.metadata.annotations]
        still_open = [one for one in claims if key not in one.metadata.annotations]
        for one in sorted(still_open, key=lambda claim: size(claim.spec.resources.requests)):
            volume = self.find(one)
            if volume is None:
                to_make.append(one)
            else:
                self.static.append((one, volume))
        return next((said for one in to_make if (said := self.make(one))), "")

    def find(self, one: PersistentVolumeClaim) -> PersistentVolume | None:
        taken = [volume.metadata.name for _, volume in self.static]
        of_class = [volume for volume in self.told.of(PersistentVolume) if volume.class_name == one.class_name]
        left = [volume for volume in of_class if volume.metadata.name not in taken and suits(one, volume)]
        for volume in sorted(left, key=lambda found: found.metadata.name):
            if is_for(one, volume):
                return volume if self.reaches(volume) else None
        free = [volume for volume in left if volume.spec.claim_ref is None and volume.status.phase == "Available"]
        wanted = one.spec.selector
        if wanted is not None:
            free = [volume for volume in free if selector_matches(wanted, volume.metadata.labels)]
        fitting = [volume for volume in free if set(one.spec.access_modes) <= set(volume.spec.access_modes)]
        reached = [volume for volume in fitting if self.reaches(volume)]
        return min(reached, key=lambda found: (size(found.spec.capacity), found.metadata.name), default=None)

    def make(self, one: PersistentVolumeClaim) -> str:
        found = self.told.storage_class(one.class_name)
        assert found is not None
        if found.provisioner in ("", "kubernetes.io/no-provisioner") or not self.allows(found):
            return UNMATCHED
        driver = self.told.driver(found.provisioner)
        if "storage" not in one.spec.resources.requests or driver is None or not driver.spec.storage_capacity:
            self.made.append((one, None))
            return ""
        asked = size(one.spec.resources.requests)
        for capacity in sorted(self.told.of(CsiStorageCapacity), key=lambda each: each.metadata.name):
            if capacity.storage_class_name == one.class_name and self.has(capacity, asked):
                self.made.append((one, capacity))
                return ""
        return FULL

    def allows(self, found: StorageClass) -> bool:
        labels, terms = self.place.node.metadata.labels, found.allowed_topologies
        return not terms or any(
            term.match_label_expressions
            and all(labels.get(one.key) in one.values for one in term.match_label_expressions)
            for term in terms
        )

    def has(self, capacity: CsiStorageCapacity, asked: Fraction) -> bool:
        most = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
        enough = most is not None and whole(size({"storage": most})) >= whole(asked)
        topology = capacity.node_topology
        return enough and topology is not None and selector_matches(topology, self.place.node.metadata.labels)

    def score(self) -> int:
        loads: dict[str, tuple[int, int]] = {}
        for one, volume in self.static:
            asked, held = loads.get(volume.spec.storage_class_name, (0, 0))
            more, most = whole(size(one.spec.resources.requests)), whole(size(volume.spec.capacity))
            loads[volume.spec.storage_class_name] = (asked + more, held + most)
        for one, capacity in () if self.static else self.made:
            if capacity is not None:
                name = one.spec.storage_class_name or ""
                more = loads.get(name, (0, 0))[0] + whole(size(one.spec.resources.requests))
                loads[name] = (more, whole(size({"storage": capacity.capacity or 0})))
        if not loads:
            return 0
        worths = [self.worth(asked, held) for asked, held in loads.values()]
        return math.floor(Fraction(sum(worths), len(worths)) + Fraction(1, 2))

    def worth(self, asked: int, held: int) -> int:
        share = 100 if not held or asked > held else asked * 100 // held
        points = [(at, score * 10) for at, score in self.volumes.shape]
        if share <= points[0][0]:
            return points[0][1]
        for (left, low), (right, high) in pairwise(points):
            if share <= right:
                return low + math.trunc(Fraction((high - low) * (share - left), right - left))
        return points[-1][1]


def suits(one: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    if volume.spec.claim_ref is not None and not is_for(one, volume):
        return False
    if size(volume.spec.capacity) < size(one.spec.resources.requests) or volume.metadata.deletion_timestamp:
        return False
    attributes = one.spec.volume_attributes_class_name or "", volume.spec.volume_attributes_class_name or ""
    return one.spec.volume_mode == volume.spec.volume_mode and attributes[0] == attributes[1]


def is_for(one: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    named = volume.spec.claim_ref
    if named is None or (named.namespace, named.name) != (one.metadata.namespace, one.metadata.name):
        return False
    return named.uid in ("", one.metadata.uid)


def clash(one: objects.Volume, other: objects.Volume) -> bool:
    def both(name: str) -> tuple[objects.Disk, objects.Disk] | None:
        found = getattr(one, name), getattr(other, name)
        return None if None in found else found

    google, amazon = both("gce_persistent_disk"), both("aws_elastic_block_store")
    iscsi, rbd = both("iscsi"), both("rbd")
    if google and google[0].pd_name == google[1].pd_name and not (google[0].read_only and google[1].read_only):
        return True
    if amazon and amazon[0].volume_id == amazon[1].volume_id:
        return True
    if iscsi and iscsi[0].iqn == iscsi[1].iqn and not (iscsi[0].read_only and iscsi[1].read_only):
        return True
    if rbd and set(rbd[0].monitors) & set(rbd[1].monitors) and not (rbd[0].read_only and rbd[1].read_only):
        return (rbd[0].pool, rbd[0].image) == (rbd[1].pool, rbd[1].image)
    return False


@dataclass(frozen=True)
class Judge:
    """One plugin's twin."""

    rejects: Callable[[Place], list[Said]]
    scores: Callable[[list[Place]], dict[str, int]] = lambda _: {}


def judges(volumes: Volumes) -> dict[str, Judge]:
    return {
        "VolumeRestrictions": Judge(volumes.restricted),
        "NodeVolumeLimits": Judge(volumes.limited),
        "VolumeBinding": Judge(volumes.bound_rejects, volumes.bound_scores),
        "VolumeZone": Judge(volumes.zoned),
    }
