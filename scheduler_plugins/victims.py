"""Which pods of one node would have to go for a pod, and which of several such nodes is the best. Evicts nobody."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cluster_model import budgets
from cluster_model.budgets import Budget
from cluster_model.pod import PendingPod
from cluster_model.verdict import Reason
from scheduler_plugins.framework import Rejection
from scheduler_plugins.trial import Trial

NAME = "DefaultPreemption"
NOBODY_WEAKER = Reason("No preemption victims found for incoming pod", frozenset())
NO_VICTIMS = Rejection(NAME, (NOBODY_WEAKER,))
LEAST_PRIORITY = -(2**31)  # sums count from here, so that many pods of negative priority do not weigh less than one
UNSTARTED = "~"  # later than any time: such a pod starts now

Preference: TypeAlias = tuple[int, int, int, int]


class NothingToEvict(Exception):
    """The pod fits where it was rejected although every pod stays: two verdicts contradict each other."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that would take the pod without some of its pods."""

    node: str
    victims: tuple[PendingPod, ...]  # most important first
    violations: int  # of budgets

    def preference(self) -> Preference:
        """Return what nodes are compared by, less is better; of equals the one whose victims started last is taken."""
        priorities = [_priority(victim) for victim in self.victims]
        total = sum(priority - LEAST_PRIORITY for priority in priorities)
        return self.violations, priorities[0], total, len(priorities)

    def started(self) -> str:
        """Return when the first of the most important victims started."""
        highest = _priority(self.victims[0])
        return min(_started(victim) for victim in self.victims if _priority(victim) == highest)


def best(candidates: Sequence[Candidate]) -> Candidate:
    """Choose one; of those that nothing tells apart the first."""
    least = min(candidate.preference() for candidate in candidates)
    return max((one for one in candidates if one.preference() == least), key=Candidate.started)


def lower(pod: PendingPod, others: Iterable[PendingPod]) -> list[PendingPod]:
    """Return the pods that a pod may evict."""
    return [other for other in others if _priority(other) < _priority(pod)]


def select(trial: Trial, evictable: list[PendingPod], protected: Iterable[Budget]) -> Candidate | Rejection:
    """Find the fewest and least important pods whose eviction lets the pod in, or say why none does.

    All that may go do so first. Then as many as possible come back, the most important first, and before the
    others those whose eviction a budget forbids.
    """
    rejection = trial.without(evictable)
    if rejection is not None:
        return rejection
    ordered = sorted(evictable, key=_importance)
    violating = budgets.violated((pod.pod for pod in ordered), protected)
    gone = _reprieved(trial, sorted(ordered, key=lambda pod: not violating[pod.pod.metadata.uid]))
    if not gone:
        raise NothingToEvict(f'expected at least one victim pod on node "{trial.name}"')
    victims = tuple(sorted(gone, key=_importance))
    return Candidate(trial.name, victims, sum(violating[pod.pod.metadata.uid] for pod in victims))


def _reprieved(trial: Trial, ordered: Iterable[PendingPod]) -> list[PendingPod]:
    """Return those that cannot stay, asked in this order."""
    gone = {pod.pod.metadata.uid: pod for pod in ordered}
    for uid in tuple(gone):
        back = gone.pop(uid)
        if trial.without(gone.values()) is not None:
            gone = {uid: back, **gone}
    return list(gone.values())


def _importance(pod: PendingPod) -> tuple[int, str, str]:
    # The UID stands last, so that the same victims follow from the same cluster.
    return -_priority(pod), _started(pod), pod.pod.metadata.uid


def _started(pod: PendingPod) -> str:
    return pod.pod.status.start_time or UNSTARTED


def _priority(pod: PendingPod) -> int:
    return pod.pod.spec.priority
