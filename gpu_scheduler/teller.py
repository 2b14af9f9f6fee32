"""Tells the queue what a change of the cluster was, and how long the change took to handle. Reads no object."""

from collections.abc import Callable, Collection
from typing import Any

from cluster_model.verdict import Event
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.waiting_room import Only

Handled = Callable[[str, float], None]  # what happened, in kube-scheduler's words; seconds


class Teller:
    """The queue, with a clock beside it."""

    def __init__(self, queue: SchedulingQueue, now: Callable[[], float], handled: Handled) -> None:
        self.queue = queue
        self.now = now
        self._handled = handled

    def tell(
        self, began: float, events: Collection[Event], old: Any = None, new: Any = None, only: Only | None = None
    ) -> None:
        """Wake whom a change could help; `began` is when its handling did."""
        if events:
            self.queue.wake(events, old, new, only)
            self.note(began, *events)

    def note(self, began: float, *events: str) -> None:
        """Note how long something took to handle."""
        seconds = self.now() - began
        for event in events:
            self._handled(event, seconds)
