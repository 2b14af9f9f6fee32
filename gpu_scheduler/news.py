"""A change of the cluster as the queue hears of it, and the log of those that came while pods were being tried."""

from collections import Counter, deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cluster_model.verdict import Event
from gpu_scheduler.queued_pod import QueuedPod

IN_ORDER = {event: place for place, event in enumerate(Event)}
POPPED = "PodPopped"  # what kube-scheduler calls a pod in flight among the events


@dataclass(frozen=True, slots=True)
class News:
    """One event, and its object before and after; None where it was not there or is gone."""

    event: Event
    old: Any
    new: Any

    @classmethod
    def of(cls, events: Collection[Event], old: Any, new: Any) -> "Iterator[News]":
        """Split one change of an object into its events; what came has no past, and what went no future."""
        for event in events if len(events) < 2 else sorted(events, key=IN_ORDER.__getitem__):
            came, went = event.endswith("Add"), event.endswith("Delete")
            yield cls(event, None if came else old, None if went else new)


@dataclass(frozen=True, slots=True)
class _Entry:
    news: News
    target: QueuedPod | None  # the one pod that it is about; None: all


class Flights:
    """The pods that are being tried, and what has happened since each was popped."""

    def __init__(self) -> None:
        self._since: dict[QueuedPod, int] = {}  # by the time at which they were popped
        self._log: deque[_Entry] = deque()
        self._first = 0  # the number of the log's first entry
        self._forced: set[QueuedPod] = set()
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._since)

    def __contains__(self, queued: QueuedPod) -> bool:
        return queued in self._since

    def start(self, queued: QueuedPod) -> None:
        """Note that a pod is being tried from now on."""
        self._since[queued] = self._first + len(self._log)

    def end(self, queued: QueuedPod) -> bool:
        """Forget an attempt, with all that only it had to know; False where there was none."""
        if self._since.pop(queued, None) is None:
            return False
        self._forced.discard(queued)
        oldest = next(iter(self._since.values()), self._first + len(self._log))
        while self._first < oldest:
            self._counts[self._log.popleft().news.event] -= 1
            self._first += 1
        return True

    def note(self, news: News, target: QueuedPod | None = None) -> None:
        """Keep news for the attempts that it may concern."""
        if self._since:
            self._log.append(_Entry(news, target))
            self._counts[news.event] += 1

    def force(self, queued: QueuedPod) -> None:
        """Have a pod tried again whatever its attempt says."""
        if queued in self._since:
            self._forced.add(queued)

    def is_forced(self, queued: QueuedPod) -> bool:
        """Say whether that was asked for."""
        return queued in self._forced

    def missed(self, queued: QueuedPod) -> Iterator[News]:
        """Yield what happened since the pod was popped."""
        since = self._since.get(queued, self._first + len(self._log))
        for entry in islice(self._log, since - self._first, None):
            if entry.target is None or entry.target is queued:
                yield entry.news

    def counts(self) -> dict[str, int]:
        """Count what is kept by event, and the pods in flight."""
        return {POPPED: len(self._since), **{event: count for event, count in self._counts.items() if count}}
