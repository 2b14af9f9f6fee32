"""Whether a pod would fit on one node if some pods were not there: the profile's own filters on a supposed cluster.

Pods of at least the same priority that wait for room on the node hold it: the pod must fit with them and without them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cluster_model.pod import PendingPod
from cluster_model.snapshot import NodeColumns, Rows, Snapshot
from cluster_model.state import ClusterState
from scheduler_plugins.framework import FITS, Filter, Profile, ReasonSet, Rejection


@dataclass(frozen=True, slots=True)
class Trial:
    """One pod on one node, with what does not change from one supposition to the next."""

    pod: PendingPod
    state: ClusterState
    name: str
    row: Rows  # [1]
    columns: NodeColumns  # of that row
    waiting: tuple[PendingPod, ...]  # others that hold their room there
    filters: tuple[Filter, ...]  # those that look at the pod

    @classmethod
    def on(cls, pod: PendingPod, state: ClusterState, profile: Profile, node: str) -> "Trial":
        """Prepare for a node."""
        nodes = state.snapshot().nodes
        row = np.array([nodes.rows[node]], np.intp)
        waiting = state.nominations.holding(node, pod)
        # Only those who wait bring in what a plugin that skips the pod would see.
        asked = (
            tuple(plugin for plugin in profile.filters if not _skips(plugin, pod, state))
            if waiting
            else profile.filters
        )
        return cls(pod, state, node, row, nodes.take(row), waiting, asked)

    def without(self, gone: Iterable[PendingPod]) -> Rejection | None:
        """Say why the pod would not fit without some pods of the node; None if it would."""
        gone = tuple(gone)
        if self.waiting:
            found = self._judged(self.state.supposing(gone, ((pod, self.name) for pod in self.waiting)))
            if found is not None:
                return found
        return self._judged(self.state.supposing(gone))

    def _judged(self, supposed: Snapshot) -> Rejection | None:
        alone = replace(
            supposed,
            nodes=self.columns,
            usage=supposed.usage.take(self.row),
            pods=supposed.pods.take(self.row),
            storage=supposed.storage.take(self.row),
        )
        for plugin in self.filters:
            reasons = self._reasons(plugin, supposed, alone)
            if reasons:
                return Rejection(plugin.name, reasons)
        return None

    def _reasons(self, plugin: Filter, supposed: Snapshot, alone: Snapshot) -> ReasonSet:
        if plugin.run is None:
            return ()
        # What is true of a node alone needs no look at the others.
        seen, place = (alone, 0) if plugin.row_local else (supposed, int(self.row[0]))
        verdict = plugin.run(self.pod, seen)
        code = FITS if verdict is None else int(verdict.codes[place])
        return () if verdict is None or code == FITS else verdict.table[code - 1]


def _skips(plugin: Filter, pod: PendingPod, state: ClusterState) -> bool:
    return plugin.skips is not None and plugin.skips(pod, state.snapshot())
