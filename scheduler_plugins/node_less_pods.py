"""NodeLessPods: no more pods on a node than its kubelet takes; prefers the nodes with the fewest.

It looks at nothing but the number of pods: alone in a profile it lets a pod onto a node that lacks what it asks for.
"""

import numpy as np

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import MAX_SCORE, Scores, Verdict, cures

NAME = "NodeLessPods"
TOO_MANY_PODS = Reason("Too many pods", cures(Event.NODE_ADD, Event.NODE_ALLOCATABLE, Event.ASSIGNED_POD_DELETE))


def check(_: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes that are full by the number of pods."""
    return Verdict.where(snapshot.usage.pods >= snapshot.nodes.max_pods, TOO_MANY_PODS)


def score(_: PendingPod, snapshot: Snapshot, rows: Rows) -> Scores:
    """Score 100 for an empty node and one less for each pod on it, down to 0."""
    scores: Scores = np.maximum(MAX_SCORE - snapshot.usage.pods.take(rows), 0)
    return scores
