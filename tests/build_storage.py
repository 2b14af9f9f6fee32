"""Builders of storage objects for tests, as short as the claim needs."""

from collections.abc import Iterable, Mapping
from typing import Any

from cluster_model.objects import (
    Disk,
    Labels,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolumeClaimSource,
    SelectorRequirement,
    Volume,
)
from cluster_model.storage_objects import (
    BIND_COMPLETED,
    WAITS_FOR_CONSUMER,
    ClaimResources,
    CsiDriver,
    CsiDriverSpec,
    CsiNode,
    CsiNodeDriver,
    CsiNodeSpec,
    CsiSource,
    CsiStorageCapacity,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    TopologySelectorRequirement,
    TopologySelectorTerm,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
    VolumeNodeAffinity,
    VolumeNodeResources,
)

DRIVER = "csi.example.com"
ZONE = "topology.kubernetes.io/zone"


def claim(
    name: str = "claim",
    size: str | None = "1Gi",
    *,
    of: str | None = "fast",
    on: str = "",
    bound: bool = True,
    phase: str = "Pending",
    annotations: Labels | None = None,
    namespace: str = "default",
    deleted: str = "",
    version: str = "1",
    modes: Iterable[str] = ("ReadWriteOnce",),
    **spec: Any,
) -> PersistentVolumeClaim:
    """Build a claim of a class; `on` names its volume, to which it is bound unless that is denied."""
    marks = dict(annotations or {}) | ({BIND_COMPLETED: "yes"} if on and bound else {})
    return PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"uid-{name}",
            annotations=marks,
            deletion_timestamp=deleted,
            resource_version=version,
            owner_references=spec.pop("owner_references", ()),
        ),
        spec=PersistentVolumeClaimSpec(
            access_modes=tuple(modes),
            resources=ClaimResources(requests={} if size is None else {"storage": size}),
            volume_name=on,
            storage_class_name=of,
            **spec,
        ),
        status=PersistentVolumeClaimStatus(phase=phase),
    )


def volume(
    name: str = "volume",
    size: str = "1Gi",
    *,
    of: str = "fast",
    handle: str | None = "",
    zone: Iterable[str] = (),
    claimed: ObjectReference | None = None,
    phase: str = "Available",
    labels: Labels | None = None,
    annotations: Labels | None = None,
    deleted: str = "",
    version: str = "1",
    modes: Iterable[str] = ("ReadWriteOnce",),
    **spec: Any,
) -> PersistentVolume:
    """Build a volume of a class, by default one of CSI that anybody may take; `zone` says where it can be used."""
    term = NodeSelectorTerm(match_expressions=(SelectorRequirement(key=ZONE, operator="In", values=tuple(zone)),))
    affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
    source = None if handle is None else CsiSource(driver=DRIVER, volume_handle=handle or name)
    return PersistentVolume(
        metadata=ObjectMeta(
            name=name,
            labels=labels or {},
            annotations=annotations or {},
            deletion_timestamp=deleted,
            resource_version=version,
        ),
        spec=PersistentVolumeSpec(
            capacity={"storage": size},
            access_modes=tuple(modes),
            claim_ref=claimed,
            storage_class_name=of,
            csi=spec.pop("csi", source),
            node_affinity=spec.pop("node_affinity", affinity if zone else None),
            **spec,
        ),
        status=PersistentVolumeStatus(phase=phase),
    )


def disk(volume_id: str) -> Disk:
    """Build a disk that is named by an id."""
    return Disk(volume_id=volume_id)


def reference(name: str = "claim", uid: str | None = None, namespace: str = "default") -> ObjectReference:
    """Refer to a claim."""
    return ObjectReference(
        kind="PersistentVolumeClaim", namespace=namespace, name=name, uid=f"uid-{name}" if uid is None else uid
    )


def storage_class(
    name: str = "fast",
    provisioner: str = DRIVER,
    *,
    mode: str = WAITS_FOR_CONSUMER,
    topologies: Iterable[Mapping[str, Iterable[str]]] = (),
) -> StorageClass:
    """Build a class, by default one that waits for the first pod; each topology maps labels to their values."""
    terms = (
        TopologySelectorTerm(
            match_label_expressions=tuple(
                TopologySelectorRequirement(key=key, values=tuple(values)) for key, values in topology.items()
            )
        )
        for topology in topologies
    )
    return StorageClass(
        metadata=ObjectMeta(name=name),
        provisioner=provisioner,
        volume_binding_mode=mode,
        allowed_topologies=tuple(terms),
    )


def csi_node(name: str, limits: Mapping[str, int | None] | None = None, annotations: Labels | None = None) -> CsiNode:
    """Build a CSINode with its drivers and how many volumes each attaches, None for no limit."""
    drivers = tuple(
        CsiNodeDriver(name=driver, allocatable=VolumeNodeResources(count=count))
        for driver, count in (limits or {}).items()
    )
    return CsiNode(metadata=ObjectMeta(name=name, annotations=annotations or {}), spec=CsiNodeSpec(drivers=drivers))


def driver(name: str = DRIVER, *, capacity: bool = False, needed: bool = False) -> CsiDriver:
    """Build a CSIDriver; it may count its storage, and be needed on a node."""
    spec = CsiDriverSpec(storage_capacity=capacity, prevent_pod_scheduling_if_missing=needed)
    return CsiDriver(metadata=ObjectMeta(name=name), spec=spec)


def capacity(
    name: str, size: str | None, *, of: str = "fast", where: Labels | None = None, most: str | None = None
) -> CsiStorageCapacity:
    """Build a CSIStorageCapacity for the nodes with some labels."""
    return CsiStorageCapacity(
        metadata=ObjectMeta(name=name, namespace="kube-system"),
        node_topology=LabelSelector(match_labels=where or {}),
        storage_class_name=of,
        capacity=size,
        maximum_volume_size=most,
    )


def attachment(name: str, on: str, of: str | None, attacher: str = DRIVER) -> VolumeAttachment:
    """Build the attachment of a PersistentVolume to a node."""
    source = VolumeAttachmentSource(persistent_volume_name=of)
    return VolumeAttachment(
        metadata=ObjectMeta(name=name), spec=VolumeAttachmentSpec(attacher=attacher, node_name=on, source=source)
    )


def using(*claims: str) -> tuple[Volume, ...]:
    """Build a pod's volumes that use claims."""
    return tuple(
        Volume(name=f"v{index}", persistent_volume_claim=PersistentVolumeClaimSource(claim_name=name))
        for index, name in enumerate(claims)
    )
