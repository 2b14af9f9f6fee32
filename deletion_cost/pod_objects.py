"""Pods and ReplicaSets as they arrive, holding only what scale-down looks at and who wrote the cost. Data only."""

import msgspec

from cluster_model.objects import ApiObject, Labels, LabelSelector, OwnerReference


class ManagedFieldsEntry(ApiObject, frozen=True):
    """What one writer owns; `fields_v1` is the set of field paths, in the API server's nested form."""

    manager: str = ""
    operation: str = ""
    time: str = ""
    subresource: str = ""
    fields_v1: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="fieldsV1")


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


class Container(ApiObject, frozen=True):
    name: str = ""
    restart_policy: str = ""


class PodSpec(ApiObject, frozen=True):
    node_name: str = ""
    init_containers: tuple[Container, ...] = ()


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


class ReplicaSetSpec(ApiObject, frozen=True):
    replicas: int = 1
    selector: LabelSelector | None = None


class ReplicaSet(ApiObject, frozen=True):
    """A ReplicaSet; of another API version too, whose selector then is none."""

    metadata: Meta = Meta()
    spec: ReplicaSetSpec = ReplicaSetSpec()
