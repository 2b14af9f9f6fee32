"""Volumes of older kinds are named as k8s.io/csi-translation-lib names them, or not at all."""

from typing import Any

import pytest

from cluster_model import csi_migration
from cluster_model.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, CsiVolume
from cluster_model.objects import Disk, NodeSelector, NodeSelectorTerm, Volume
from cluster_model.storage_objects import VolumeNodeAffinity
from tests.build import requirement
from tests.build_storage import volume

EBS, GCE = "ebs.csi.aws.com", "pd.csi.storage.gke.io"


def handle(**fields: Any) -> CsiVolume | None:
    return csi_migration.inline(Volume(name="v", **fields))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("vol-1", "vol-1"),
        ("aws://us-east-1a/vol-1", "vol-1"),
        ("aws:///vol-1", "vol-1"),
        ("anything", "anything"),
    ],
)
def test_ebs_ids_are_read_in_all_their_forms(written: str, read: str) -> None:
    assert handle(aws_elastic_block_store=Disk(volume_id=written)) == CsiVolume(EBS, read)


@pytest.mark.parametrize("written", ["aws://us-east-1a/disk-1", "aws://us-east-1a/vol-1/x", "aws://"])
def test_ebs_ids_of_another_form_name_no_volume(written: str) -> None:
    assert handle(aws_elastic_block_store=Disk(volume_id=written)) is None


def test_google_disks_in_a_pod_have_no_zone() -> None:
    assert handle(gce_persistent_disk=Disk(pd_name="x")) == CsiVolume(
        GCE, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/x"
    )


def test_azure_disks_count_only_if_they_are_managed() -> None:
    managed, shared = (
        Disk(disk_uri="/subscriptions/s", kind="Managed"),
        Disk(disk_uri="/subscriptions/s", kind="Shared"),
    )

    assert handle(azure_disk=managed) == CsiVolume("disk.csi.azure.com", "/subscriptions/s")
    assert handle(azure_disk=shared) is None


def test_cinder_and_portworx_volumes_keep_their_ids() -> None:
    assert handle(cinder=Disk(volume_id="c")) == CsiVolume("cinder.csi.openstack.org", "c")
    assert handle(portworx_volume=Disk(volume_id="p")) == CsiVolume("pxd.portworx.com", "p")


def test_disks_that_no_driver_has_taken_over_are_none() -> None:
    assert handle(iscsi=Disk(iqn="i")) is None
    assert handle() is None


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, "zones/UNSPECIFIED"),
        ({ZONE: "us-east1-b"}, "zones/us-east1-b"),
        ({BETA_ZONE: "us-east1-c", ZONE: "us-east1-b"}, "zones/us-east1-c"),
        ({ZONE: "us-east1-b__us-east1-c"}, "regions/us-east1"),
    ],
)
def test_google_volumes_say_their_zone_or_region(labels: dict[str, str], expected: str) -> None:
    found = csi_migration.persistent(volume(handle=None, labels=labels, gce_persistent_disk=Disk(pd_name="x")))

    assert found == CsiVolume(GCE, f"projects/UNSPECIFIED/{expected}/disks/x")


@pytest.mark.parametrize("zones", ["us-east1-b__us-west1-c", "a__b"])
def test_zones_that_are_no_region_name_no_volume(zones: str) -> None:
    found = volume(handle=None, labels={ZONE: zones}, gce_persistent_disk=Disk(pd_name="x"))

    assert csi_migration.persistent(found) is None


def test_volumes_of_csi_are_what_they_say() -> None:
    assert csi_migration.persistent(volume(handle="h")) == CsiVolume("csi.example.com", "h")


def test_a_volume_without_any_known_source_is_none() -> None:
    assert csi_migration.persistent(volume(handle=None)) is None


@pytest.mark.parametrize(
    ("provisioner", "expected"),
    [
        ("kubernetes.io/aws-ebs", (EBS, True)),
        ("csi.example.com", ("csi.example.com", False)),
        ("kubernetes.io/vsphere-volume", ("", True)),
        ("kubernetes.io/azure-file", ("", True)),
    ],
)
def test_provisioners_name_the_driver_that_counts(provisioner: str, expected: tuple[str, bool]) -> None:
    assert csi_migration.driver_of(provisioner) == expected


def terms(*found: NodeSelectorTerm) -> VolumeNodeAffinity:
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=found))


def term(key: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(requirement(key, "In", *values),))


def translated(affinity: VolumeNodeAffinity | None, labels: dict[str, str]) -> NodeSelector | None:
    disk = Disk(volume_id="vol-1")
    return csi_migration.node_affinity(
        volume(handle=None, node_affinity=affinity, labels=labels, aws_elastic_block_store=disk)
    )


KEY = "topology.ebs.csi.aws.com/zone"


@pytest.mark.parametrize("old", [ZONE, BETA_ZONE])
def test_zones_of_the_affinity_are_renamed(old: str) -> None:
    assert translated(terms(term(old, "a", "b")), {ZONE: "ignored"}) == terms(term(KEY, "a", "b")).required


def test_zones_of_the_labels_are_added_to_every_term() -> None:
    found = translated(terms(term("x", "1"), term("y", "2")), {BETA_ZONE: "b__a"})

    assert found is not None
    more = requirement(KEY, "In", "a", "b")
    assert [one.match_expressions[1] for one in found.node_selector_terms] == [more, more]


def test_labels_alone_become_an_affinity() -> None:
    assert translated(None, {ZONE: "a"}) == terms(term(KEY, "a")).required


def test_old_regions_are_renamed_beside_old_zones() -> None:
    both = NodeSelectorTerm(match_expressions=(requirement(BETA_ZONE, "In", "a"), requirement(BETA_REGION, "In", "r")))
    found = translated(terms(both), {})

    assert found is not None
    assert [one.key for one in found.node_selector_terms[0].match_expressions] == [KEY, REGION]


def test_without_zones_nothing_changes() -> None:
    assert translated(None, {}) is None
    assert translated(None, {ZONE: " __"}) is None
    assert translated(terms(term("x", "1")), {}) == terms(term("x", "1")).required


def test_other_kinds_keep_their_affinity() -> None:
    assert csi_migration.node_affinity(volume(zone="a")) == terms(term(ZONE, "a")).required
