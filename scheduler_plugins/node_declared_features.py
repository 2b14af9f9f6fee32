"""NodeDeclaredFeatures: a pod that needs a feature of the kubelet needs a node that declares it.

What a pod needs follows from its spec, by the rules of k8s.io/component-helpers/nodedeclaredfeatures at 1.37.
"""

from collections.abc import Iterable

from cluster_model import objects
from cluster_model.objects import Container
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import Verdict, cures

NAME = "NodeDeclaredFeatures"
UNMET = Reason(
    "node(s) didn't match Pod's required features", cures(Event.NODE_ADD, Event.NODE_FEATURE, Event.POD_UPDATE)
)
RESTART_ALL = "RestartAllContainersOnContainerExits"
RESTART_ACTION = "RestartAllContainers"
USERS_ON_HOST_NETWORK = "UserNamespacesHostNetworkSupport"
BIND_MOUNT_OPTIONS = "VolumeBindMountOptions"


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes that do not declare every feature that the pod needs."""
    needed = required(pod.pod.spec)
    if not needed:
        return None
    nodes = snapshot.nodes
    return nodes.remembered(
        (NAME, needed), lambda: Verdict.where(nodes.features.where(lambda declared: not needed <= declared), UNMET)
    )


def required(spec: objects.PodSpec) -> frozenset[str]:
    """Name the features without which the pod cannot run as written."""
    containers = (*spec.containers, *spec.init_containers)
    found = {
        RESTART_ALL: _restarts_all(containers),
        USERS_ON_HOST_NETWORK: spec.host_network and spec.host_users is False,
        BIND_MOUNT_OPTIONS: any(mount.bind_mount_options for one in containers for mount in one.volume_mounts),
    }
    return frozenset(feature for feature, needed in found.items() if needed)


def _restarts_all(containers: Iterable[Container]) -> bool:
    return any(rule.action == RESTART_ACTION for one in containers for rule in one.restart_policy_rules)
