"""NodeUnschedulable: keep off cordoned nodes, unless the pod tolerates the cordon's taint."""

from cluster_model.objects import Taint
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import Verdict, cures
from scheduler_plugins.tolerations import tolerated

NAME = "NodeUnschedulable"
UNSCHEDULABLE = Reason("node(s) were unschedulable", cures(Event.NODE_ADD, Event.NODE_TAINT, Event.POD_TOLERATION))
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the cordoned nodes."""
    if tolerated(pod.pod.spec.tolerations, CORDON):
        return None
    nodes = snapshot.nodes
    return nodes.remembered((NAME, "check"), lambda: Verdict.where(nodes.unschedulable, UNSCHEDULABLE))
