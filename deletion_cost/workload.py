"""A ReplicaSet as users know it: its name, its policy, and how its pods are read. Pure."""

from dataclasses import dataclass

from cluster_model import quantity
from cluster_model.objects import OwnerReference, Resources
from cluster_model.verdict import Problem
from deletion_cost import policy, standings
from deletion_cost.pod_objects import Pod, ReplicaSet
from deletion_cost.policy import PORT_NAME, Policy
from deletion_cost.source import Target

SIDECAR = "Always"


@dataclass(frozen=True, slots=True)
class Workload:
    """One ReplicaSet's answers to everything that is the same for all its pods."""

    replica_set: ReplicaSet
    owner: OwnerReference  # what users know: the Deployment, or the bare ReplicaSet itself
    policy: Policy
    problems: tuple[Problem, ...] = ()

    @property
    def namespace(self) -> str:
        return self.replica_set.metadata.namespace

    @property
    def name(self) -> str:
        return self.owner.name


def read(replica_set: ReplicaSet, default: Policy, sources: frozenset[str]) -> Workload:
    """Read a ReplicaSet; a wrong annotation leads to the default policy and a problem to tell."""
    meta = replica_set.metadata
    owner = standings.controller(meta)
    if owner is None:
        owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name=meta.name, uid=meta.uid)
    reading = policy.read(replica_set.spec.template.metadata.annotations, default, sources)
    return Workload(replica_set, owner, reading.policy, reading.problems)


def target(workload: Workload, pod: Pod) -> Target | None:
    """Say how a pod is read; None where nothing can be asked."""
    policy_ = workload.policy
    port = _port(pod, policy_.port) if policy_.source == "endpoint" else 0
    if policy_.source == "none" or (policy_.source == "endpoint" and not (port and pod.status.pod_ip)):
        return None
    requested = requested_cpu_milli(pod) if policy_.source == "metrics" else 0
    if policy_.source == "metrics" and not requested:
        return None
    meta = pod.metadata
    return Target(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        ip=pod.status.pod_ip,
        workload=workload.name,
        requested_cpu_milli=requested,
        port=port,
        path=policy_.path,
        query=policy_.query,
    )


def requested_cpu_milli(pod: Pod) -> int:
    """Add up the CPU that a running pod requests: its own figure, else its containers' and sidecars'."""
    own = _cpu(pod.spec.resources.requests)
    if own:
        return own
    running = [*pod.spec.containers, *(one for one in pod.spec.init_containers if one.restart_policy == SIDECAR)]
    return sum(_cpu(one.resources.requests) for one in running)


def _cpu(requests: Resources) -> int:
    try:
        return quantity.milli(quantity.parse(requests["cpu"])) if "cpu" in requests else 0
    except ValueError:
        return 0


def _port(pod: Pod, wished: str) -> int:
    """Find the port by number or name; 0 where the pod has none of that name."""
    if wished.isdigit():
        return int(wished)
    name = wished or PORT_NAME
    beside = (one for one in pod.spec.init_containers if one.restart_policy == SIDECAR)
    ports = (port for one in (*pod.spec.containers, *beside) for port in one.ports if port.name == name)
    return next((port.container_port for port in ports), 0)
