"""The plain twins of the plugins of volumes: one node, one claim, one volume at a time. Slow by design."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from cluster_model import objects
from cluster_model.storage_objects import (
    CsiNode,
    PersistentVolumeClaim,
    VolumeAttachment,
)
from tests.oracle_binding import Bound
from tests.oracle_labels import Place
from tests.oracle_storage import Told, clash, uses

Said = tuple[str, bool]
T = TypeVar("T")

NO_DISK = "node(s) had no available disk"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
TOO_MANY = "node(s) exceed max volume count"
ELSEWHERE = "node(s) had no available volume zone"
ZONES = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
EBS, EBS_PLUGIN = "ebs.csi.aws.com", "kubernetes.io/aws-ebs"


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
