"""ImageLocality: prefer nodes that hold the pod's images already, the more so the larger and wider spread they are."""

from collections.abc import Iterator

import numpy as np

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.snapshot import NodeColumns, Rows, Snapshot
from scheduler_plugins.framework import MAX_SCORE, Scores

NAME = "ImageLocality"
MIB = 1 << 20
LEAST_BYTES = 23 * MIB  # less is not worth a difference
MOST_BYTES = 1000 * MIB  # of one image


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows) -> Scores:
    """Score the sum of the images' shares that a node holds, from the least to the most that counts."""
    names = tuple(_names(pod.pod.spec))
    return snapshot.nodes.remembered((NAME, names), lambda: _scores(names, snapshot.nodes)).take(rows)


def _names(spec: objects.PodSpec) -> Iterator[str]:
    """Yield the image of each container and each image volume, as a container runtime would name it."""
    for container in (*spec.init_containers, *spec.containers):
        yield _normalised(container.image)
    for volume in spec.volumes:
        if volume.image is not None:
            yield _normalised(volume.image.reference)


def _normalised(name: str) -> str:
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _scores(names: tuple[str, ...], nodes: NodeColumns) -> Scores:
    total = np.zeros(len(nodes.names), np.int64)
    if not names:
        return total
    for name in names:
        share = nodes.images.share_bytes(name)
        if share:
            total[nodes.images.holders(name)] += share
    most = MOST_BYTES * len(names)
    scores: Scores = MAX_SCORE * (total.clip(LEAST_BYTES, most) - LEAST_BYTES) // (most - LEAST_BYTES)
    return scores
