"""What of a pod's volumes a scheduler looks at, and which uses of a disk exclude each other."""

from typing import Any

import pytest

from cluster_model import pod_volumes
from cluster_model.csi_migration import CsiVolume
from cluster_model.objects import Disk, ImageVolumeSource, PersistentVolumeClaimSource, Volume
from cluster_model.pod_volumes import NO_VOLUMES, ClaimUse, DiskUse
from tests.build import raw_pod


def read(*volumes: Volume) -> pod_volumes.PodVolumes:
    return pod_volumes.read(raw_pod("p", volumes=volumes))


def use(**fields: Any) -> DiskUse:
    (found,) = read(Volume(name="v", **fields)).disks
    return found


def test_pod_without_such_volumes_shares_one_reading() -> None:
    image = ImageVolumeSource(reference="i")

    assert read(Volume(name="token"), Volume(name="image", image=image)) is NO_VOLUMES


def test_claims_keep_the_order_and_stand_twice_if_they_are_used_twice() -> None:
    claim = PersistentVolumeClaimSource(claim_name="c")
    found = read(
        Volume(name="a", persistent_volume_claim=claim), Volume(name="b", ephemeral={}),
        Volume(name="d", persistent_volume_claim=claim),
    )  # fmt: skip

    assert found.claims == (ClaimUse("c"), ClaimUse("p-b", ephemeral=True), ClaimUse("c"))


def test_disks_of_migrated_kinds_are_attached_by_their_driver() -> None:
    found = read(Volume(name="v", aws_elastic_block_store=Disk(volume_id="aws:///vol-1")))

    assert found.attached == {CsiVolume("ebs.csi.aws.com", "vol-1")}
    assert found.disks == {DiskUse("ebs", frozenset({"aws:///vol-1"}))}
    assert read(Volume(name="v", cinder=Disk(volume_id="c"))).disks == frozenset()


@pytest.mark.parametrize("kind", ["gce_persistent_disk", "iscsi", "rbd"])
def test_readers_may_share_a_disk_but_no_writer(kind: str) -> None:
    named: dict[str, Any] = {"pd_name": "x", "iqn": "x", "monitors": ("m",), "image": "i"}
    reader, writer = use(**{kind: Disk(read_only=True, **named)}), use(**{kind: Disk(**named)})

    assert [reader.clashes(reader), reader.clashes(writer), writer.clashes(writer)] == [False, True, True]


def test_ebs_volumes_are_shared_by_nobody() -> None:
    reader = use(aws_elastic_block_store=Disk(volume_id="vol-1", read_only=True))

    assert reader.clashes(reader)


def test_other_disks_and_other_kinds_do_not_clash() -> None:
    one, other = use(gce_persistent_disk=Disk(pd_name="x")), use(gce_persistent_disk=Disk(pd_name="y"))

    assert not one.clashes(other)
    assert not one.clashes(use(iscsi=Disk(iqn="x")))


@pytest.mark.parametrize(
    ("monitors", "pool", "image", "clash"),
    [
        (("b", "c"), "rbd", "i", True),
        (("c",), "rbd", "i", False),
        (("a",), "other", "i", False),
        (("a",), "rbd", "j", False),
        (("a",), "", "i", True),
    ],
)
def test_rbd_images_are_the_same_if_a_monitor_the_pool_and_the_image_are(
    monitors: tuple[str, ...], pool: str, image: str, clash: bool
) -> None:
    one = use(rbd=Disk(monitors=("a", "b"), pool="rbd", image="i"))

    assert one.clashes(use(rbd=Disk(monitors=monitors, pool=pool, image=image))) is clash
