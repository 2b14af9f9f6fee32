"""SpotScheduler: pods that can do with spot nodes prefer them, all others prefer on-demand ones.

A pod can where it tolerates a taint of spot nodes, unless its annotation says otherwise. Only a pod that demands one of
the two by annotation is kept off the other.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from cluster_model import capacity_type, objects
from cluster_model.capacity_type import SPOT_MARKS, Capacity, Mark
from cluster_model.columns import Mask, sealed
from cluster_model.pod import PendingPod
from cluster_model.snapshot import NodeColumns, Rows, Snapshot
from cluster_model.verdict import Event, Problem, Reason
from scheduler_plugins import plugin_args
from scheduler_plugins.framework import MAX_SCORE, Scores, Verdict, cures

NAME = "SpotScheduler"
OTHER_CAPACITY = Reason(
    "node(s) didn't match the requested capacity type",
    cures(Event.NODE_ADD, Event.NODE_LABEL, Event.NODE_TAINT, Event.POD_UPDATE),
)


class Args(plugin_args.Args, frozen=True):
    """`spotMarks` names labels and taints of spot nodes as key=value, beside those of the clouds."""

    spot_marks: tuple[str, ...] = ()

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield marks without a key or a value."""
        for index, text in enumerate(self.spot_marks):
            if not all(_mark(text)):
                yield Problem(f"{path}.spotMarks[{index}]", text, 'must be key=value, such as "example.com/pool=spot"')

    @property
    def marks(self) -> frozenset[Mark]:
        """All marks of spot nodes."""
        return SPOT_MARKS.union(map(_mark, self.spot_marks))


def check(pod: PendingPod, snapshot: Snapshot, marks: frozenset[Mark]) -> Verdict | None:
    """Reject the nodes of the kind that the pod does not demand, if it demands one."""
    demanded, nodes = pod.request.capacity, snapshot.nodes
    if demanded in (None, Capacity.ANY):
        return None
    return nodes.remembered((NAME, demanded, marks), lambda: _judge(nodes, marks, demanded is Capacity.SPOT))


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows, marks: frozenset[Mark]) -> Scores | None:
    """Score 100 for nodes of the preferred kind, 0 for the others; a pod to which any will do is skipped."""
    wanted = preferred(pod, marks)
    if wanted is Capacity.ANY:
        return None
    spot = _spot(snapshot.nodes, marks).take(rows)
    return np.where(spot == (wanted is Capacity.SPOT), np.int64(MAX_SCORE), np.int64(0))


def preferred(pod: PendingPod, marks: frozenset[Mark]) -> Capacity:
    """Return what the pod's annotation says, else spot for one that tolerates it."""
    if pod.request.capacity is not None:
        return pod.request.capacity
    tolerates = capacity_type.tolerates_spot(pod.pod.spec.tolerations, marks)
    return Capacity.SPOT if tolerates else Capacity.ON_DEMAND


def _judge(nodes: NodeColumns, marks: frozenset[Mark], wants_spot: bool) -> Verdict | None:
    spot = _spot(nodes, marks)
    return Verdict.where(~spot if wants_spot else spot, OTHER_CAPACITY)


def _spot(nodes: NodeColumns, marks: frozenset[Mark]) -> Mask:
    """Mark the spot nodes: by a label, or by a taint."""
    return nodes.remembered((NAME, marks), lambda: _marked(nodes, marks))


def _marked(nodes: NodeColumns, marks: frozenset[Mark]) -> Mask:
    def tainted(taints: Iterable[objects.Taint]) -> bool:
        return any((taint.key, taint.value) in marks for taint in taints)

    found = nodes.taints.where(tainted)
    for key, value in marks:
        found |= nodes.label(key).among((value,))
    return sealed(found)


def _mark(text: str) -> Mark:
    key, _, value = text.partition("=")
    return key, value
