"""The API objects of storage as they arrive, holding only the fields that the product uses. Data only."""

from cluster_model.objects import (
    ApiObject,
    Disk,
    LabelSelector,
    NodeSelector,
    ObjectMeta,
    Quantity,
    Resources,
)

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
WAITS_FOR_CONSUMER = "WaitForFirstConsumer"
FILESYSTEM = "Filesystem"


class ObjectReference(ApiObject, frozen=True):
    kind: str = ""
    api_version: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class CsiSource(ApiObject, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(ApiObject, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(ApiObject, frozen=True):
    capacity: Resources = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str = FILESYSTEM
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiSource | None = None
    gce_persistent_disk: Disk | None = None
    aws_elastic_block_store: Disk | None = None
    azure_disk: Disk | None = None
    cinder: Disk | None = None
    portworx_volume: Disk | None = None


class PersistentVolumeStatus(ApiObject, frozen=True):
    phase: str = ""


class PersistentVolume(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()

    @property
    def class_name(self) -> str:
        """The StorageClass; the old annotation comes first."""
        return self.metadata.annotations.get(BETA_CLASS, self.spec.storage_class_name)


class ClaimResources(ApiObject, frozen=True):
    requests: Resources = {}


class PersistentVolumeClaimSpec(ApiObject, frozen=True):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ClaimResources = ClaimResources()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str = FILESYSTEM
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(ApiObject, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def class_name(self) -> str:
        """The StorageClass, empty if none is named; the old annotation comes first."""
        return self.metadata.annotations.get(BETA_CLASS, self.spec.storage_class_name or "")

    @property
    def fully_bound(self) -> bool:
        """Whether the volume controller has finished with it."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.metadata.annotations


class TopologySelectorRequirement(ApiObject, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(ApiObject, frozen=True):
    match_label_expressions: tuple[TopologySelectorRequirement, ...] = ()


class StorageClass(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str = ""
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(ApiObject, frozen=True):
    count: int | None = None


class CsiNodeDriver(ApiObject, frozen=True):
    name: str = ""
    allocatable: VolumeNodeResources = VolumeNodeResources()


class CsiNodeSpec(ApiObject, frozen=True):
    drivers: tuple[CsiNodeDriver, ...] | None = None  # which is what the API server writes where there is none


class CsiNode(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(ApiObject, frozen=True):
    storage_capacity: bool = False
    prevent_pod_scheduling_if_missing: bool = False


class CsiDriver(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class VolumeAttachmentSource(ApiObject, frozen=True):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(ApiObject, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
