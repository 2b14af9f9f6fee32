"""What is known of one pod's load at one moment. Holds numbers alone: where they came from is the sources' matter."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading of a pod; None is "not told". Every number is finite and not negative."""

    active_requests: float | None = None
    connections: float | None = None
    cache_hit_rate: float | None = None  # 0 to 1
    mean_response_ms: float | None = None
    usage: float | None = None  # of what the pod requests, 0 to 1 and above
    served: float | None = None  # requests answered since the pod started: that it grew tells that some were served
