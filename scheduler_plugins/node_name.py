"""NodeName: a pod that names its node goes nowhere else."""

import numpy as np

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import Narrowing, Verdict, cures

CURES = cures(Event.NODE_ADD)
OTHER_NODE = Reason("node(s) didn't match the requested node name", CURES)


def narrow(pod: PendingPod) -> Narrowing | None:
    """Leave out all nodes but the one that the pod names."""
    wanted = pod.pod.spec.node_name
    return Narrowing(frozenset({wanted}), CURES) if wanted else None


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject every node but the one that the pod names."""
    wanted = pod.pod.spec.node_name
    if not wanted:
        return None
    elsewhere = np.ones(len(snapshot), np.bool_)
    row = snapshot.nodes.rows.get(wanted)
    if row is not None:
        elsewhere[row] = False
    return Verdict.where(elsewhere, OTHER_NODE)
