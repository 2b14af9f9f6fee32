"""What is said of a pod before nodes are judged: that it fits nowhere, or which nodes alone are worth judging.

Plugins speak in profile order, with kube-scheduler's rules for its PreFilter. Judges no node.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import Filter, Narrowing, Rejection, Verdict


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The nodes that all plugins with a say leave, and who they are."""

    names: frozenset[str]
    plugins: tuple[str, ...]  # sorted
    cured_by: frozenset[Event]

    def join(self, plugin: str, other: Narrowing) -> "Narrowed":
        """Leave only what another plugin leaves too."""
        plugins = tuple(sorted({*self.plugins, plugin}))
        return Narrowed(self.names & other.names, plugins, self.cured_by | other.cured_by)

    def conflict(self) -> Rejection:
        """Refuse the pod, for which no node is left."""
        first, *others = self.plugins
        said = f"plugin(s) [{' '.join(self.plugins)}] simultaneously" if others else f"plugin {first}"
        return Rejection(first, (Reason(f"node(s) didn't satisfy {said}", self.cured_by),), tuple(others))

    def verdict(self, snapshot: Snapshot) -> Verdict | None:
        """Reject the nodes left out."""
        absent = np.ones(len(snapshot), np.bool_)
        absent[[snapshot.nodes.rows[name] for name in self.names if name in snapshot.nodes.rows]] = False
        said = f"node(s) didn't satisfy plugin(s) [{' '.join(self.plugins)}]"
        return Verdict.where(absent, Reason(said, self.cured_by))


def refusal(pod: PendingPod, snapshot: Snapshot, filters: Iterable[Filter]) -> Rejection | None:
    """Return why the pod fits nowhere. What eviction may cure leaves the later plugins their say; the last counts."""
    found: Rejection | None = None
    left: Narrowed | None = None
    for plugin in filters:
        reasons = plugin.refuse(pod, snapshot) if plugin.refuse is not None else ()
        if reasons:
            found = Rejection(plugin.name, reasons)
            if not all(reason.preemption_may_help for reason in reasons):
                return found
            continue
        left = _narrowed(left, plugin, pod)
        if left is not None and not left.names:
            return left.conflict()
    return found


def narrowed(pod: PendingPod, filters: Iterable[Filter]) -> Narrowed | None:
    """Return the nodes worth judging; None: all."""
    left: Narrowed | None = None
    for plugin in filters:
        left = _narrowed(left, plugin, pod)
    return left


def _narrowed(left: Narrowed | None, plugin: Filter, pod: PendingPod) -> Narrowed | None:
    found = plugin.narrow(pod) if plugin.narrow is not None else None
    if found is None:
        return left
    return Narrowed(found.names, (plugin.name,), found.cured_by) if left is None else left.join(plugin.name, found)
