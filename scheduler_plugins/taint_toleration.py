"""TaintToleration: keep off nodes with a hard taint the pod does not tolerate; prefer those with fewest soft ones."""

from cluster_model.objects import Toleration
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot, Taints
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import Scores, Verdict, cures
from scheduler_plugins.tolerations import tolerated

NAME = "TaintToleration"
UNTOLERATED = Reason("node(s) had untolerated taint(s)", cures(Event.NODE_ADD, Event.NODE_TAINT, Event.POD_TOLERATION))
HARD = ("NoSchedule", "NoExecute")
SOFT = "PreferNoSchedule"


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes with a hard taint that no toleration covers."""
    tolerations = pod.pod.spec.tolerations
    return snapshot.nodes.remembered((NAME, "check", tolerations), lambda: _check(tolerations, snapshot))


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows) -> Scores:
    """Count the soft taints that no toleration covers; the fewest is best after scaling."""
    soft = tuple(toleration for toleration in pod.pod.spec.tolerations if toleration.effect in ("", SOFT))
    return snapshot.nodes.remembered((NAME, "score", soft), lambda: _count(soft, snapshot)).take(rows)


def _check(tolerations: tuple[Toleration, ...], snapshot: Snapshot) -> Verdict | None:
    def untolerated(taints: Taints) -> bool:
        return any(taint.effect in HARD and not tolerated(tolerations, taint) for taint in taints)

    return Verdict.where(snapshot.nodes.taints.where(untolerated), UNTOLERATED)


def _count(soft: tuple[Toleration, ...], snapshot: Snapshot) -> Scores:
    def untolerated(taints: Taints) -> int:
        return sum(taint.effect == SOFT and not tolerated(soft, taint) for taint in taints)

    return snapshot.nodes.taints.measure(untolerated)
