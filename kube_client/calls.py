"""What became of the calls to the API server and how long they took, by method. It counts; who exposes it reads it."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

# The bounds of client-go's histogram.
BOUNDS_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
UNANSWERED = "<error>"  # client-go's word for a call without an answer


@dataclass(slots=True)
class Latency:
    """How many calls fell between which bounds, the last without an upper one, and the sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_SECONDS) + 1))
    total_seconds: float = 0.0


@dataclass(slots=True)
class Calls:
    """The calls of one or more clients."""

    answers: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # by code, host and method
    latencies: dict[tuple[str, str], Latency] = field(default_factory=dict)  # by host and method

    def note(self, method: str, host: str, code: int | None, seconds: float) -> None:
        """Count one call; None: it was not answered. The time is that until the answer begins."""
        self.answers[UNANSWERED if code is None else str(code), host, method] += 1
        latency = self.latencies.setdefault((host, method), Latency())
        latency.counts[bisect_left(BOUNDS_SECONDS, seconds)] += 1
        latency.total_seconds += seconds
