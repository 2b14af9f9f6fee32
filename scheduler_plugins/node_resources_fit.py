"""NodeResourcesFit, the filter: room for one more pod and for every resource it asks for. Says all that is short."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cluster_model.columns import Amounts, Mask
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.fit_args import FitArgs
from scheduler_plugins.framework import Codes, ReasonSet, Verdict, code_type, cures

NODE = cures(Event.NODE_ADD, Event.NODE_ALLOCATABLE, Event.POD_UPDATE)
POD_LEFT = cures(Event.ASSIGNED_POD_DELETE, Event.ASSIGNED_POD_UPDATE)
TOO_MANY_PODS = Reason("Too many pods", NODE | POD_LEFT)


@dataclass(frozen=True, slots=True, eq=False)
class Shortage:
    """One resource that some node is short of: where, and where even an empty node would be."""

    resource: str
    short: Mask  # [node]
    hopeless: Mask  # [node]

    def reason(self, state: int) -> Reason:
        """Return the reason for a state above 0: 1 is short now, 2 is short for ever."""
        return Reason(f"Insufficient {self.resource}", NODE if state > 1 else NODE | POD_LEFT)


def check(pod: PendingPod, snapshot: Snapshot, args: FitArgs) -> Verdict | None:
    """Reject the nodes that lack room, each with everything it lacks."""
    full = snapshot.usage.pods >= snapshot.nodes.max_pods
    shortages = tuple(_shortages(pod.request.resources, snapshot, args))
    if not shortages:
        return Verdict.where(full, TOO_MANY_PODS) if full.any() else None
    # A mixed-base number per node: the lowest digit for the pods, then one for each shortage.
    states = full.astype(np.int64)
    for place, shortage in enumerate(shortages):
        states += (shortage.short.view(np.int8) + shortage.hopeless.view(np.int8)) * np.int64(2 * 3**place)
    return _numbered(states, shortages)


def _shortages(asked: Mapping[str, int], snapshot: Snapshot, args: FitArgs) -> Iterator[Shortage]:
    for resource, amount in asked.items():
        if amount <= 0 or args.ignores(resource):
            continue
        allocatable = snapshot.allocatable(resource)
        short = allocatable - snapshot.requested(resource) < amount
        if short.any():
            yield Shortage(resource, short, allocatable < amount)


def _numbered(states: Amounts, shortages: tuple[Shortage, ...]) -> Verdict:
    """Give each combination that occurs a code of its own, 0 to the one without any."""
    found, inverse = np.unique(np.append(states, 0), return_inverse=True)
    codes: Codes = inverse[:-1].astype(code_type(len(found) - 1))
    return Verdict(codes, tuple(_spelled(int(state), shortages) for state in found[1:]))


def _spelled(state: int, shortages: tuple[Shortage, ...]) -> ReasonSet:
    state, full = divmod(state, 2)
    reasons = [TOO_MANY_PODS] if full else []
    for shortage in shortages:
        state, digit = divmod(state, 3)
        if digit:
            reasons.append(shortage.reason(digit))
    return tuple(reasons)
