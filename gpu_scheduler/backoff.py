"""How long a pod waits between attempts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a pod waits after its n-th failure in a row: initial, doubled each time, never above max."""

    initial_seconds: float = 1.0
    max_seconds: float = 10.0

    def seconds(self, failures: int) -> float:
        """Say the wait after so many failures; none after none."""
        if failures <= 0:
            return 0.0
        doublings = min(failures - 1, 62)
        return min(self.max_seconds, self.initial_seconds * 2.0**doublings)
