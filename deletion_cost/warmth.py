"""Whether a pod is warm: counted on the controller's own clock from the moment it is seen Ready. Pure.

The clocks of nodes are not trusted. A restart, or a time in which the pod is not Ready, begins the warm-up anew: the
cost outlives a container, its caches do not.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a pod must be Ready without a break, and after which time it need not any more."""

    warmup_seconds: float
    longest_seconds: float


@dataclass(slots=True)
class Warmth:
    """One pod's state. `cold_since` is None while it is warm."""

    restarts: int
    ready_since: float | None
    cold_since: float | None
    # It was warm, or a container of it has restarted: its cost, if it has one, says something else than cold.
    again: bool = False

    @classmethod
    def first_seen(cls, now: float, ready: bool, restarts: int, marked_cold: bool) -> "Warmth":
        """Begin with a pod; one that is Ready and not marked as cold was warm before we came."""
        if ready and not marked_cold:
            return cls(restarts, now, None)
        return cls(restarts, now if ready else None, now)

    @property
    def cold(self) -> bool:
        return self.cold_since is not None

    def see(self, now: float, ready: bool, restarts: int) -> bool:
        """Take a newer state of the pod; tell whether anything changed."""
        restarted, self.restarts = restarts > self.restarts, restarts
        gap = not ready and self.ready_since is not None
        if not (restarted or gap):
            if ready and self.ready_since is None:
                self.ready_since = now
                return True
            return False
        self.ready_since = now if ready else None
        self.again = self.again or restarted or not self.cold
        if self.cold_since is None:
            self.cold_since = now
        return True

    def due(self, terms: Terms) -> float | None:
        """Say when the pod will be warm if nothing happens to it; None where that cannot be said."""
        if self.ready_since is None or self.cold_since is None:
            return None
        return min(self.ready_since + terms.warmup_seconds, self.cold_since + terms.longest_seconds)

    def warm_up(self, now: float, terms: Terms) -> bool:
        """Let the pod become warm if it is time; tell whether it did."""
        due = self.due(terms)
        if due is None or now < due:
            return False
        self.cold_since, self.again = None, False
        return True

    def cold_seconds(self, now: float) -> float:
        """Say for how long the pod has been cold; 0 while it is warm."""
        return 0.0 if self.cold_since is None else now - self.cold_since
