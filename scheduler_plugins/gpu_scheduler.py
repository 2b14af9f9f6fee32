"""GPUScheduler: a GPU pod needs a node with GPUs, and prefers those with the most memory per GPU.

A GPU pod is one that asks for any GPU resource: whole GPUs, shared ones, MIG slices or virtual ones. A node has GPUs if
it has any such resource allocatable; how much of which is left for NodeResourcesFit to compare.
"""

import numpy as np

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import Scores, Verdict, cures

NAME = "GPUScheduler"
NO_GPU = Reason("Node does not have GPU", cures(Event.NODE_ADD, Event.NODE_ALLOCATABLE, Event.POD_UPDATE))
MIB_PER_GIB = 1024


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes without GPUs."""
    if not pod.request.gpu.asks:
        return None
    nodes = snapshot.nodes
    return nodes.remembered((NAME, "check"), lambda: Verdict.where(~nodes.has_gpu, NO_GPU))


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows) -> Scores:
    """Score the memory of one GPU in whole GiB, 0 where unknown; 0 everywhere for a pod that asks for no GPU."""
    if not pod.request.gpu.asks:
        return np.zeros(len(rows), np.int64)
    nodes = snapshot.nodes
    gib = nodes.remembered((NAME, "score"), lambda: np.maximum(nodes.gpu_memory_mib, 0) // MIB_PER_GIB)
    return gib.take(rows)
