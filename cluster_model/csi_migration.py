"""Volumes of the kinds built into Kubernetes as the CSI drivers see them that have taken these kinds over.

Names and rules are those of k8s.io/csi-translation-lib at 1.37, for the kinds that kube-scheduler counts as migrated.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from cluster_model.objects import Disk, NodeSelector, NodeSelectorTerm, SelectorRequirement, Volume
from cluster_model.storage_objects import PersistentVolume, PersistentVolumeSpec

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ZONES_DELIMITER = "__"
UNSPECIFIED = "UNSPECIFIED"
MANAGED = "managed"

_EBS_ID = re.compile(r"vol-[^/]*")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of volume, by the field that holds it."""

    field: str
    plugin: str
    driver: str
    zone_key: str | None = None  # the label that the driver gives a node's zone


GCE = Kind("gce_persistent_disk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone")
EBS = Kind("aws_elastic_block_store", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone")
AZURE = Kind("azure_disk", "kubernetes.io/azure-disk", "disk.csi.azure.com")
CINDER = Kind("cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone")
PORTWORX = Kind("portworx_volume", "kubernetes.io/portworx-volume", "pxd.portworx.com")
KINDS = (GCE, EBS, AZURE, CINDER, PORTWORX)
# There is a translation for these too, but kube-scheduler takes them for not migrated and so never counts them.
NEVER_COUNTED = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})


@dataclass(frozen=True, slots=True, order=True)
class CsiVolume:
    """A volume as its CSI driver names it."""

    driver: str
    handle: str


def inline(volume: Volume) -> CsiVolume | None:
    """Translate a volume written into a pod; None if it is of no such kind, or names its disk in no readable form."""
    kind = kind_of(volume)
    if kind is None:
        return None
    disk: Disk = getattr(volume, kind.field)
    handle = _google_handle(disk, {}) if kind is GCE else _handle(kind, disk)
    return None if handle is None else CsiVolume(kind.driver, handle)


def persistent(volume: PersistentVolume) -> CsiVolume | None:
    """Return what a PersistentVolume is to its CSI driver, translated where it is of an older kind."""
    spec = volume.spec
    if spec.csi is not None:
        return CsiVolume(spec.csi.driver, spec.csi.volume_handle)
    kind = kind_of(spec)
    if kind is None:
        return None
    disk: Disk = getattr(spec, kind.field)
    handle = _google_handle(disk, volume.metadata.labels) if kind is GCE else _handle(kind, disk)
    return None if handle is None else CsiVolume(kind.driver, handle)


def kind_of(holder: Volume | PersistentVolumeSpec) -> Kind | None:
    """Return the migrated kind of a volume."""
    return next((kind for kind in KINDS if getattr(holder, kind.field) is not None), None)


def driver_of(provisioner: str) -> tuple[str, bool]:
    """Return the driver that serves a class's provisioner, and whether it does so for an older kind; "" for none."""
    if provisioner in NEVER_COUNTED:
        return "", True
    kind = next((kind for kind in KINDS if kind.plugin == provisioner), None)
    return (provisioner, False) if kind is None else (kind.driver, True)


def node_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """Return the terms of a volume's node affinity in its driver's own labels, as a node that has migrated reads it."""
    affinity = volume.spec.node_affinity
    terms = affinity.required if affinity is not None else None
    kind = kind_of(volume.spec)
    if kind is None or kind.zone_key is None:
        return terms
    zone, region = _labels_used(volume, terms)
    if any(_values(terms, zone)):
        terms = _renamed(terms, zone, kind.zone_key)
    elif zone in volume.metadata.labels:
        terms = _plus_zones(terms, kind.zone_key, volume.metadata.labels[zone])
    if region == BETA_REGION and any(_values(terms, BETA_REGION)):
        terms = _renamed(terms, BETA_REGION, REGION)
    return terms


def _handle(kind: Kind, disk: Disk) -> str | None:
    if kind is EBS:
        return _ebs_id(disk.volume_id)
    if kind is AZURE:
        return disk.disk_uri if disk.kind.lower() in ("", MANAGED) else None
    return disk.volume_id


def _ebs_id(text: str) -> str | None:
    """Read "aws://zone/vol-1", "aws:///vol-1", or the bare id."""
    if not text.startswith("aws://"):
        return text
    found = text.removeprefix("aws://").partition("/")[2].strip("/")
    return found if _EBS_ID.fullmatch(found) else None


def _google_handle(disk: Disk, labels: Mapping[str, str]) -> str | None:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONES_DELIMITER)
    if len(zones) == 1:
        return f"projects/{UNSPECIFIED}/zones/{zones[0] or UNSPECIFIED}/disks/{disk.pd_name}"
    regions = {zone.rpartition("-")[0] for zone in zones}
    if len(regions) != 1 or any(zone.count("-") != 2 for zone in zones):
        return None
    return f"projects/{UNSPECIFIED}/regions/{regions.pop()}/disks/{disk.pd_name}"


def _labels_used(volume: PersistentVolume, terms: NodeSelector | None) -> tuple[str, str]:
    """Return the labels that say zone and region, looked for in the affinity first; the newer ones come first."""
    named = {one.key for term in _terms(terms) for one in term.match_expressions}
    for keys in (named, volume.metadata.labels):
        if ZONE in keys:
            return ZONE, REGION
        if BETA_ZONE in keys:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _terms(selector: NodeSelector | None) -> tuple[NodeSelectorTerm, ...]:
    return selector.node_selector_terms if selector is not None else ()


def _values(selector: NodeSelector | None, key: str) -> Iterator[bool]:
    return (True for term in _terms(selector) for one in term.match_expressions if one.key == key and one.values)


def _renamed(selector: NodeSelector | None, key: str, new: str) -> NodeSelector:
    terms = (
        msgspec.structs.replace(
            term,
            match_expressions=tuple(
                msgspec.structs.replace(one, key=new) if one.key == key else one for one in term.match_expressions
            ),
        )
        for term in _terms(selector)
    )
    return NodeSelector(node_selector_terms=tuple(terms))


def _plus_zones(selector: NodeSelector | None, key: str, label: str) -> NodeSelector | None:
    zones = sorted({zone.strip() for zone in label.split(ZONES_DELIMITER)} - {""})
    if not zones:
        return selector
    more = SelectorRequirement(key=key, operator="In", values=tuple(zones))
    terms = (
        msgspec.structs.replace(term, match_expressions=(*term.match_expressions, more))
        for term in _terms(selector) or (NodeSelectorTerm(),)
    )
    return NodeSelector(node_selector_terms=tuple(terms))
