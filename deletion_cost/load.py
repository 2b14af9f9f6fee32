"""The load formula: one number of points for a sample, which is also the cost that the pod deserves. Pure."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from deletion_cost import bands
from deletion_cost.sample import Sample

Weight = Annotated[float, msgspec.Meta(ge=0, le=1000)]
Milliseconds = Annotated[float, msgspec.Meta(gt=0, le=3_600_000)]
Measure = Literal["requests", "connections"]

BUSY_USAGE = 0.1  # a pod that is known by its CPU alone counts as busy from here


@dataclass(frozen=True, slots=True)
class Weights:
    """The points of the load formula. Their sum is a pod's cost, up to the cap."""

    # For each active request.
    active_request: Weight = 5
    # For each connection, instead of that, where connections are the measure.
    connection: Weight = 10
    # For a cache hit rate of 1.
    cache_hit_rate: Weight = 100
    # For a mean response below fastMs.
    fast_response: Weight = 50
    fast_ms: Milliseconds = 100
    # For one below mediumMs.
    medium_response: Weight = 20
    medium_ms: Milliseconds = 500
    # Cache and response count only if a request was served within this time.
    served_within_seconds: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 60
    # For a usage of all that is requested; only of pods that tell neither requests nor connections.
    usage: Weight = 100
    cap: Annotated[int, msgspec.Meta(ge=100, le=1000)] = bands.CAP

    def lowest_busy(self) -> int:
        """Return what a pod with work has at least, whichever way it tells it: pods are compared with one another."""
        return max(1, _rounded(min((one for one in (self.active_request, self.connection) if one > 0), default=0)))


@dataclass(frozen=True, slots=True)
class Load:
    """A pod's load in points; `busy` where it has work at this moment."""

    points: int
    busy: bool


IDLE = Load(0, False)


def of(sample: Sample, served_recently: bool, measure: Measure, weights: Weights) -> Load:
    """Compute a pod's load.

    A pod that works never ranks below one that does not: without work, what a pod has learned is worth at most one
    point less than the least work.
    """
    units, measured = _work(sample, measure)
    if units is None:
        return _by_usage(sample, weights)
    learned = _learned(sample, weights) if served_recently else 0.0
    least = weights.lowest_busy()
    if units <= 0:
        most = weights.cache_hit_rate + max(weights.fast_response, weights.medium_response)
        return Load(math.ceil((least - 1) * min(learned / most, 1.0)) if most else 0, False)
    worth = weights.connection if measured == "connections" else weights.active_request
    return Load(max(least, _capped(units * worth + learned, weights)), True)


def _work(sample: Sample, measure: Measure) -> tuple[float | None, Measure]:
    """Return the pod's work in the wished measure, or in requests where it has no connections: they are work too."""
    requests, connections = sample.active_requests, sample.connections
    if measure == "connections" and connections:
        return connections, "connections"
    if requests is not None:
        return requests, "requests"
    return connections, "connections"


def _learned(sample: Sample, weights: Weights) -> float:
    points = weights.cache_hit_rate * (sample.cache_hit_rate or 0.0)
    mean = sample.mean_response_ms
    if mean is not None and mean < weights.fast_ms:
        return points + weights.fast_response
    return points + (weights.medium_response if mean is not None and mean < weights.medium_ms else 0.0)


def _by_usage(sample: Sample, weights: Weights) -> Load:
    usage = sample.usage or 0.0
    return Load(_capped(usage * weights.usage, weights), usage >= BUSY_USAGE)


def _capped(points: float, weights: Weights) -> int:
    return min(_rounded(min(points, weights.cap)), weights.cap)


def _rounded(points: float) -> int:
    return math.floor(points + 0.5)
