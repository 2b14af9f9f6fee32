"""The contract of a hint: the events that matter to pods which a plugin rejected, and who judges them."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from cluster_model import objects
from cluster_model.label_selectors import Selector
from cluster_model.pod import PendingPod
from cluster_model.pod_changes import OF_ASSIGNED, OF_WAITING, asks_otherwise
from cluster_model.verdict import Event


class Hint(StrEnum):
    """What a change means for a pod that waits; the values are the labels of kube-scheduler's metric."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"
    ERROR = "Error"  # it cannot be judged: better to try the pod again


# The pod that waits, the object before the change and after it; None where it was not there, or is gone. A pod comes
# as PendingPod, a node as NodeRecord, all else as the API object.
Judge: TypeAlias = Callable[[PendingPod, Any, Any], Hint]
Reads: TypeAlias = Callable[[PendingPod], Hashable]
OwnersOf: TypeAlias = Callable[[objects.Pod], Selector]  # what the Services and controllers of a pod select together


def nothing(_: PendingPod) -> Hashable:
    """Read nothing of the pod."""
    return ()


@dataclass(frozen=True, slots=True)
class Interest:
    """Events with their judges; `reads` is all that these read of the pod, so that pods alike in it share an answer."""

    judges: Mapping[Event, Judge]
    reads: Reads = nothing
    concerns: Callable[[Any, Any], bool] | None = None  # False of a change: no pod need be asked, it helps nobody


Interests: TypeAlias = tuple[Interest, ...]


def when(worth_a_try: bool) -> Hint:
    """Turn a yes or no into a hint."""
    return Hint.QUEUE if worth_a_try else Hint.SKIP


def always(_pod: PendingPod, _old: Any, _new: Any) -> Hint:
    """Hold any such change for a cure."""
    return Hint.QUEUE


def never(_pod: PendingPod, _old: Any, _new: Any) -> Hint:
    """Hold no such change for a cure; the plugin only has to hear of it."""
    return Hint.SKIP


def if_it_asks_otherwise(_pod: PendingPod, old: PendingPod, new: PendingPod) -> Hint:
    """Try a pod again of which something changed that a verdict may rest on: our own conditions must not count."""
    return when(asks_otherwise(old, new))


def of_cures(cures: Iterable[Event]) -> Interest:
    """Take the events that a plugin's reasons name at their word. A plain update stands for every kind of update."""
    judges: dict[Event, Judge] = {}
    for event in cures:
        if event is Event.POD_UPDATE:
            judges |= dict.fromkeys(OF_WAITING, if_it_asks_otherwise)
        elif event is Event.ASSIGNED_POD_UPDATE:
            judges |= dict.fromkeys(OF_ASSIGNED, always)
    named = frozenset(cures)
    return Interest({**dict.fromkeys(named - judges.keys(), always), **judges}, lambda _: named)
