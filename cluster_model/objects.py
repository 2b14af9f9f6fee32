"""The Kubernetes API objects as they arrive, holding only the fields that the product uses.

Everything here is data: no defaults are filled in beyond an absent field's zero value, nothing is interpreted.
Unknown fields are skipped while decoding, so a newer API server does no harm.
"""

from typing import Any

import msgspec

Quantity = str | int | float
Labels = dict[str, str]
Resources = dict[str, Quantity]


class ApiObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False, omit_defaults=True):
    """Base of all structs here: immutable, camelCase on the wire, absent fields at their default."""


class OwnerReference(ApiObject, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(ApiObject, frozen=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: Labels = {}
    annotations: Labels = {}
    owner_references: tuple[OwnerReference, ...] = ()


class ResourceClaimUse(ApiObject, frozen=True):
    name: str = ""
    request: str = ""


class ResourceRequirements(ApiObject, frozen=True):
    limits: Resources = {}
    requests: Resources = {}
    claims: tuple[ResourceClaimUse, ...] = ()


class ContainerPort(ApiObject, frozen=True):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class EnvVar(ApiObject, frozen=True):
    name: str = ""
    value: str = ""


class ContainerRestartRule(ApiObject, frozen=True):
    action: str = ""


class VolumeMount(ApiObject, frozen=True):
    bind_mount_options: tuple[str, ...] = ()


class Container(ApiObject, frozen=True):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    env: tuple[EnvVar, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class Toleration(ApiObject, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class SelectorRequirement(ApiObject, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(ApiObject, frozen=True):
    match_expressions: tuple[SelectorRequirement, ...] = ()
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(ApiObject, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(ApiObject, frozen=True):
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiObject, frozen=True):
    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class LabelSelector(ApiObject, frozen=True):
    match_labels: Labels = {}
    match_expressions: tuple[SelectorRequirement, ...] = ()


class PodAffinityTerm(ApiObject, frozen=True):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(ApiObject, frozen=True):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(ApiObject, frozen=True):
    """Pod affinity or anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(ApiObject, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(ApiObject, frozen=True):
    topology_key: str = ""
    when_unsatisfiable: str = ""
    max_skew: int = 0
    label_selector: LabelSelector | None = None
    min_domains: int = 1
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()


class SchedulingGate(ApiObject, frozen=True):
    name: str = ""


class PodResourceClaim(ApiObject, frozen=True):
    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PersistentVolumeClaimSource(ApiObject, frozen=True):
    claim_name: str = ""


class ImageVolumeSource(ApiObject, frozen=True):
    reference: str = ""


class Disk(ApiObject, frozen=True):
    """A volume that stands in a pod, or of one of the kinds built into Kubernetes; each has some of these fields."""

    pd_name: str = ""
    volume_id: str = msgspec.field(default="", name="volumeID")
    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str = ""
    iqn: str = ""
    monitors: tuple[str, ...] = ()
    pool: str = ""
    image: str = ""
    driver: str = ""
    read_only: bool = False


class Volume(ApiObject, frozen=True):
    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: dict[str, Any] | None = None
    image: ImageVolumeSource | None = None
    gce_persistent_disk: Disk | None = None
    aws_elastic_block_store: Disk | None = None
    azure_disk: Disk | None = None
    cinder: Disk | None = None
    portworx_volume: Disk | None = None
    iscsi: Disk | None = None
    rbd: Disk | None = None
    csi: Disk | None = None


class PodOS(ApiObject, frozen=True):
    name: str = ""


class PodSpec(ApiObject, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    priority: int = 0
    preemption_policy: str = ""
    node_selector: Labels = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Resources = {}
    resources: ResourceRequirements = ResourceRequirements()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    runtime_class_name: str = ""
    host_network: bool = False
    host_users: bool | None = None
    os: PodOS = PodOS()


class PodCondition(ApiObject, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class ContainerStatus(ApiObject, frozen=True):
    name: str = ""
    allocated_resources: Resources | None = None
    resources: ResourceRequirements | None = None


class PodStatus(ApiObject, frozen=True):
    phase: str = ""
    start_time: str = ""
    nominated_node_name: str = ""
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: Resources | None = None
    resources: ResourceRequirements | None = None


class Pod(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Taint(ApiObject, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(ApiObject, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeCondition(ApiObject, frozen=True):
    type: str = ""
    status: str = ""


class ContainerImage(ApiObject, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(ApiObject, frozen=True):
    allocatable: Resources = {}
    capacity: Resources = {}
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
