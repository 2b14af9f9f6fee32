"""AZScheduler: balance the pods of one controller over the zones; a pod without a controller is left to the others.

It scores only. A node's zone is the first of the zone labels that it has.
"""

from collections.abc import Iterator

import numpy as np

from cluster_model import pod_counts
from cluster_model.interning import Interned
from cluster_model.pod import PendingPod
from cluster_model.pod_counts import Owned
from cluster_model.snapshot import NodeColumns, Rows, Snapshot
from cluster_model.verdict import Problem
from scheduler_plugins import plugin_args, topology
from scheduler_plugins.framework import MAX_SCORE, Scores
from scheduler_plugins.topology import Domains

NAME = "AZScheduler"
IGNORED = -1  # the score of a node without a zone
# The label of today and the one before it, which all clouds set, then AWS' name that is the same in all accounts.
ZONE_KEYS = (topology.ZONE, "failure-domain.beta.kubernetes.io/zone", "topology.k8s.aws/zone-id")


class Args(plugin_args.Args, frozen=True):
    """`zoneKeys` are the labels that name a node's zone, the first that a node has counts."""

    zone_keys: tuple[str, ...] = ZONE_KEYS

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield a list that names no label."""
        if not self.zone_keys or not all(self.zone_keys):
            yield Problem(f"{path}.zoneKeys", ", ".join(self.zone_keys), "must name labels")


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows, keys: tuple[str, ...]) -> Scores | None:
    """Count the pods of the same controller in each node's zone; the fewest is best after scaling."""
    owner = pod_counts.controller(pod.pod.metadata)
    zones = _zones(snapshot.nodes, keys)
    if not owner or not zones.present.any():
        return None
    held = zones.sums(snapshot.pods.matching(Owned(owner))).astype(np.int64)
    return np.where(zones.present, held.take(zones.numbers), IGNORED).take(rows)


def normalise(scores: Scores) -> Scores:
    """Give 100 to the zones with the fewest such pods, 0 to those with the most and to nodes in no zone."""
    zoned = scores != IGNORED
    if not zoned.any():
        return np.zeros_like(scores)
    highest, lowest = int(scores.max()), int(scores[zoned].min())
    if highest == lowest:
        return np.where(zoned, np.int64(MAX_SCORE), np.int64(0))
    return np.where(zoned, (highest - scores) * MAX_SCORE // (highest - lowest), 0)


def _zones(nodes: NodeColumns, keys: tuple[str, ...]) -> Domains:
    return nodes.remembered((NAME, keys), lambda: topology.named(_first_of(nodes, keys)))


def _first_of(nodes: NodeColumns, keys: tuple[str, ...]) -> Interned[str | None]:
    """Return the column of the first label that each node has."""
    if len(keys) == 1 or nodes.label(keys[0]).places.get(None) is None:
        return nodes.label(keys[0])
    return Interned.of(next((labels[key] for key in keys if key in labels), None) for labels in nodes.label_sets)
