"""Storage as the plain twins see it: its objects by kind, and what they say of sizes, uses and clashes."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from cluster_model import objects, quantity
from cluster_model.storage_objects import CsiDriver, CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass

T = TypeVar("T")


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
