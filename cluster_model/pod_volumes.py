"""What a pod asks for in volumes, read once: the claims it uses, and the disks that stand in the pod itself."""

from collections.abc import Iterator
from dataclasses import dataclass

from cluster_model import csi_migration
from cluster_model.csi_migration import CsiVolume
from cluster_model.objects import Disk, Pod, Volume

DEFAULT_POOL = "rbd"


@dataclass(frozen=True, slots=True)
class ClaimUse:
    """A claim in the pod's namespace; an ephemeral one is made for this pod and must be its own."""

    name: str
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class DiskUse:
    """A disk that pods on one node cannot share unless all of them only read it."""

    kind: str
    names: frozenset[str]  # any of them in common makes it the same disk
    within: str = ""  # if that is the same too
    read_only: bool = False  # false where readers cannot share it either

    def clashes(self, other: "DiskUse") -> bool:
        """Say whether two uses exclude each other on one node."""
        same = self.kind == other.kind and self.within == other.within and bool(self.names & other.names)
        return same and not (self.read_only and other.read_only)


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """The volumes of one pod that a scheduler must look at."""

    claims: tuple[ClaimUse, ...] = ()  # in the pod's order, one use twice if it stands there twice
    disks: frozenset[DiskUse] = frozenset()
    attached: frozenset[CsiVolume] = frozenset()  # disks in the pod that a CSI driver attaches
    migratable: bool = False  # some disk in the pod is of a kind that CSI drivers have taken over


NO_VOLUMES = PodVolumes()


def read(pod: Pod) -> PodVolumes:
    """Read a pod's volumes; most are of kinds that bind a pod to no node."""
    volumes = pod.spec.volumes
    claims = tuple(_claims(pod))
    disks = frozenset(use for volume in volumes for use in _disks(volume))
    kinds = [volume for volume in volumes if csi_migration.kind_of(volume) is not None]
    if not claims and not disks and not kinds:
        return NO_VOLUMES
    attached = frozenset(found for volume in kinds if (found := csi_migration.inline(volume)) is not None)
    return PodVolumes(claims, disks, attached, bool(kinds))


def _claims(pod: Pod) -> Iterator[ClaimUse]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            yield ClaimUse(f"{pod.metadata.name}-{volume.name}", ephemeral=True)


def _disks(volume: Volume) -> Iterator[DiskUse]:
    google, amazon, iscsi, rbd = (
        volume.gce_persistent_disk,
        volume.aws_elastic_block_store,
        volume.iscsi,
        volume.rbd,
    )
    if google is not None:
        yield DiskUse("gce", frozenset({google.pd_name}), read_only=google.read_only)
    if amazon is not None:
        yield DiskUse("ebs", frozenset({amazon.volume_id}))
    if iscsi is not None:
        yield DiskUse("iscsi", frozenset({iscsi.iqn}), read_only=iscsi.read_only)
    if rbd is not None:
        yield DiskUse("rbd", frozenset(rbd.monitors), _image(rbd), rbd.read_only)


def _image(rbd: Disk) -> str:
    return f"{rbd.pool or DEFAULT_POOL}/{rbd.image}"
