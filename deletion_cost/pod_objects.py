"""Pods and ReplicaSets as they arrive, holding only what scale-down looks at and who wrote the cost. Data only."""

from typing import Any

import msgspec

from cluster_model import deletion_cost
from cluster_model.objects import ApiObject, Labels, LabelSelector, OwnerReference, ResourceRequirements


class OwnedAnnotations(ApiObject, frozen=True):
    """Whether a writer owns the cost; its other fields are most of a pod's bytes and are not kept."""

    cost: dict[str, Any] | None = msgspec.field(default=None, name=f"f:{deletion_cost.ANNOTATION}")


class OwnedMetadata(ApiObject, frozen=True):
    annotations: OwnedAnnotations | None = msgspec.field(default=None, name="f:annotations")


class OwnedFields(ApiObject, frozen=True):
    metadata: OwnedMetadata | None = msgspec.field(default=None, name="f:metadata")


class ManagedFieldsEntry(ApiObject, frozen=True):
    """What one writer owns, of which only the cost is read."""

    manager: str = ""
    operation: str = ""
    time: str = ""
    subresource: str = ""
    fields_v1: OwnedFields = msgspec.field(default=OwnedFields(), name="fieldsV1")

    @property
    def owns_cost(self) -> bool:
        """Whether this writer was the last to give the cost its value."""
        metadata = self.fields_v1.metadata
        return metadata is not None and metadata.annotations is not None and metadata.annotations.cost is not None


class Meta(ApiObject, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: Labels = {}
    annotations: Labels = {}
    owner_references: tuple[OwnerReference, ...] = ()
    managed_fields: tuple[ManagedFieldsEntry, ...] = ()

    @property
    def cost_writers(self) -> tuple[str, ...]:
        """Who owns the cost: nobody where a webhook wrote it, several where they applied the same value."""
        return tuple(entry.manager for entry in self.managed_fields if entry.owns_cost)


class ContainerPort(ApiObject, frozen=True):
    name: str = ""
    container_port: int = 0


class Container(ApiObject, frozen=True):
    name: str = ""
    restart_policy: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()


class PodSpec(ApiObject, frozen=True):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    resource_claims: tuple[dict[str, Any], ...] = ()


class Condition(ApiObject, frozen=True):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class ContainerStatus(ApiObject, frozen=True):
    name: str = ""
    restart_count: int = 0


class PodStatus(ApiObject, frozen=True):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(ApiObject, frozen=True):
    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class TemplateMeta(ApiObject, frozen=True):
    annotations: Labels = {}


class PodTemplate(ApiObject, frozen=True):
    metadata: TemplateMeta = TemplateMeta()


class ReplicaSetSpec(ApiObject, frozen=True):
    replicas: int = 1
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class ReplicaSet(ApiObject, frozen=True):
    """A ReplicaSet; of another API version too, whose selector then is none."""

    metadata: Meta = Meta()
    spec: ReplicaSetSpec = ReplicaSetSpec()
