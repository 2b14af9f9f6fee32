"""Which volume a claim stands for where volumes are counted against a node's limit. Decides no limit."""

from collections.abc import Mapping
from dataclasses import dataclass

from cluster_model import csi_migration
from cluster_model.csi_migration import CsiVolume
from cluster_model.storage_objects import PersistentVolume, PersistentVolumeClaim, StorageClass

UNBOUND = "\0"  # begins the handle of a volume that is still to be made; no driver gives such a one


@dataclass(frozen=True, slots=True)
class Counted:
    """A volume, and whether only a node with a CSINode counts it: it is of a kind that its driver has taken over."""

    volume: CsiVolume
    migrated: bool


def of(
    claim: PersistentVolumeClaim, volume: PersistentVolume | None, classes: Mapping[str, StorageClass]
) -> Counted | None:
    """Return what a claim counts as; a volume that is not there, or not yet, counts by the claim's class."""
    if volume is None or not claim.spec.volume_name:
        return _to_be_made(claim, classes.get(claim.class_name))
    found = csi_migration.persistent(volume)
    if found is None or not found.driver or not found.handle:
        return None
    return Counted(found, volume.spec.csi is None)


def _to_be_made(claim: PersistentVolumeClaim, found: StorageClass | None) -> Counted | None:
    """Return the volume that the class's provisioner will make, one for the claim."""
    if found is None or not claim.class_name:
        return None
    driver, migrated = csi_migration.driver_of(found.provisioner)
    return Counted(CsiVolume(driver, f"{UNBOUND}{claim.key}"), migrated) if driver else None
