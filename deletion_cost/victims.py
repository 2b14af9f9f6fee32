"""The order in which Kubernetes' ReplicaSet controller deletes pods: all eight keys, as Kubernetes 1.37 compares them.

A pure function of the pods and the present time. It decides nothing of its own and knows no API.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import groupby
from typing import TypeAlias

BURST = 500  # deletions of one sync of the controller; it sorts afresh for the next
NANOSECONDS = 1_000_000_000

Key: TypeAlias = tuple[int, ...]

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}  # any other counts as Pending, as a missing key does in Go
_FINISHED = ("Succeeded", "Failed")
_LONGEST_NANOSECONDS = 2**63 - 1  # Go's longest duration, 292 years


@dataclass(frozen=True, slots=True)
class Standing:
    """What the controller looks at in one pod. Times are seconds since the epoch; None is a time that is not set."""

    name: str
    uid: str
    node: str = ""
    phase: str = "Running"
    is_ready: bool = True
    ready_since: int | None = None  # of a pod that is not ready: None
    cost: int = 0
    restarts: int = 0  # the most of one container
    sidecar_restarts: int = 0
    created: int | None = None
    is_terminating: bool = False

    @property
    def is_active(self) -> bool:
        """Whether the controller counts it at all."""
        return not self.is_terminating and self.phase not in _FINISHED


def in_order(pods: Iterable[Standing], related: Iterable[Standing], now_ns: int) -> tuple[Standing, ...]:
    """Return the active pods of one ReplicaSet, those deleted first in front.

    `related` are the pods that match the selector of any ReplicaSet with the same controller; none for a bare
    ReplicaSet or a ReplicationController. Pods that tie in all keys, which the real controller takes in any order, go
    by UID. Where keys 6 to 8 contradict one another in a circle (a later key is looked at for equal ready times only),
    the real order depends on chance too.
    """
    on_node = Counter(pod.node for pod in related if pod.is_active)
    first = sorted(
        ((_first_keys(pod, on_node[pod.node]), pod) for pod in pods if pod.is_active), key=lambda pair: pair[0]
    )
    ordered: list[Standing] = []
    for _, group in groupby(first, key=lambda pair: pair[0]):
        ordered += _by_age([pod for _, pod in group], now_ns)
    return tuple(ordered)


def next_victims(
    pods: Iterable[Standing], related: Iterable[Standing], count: int, now_ns: int
) -> tuple[Standing, ...]:
    """Return the `count` pods that go next if the ReplicaSet is scaled down by so many at once."""
    left, beside = [pod for pod in pods if pod.is_active], list(related)
    gone: list[Standing] = []
    while left and len(gone) < count:
        burst = in_order(left, beside, now_ns)[: min(BURST, count - len(gone))]
        taken = {pod.uid for pod in burst}
        left = [pod for pod in left if pod.uid not in taken]
        beside = [pod for pod in beside if pod.uid not in taken]
        gone += burst
    return tuple(gone)


def _first_keys(pod: Standing, rank: int) -> Key:
    """Keys 1 to 5: assigned, phase, ready, cost, how crowded its node is."""
    return (bool(pod.node), _PHASES.get(pod.phase, 0), pod.is_ready, pod.cost, -rank)


def _by_age(pods: list[Standing], now_ns: int) -> Sequence[Standing]:
    """Sort pods that tie in keys 1 to 5 by keys 6 to 8."""
    if len(pods) < 2:
        return pods
    if not pods[0].is_ready:
        return sorted(pods, key=lambda pod: (_last_keys(pod, now_ns), pod.uid))
    dated = sorted(
        ((_age_bucket(pod.ready_since, now_ns), pod) for pod in pods), key=lambda pair: (pair[0], pair[1].uid)
    )
    ordered: list[Standing] = []
    for _, group in groupby(dated, key=lambda pair: pair[0]):
        ordered += _of_one_ready_bucket([pod for _, pod in group], now_ns)
    return ordered


def _of_one_ready_bucket(pods: list[Standing], now_ns: int) -> Sequence[Standing]:
    """Sort, given in the order of UIDs: another ready time goes by UID, the same one by keys 7 and 8."""
    if len({pod.ready_since for pod in pods}) == len(pods):
        return pods
    keyed = [(pod, _last_keys(pod, now_ns)) for pod in pods]
    return [pod for pod, _ in sorted(keyed, key=cmp_to_key(_compare))]


def _compare(one: tuple[Standing, Key], other: tuple[Standing, Key]) -> int:
    (a, a_last), (b, b_last) = one, other
    if a.ready_since == b.ready_since and a_last != b_last:
        return -1 if a_last < b_last else 1
    return (a.uid > b.uid) - (a.uid < b.uid)


def _last_keys(pod: Standing, now_ns: int) -> Key:
    """Keys 7 and 8: more restarts, then younger."""
    return (-pod.restarts, -pod.sidecar_restarts, _age_bucket(pod.created, now_ns))


def _age_bucket(moment: int | None, now_ns: int) -> int:
    """Return the power of two that the age in nanoseconds reaches; -1 in the future, -2 where there is no time.

    In floating point, as the controller does: a hair below a power of two it is rounded up.
    """
    if moment is None:
        return -2
    age = min(now_ns - moment * NANOSECONDS, _LONGEST_NANOSECONDS)
    if age <= 0:
        return -1
    fraction, exponent = math.frexp(age)
    return exponent - 1 if fraction == 0.5 else int(math.log(fraction) * (1 / math.log(2)) + exponent)
