"""NodeResourcesFit, the filter: room for one more pod and for every resource it asks for. Says all that is short."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cluster_model.columns import Mask
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.fit_args import FitArgs
from scheduler_plugins.framework import ReasonSet, Verdict, code_type, cures

NODE = cures(Event.NODE_ADD, Event.NODE_ALLOCATABLE, Event.POD_SCALE_DOWN)
POD_LEFT = cures(Event.ASSIGNED_POD_DELETE, Event.ASSIGNED_POD_SCALE_DOWN)
TOO_MANY_PODS = Reason("Too many pods", NODE | POD_LEFT)
STATES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Shortage:
    """One resource that some node is short of: where, and where even an empty node would be."""

    resource: str
    short: Mask  # [node]
    hopeless: Mask  # [node]

    def reasons(self, state: int) -> ReasonSet:
        """Return what to say of a node: nothing in state 0, short now in 1, short for ever in 2."""
        if not state:
            return ()
        return (Reason(f"Insufficient {self.resource}", NODE if state > 1 else NODE | POD_LEFT),)


def check(pod: PendingPod, snapshot: Snapshot, args: FitArgs) -> Verdict | None:
    """Reject the nodes that lack room, each with everything it lacks."""
    full = snapshot.usage.pods >= snapshot.nodes.max_pods
    shortages = tuple(_shortages(pod.request.resources, snapshot, args))
    if not shortages:
        return Verdict.where(full, TOO_MANY_PODS)
    codes: Rows = full.astype(np.intp)
    sets: tuple[ReasonSet, ...] = ((), (TOO_MANY_PODS,))
    for shortage in shortages:
        codes, sets = _joined(codes, sets, shortage)
    return Verdict(codes.astype(code_type(len(sets) - 1)), sets[1:])


def _shortages(asked: Mapping[str, int], snapshot: Snapshot, args: FitArgs) -> Iterator[Shortage]:
    for resource, amount in asked.items():
        if amount <= 0 or args.ignores(resource):
            continue
        allocatable = snapshot.allocatable(resource)
        short = allocatable - snapshot.requested(resource) < amount
        if short.any():
            yield Shortage(resource, short, allocatable < amount)


def _joined(codes: Rows, sets: tuple[ReasonSet, ...], shortage: Shortage) -> tuple[Rows, tuple[ReasonSet, ...]]:
    """Add one shortage to every node's set and number anew the sets that occur; the empty one stays 0."""
    states = STATES * codes + shortage.short + shortage.hopeless
    occurs = np.bincount(states) > 0
    occurs[0] = True
    numbers = np.cumsum(occurs) - 1
    kept = [divmod(int(state), STATES) for state in np.flatnonzero(occurs)]
    return numbers.take(states), tuple(sets[before] + shortage.reasons(state) for before, state in kept)
