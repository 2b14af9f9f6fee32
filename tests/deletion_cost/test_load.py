"""The load formula: the figures it is defined by, and what must hold for any sample."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deletion_cost import load
from deletion_cost.load import Load, Measure, Weights
from deletion_cost.sample import Sample

WEIGHTS = Weights()
COUNTS = st.floats(0, 1e12) | st.integers(0, 200).map(float)
RATES = st.none() | st.floats(0, 1)
TIMES = st.none() | st.floats(0, 1e9)
SMALL = st.floats(0, 1000)
ANY_WEIGHTS = st.builds(
    Weights, active_request=SMALL, connection=SMALL, cache_hit_rate=SMALL, fast_response=SMALL, medium_response=SMALL
)


def points(sample: Sample, served: bool = True, measure: Measure = "requests") -> int:
    return load.of(sample, served, measure, WEIGHTS).points


@pytest.mark.parametrize(
    ("sample", "wanted"),
    [
        ({"active_requests": 0}, 0),
        ({"active_requests": 1}, 5),
        ({"active_requests": 3, "cache_hit_rate": 0.8}, 95),
        ({"active_requests": 3, "cache_hit_rate": 0.8, "mean_response_ms": 99}, 145),
        ({"active_requests": 3, "mean_response_ms": 100}, 35),
        ({"active_requests": 3, "mean_response_ms": 500}, 15),
        ({"active_requests": 10_000}, 1000),
        ({"connections": 12}, 120),
        ({"usage": 0.345}, 35),
        ({"usage": 40}, 1000),
    ],
)
def test_points_by_the_formula(sample: dict[str, float], wanted: int) -> None:
    assert points(Sample(**sample)) == wanted


def test_cache_and_response_count_only_while_requests_are_served() -> None:
    busy, idle = (Sample(active_requests=count, cache_hit_rate=0.9, mean_response_ms=10) for count in (2, 0))
    assert (points(busy, served=True), points(busy, served=False)) == (150, 10)
    assert (points(idle, served=True), points(idle, served=False)) == (4, 0)


def test_connections_count_instead_of_requests_where_they_are_the_measure() -> None:
    both = Sample(connections=3, active_requests=50)
    assert points(both, measure="connections") == 30
    assert points(both, measure="requests") == 250


@given(COUNTS, COUNTS, RATES, RATES, TIMES, TIMES, st.booleans(), st.booleans(), ANY_WEIGHTS)
def test_a_pod_with_active_requests_never_ranks_below_one_without(
    requests: float,
    connections: float,
    rate: float | None,
    other_rate: float | None,
    mean: float | None,
    other_mean: float | None,
    served: bool,
    other_served: bool,
    weights: Weights,
) -> None:
    """Whatever either has learned, and whatever the weights are."""
    busy = Sample(active_requests=max(requests, 1e-6), cache_hit_rate=rate, mean_response_ms=mean)
    idle = Sample(active_requests=0, connections=connections, cache_hit_rate=other_rate, mean_response_ms=other_mean)
    one, other = (load.of(busy, served, "requests", weights), load.of(idle, other_served, "requests", weights))
    assert one.points >= other.points
    assert (one.busy, other.busy) == (True, False)


@given(COUNTS, st.none() | COUNTS, RATES, TIMES, st.none() | st.just(0.0), ANY_WEIGHTS)
def test_nor_does_one_with_work_of_either_kind_where_connections_are_the_measure(
    requests: float,
    connections: float | None,
    rate: float | None,
    mean: float | None,
    none: float | None,
    weights: Weights,
) -> None:
    """Requests that come without a connection that counts are work too."""
    busy = load.of(Sample(max(requests, 1e-6), connections), True, "connections", weights)
    idle = load.of(Sample(none, 0.0, rate, mean), True, "connections", weights)
    assert busy.points > idle.points
    assert (busy.busy, idle.busy) == (True, False)


@given(st.none() | COUNTS, st.none() | COUNTS, RATES, TIMES, st.none() | COUNTS, st.booleans(), ANY_WEIGHTS)
def test_points_are_always_a_cost_that_may_be_written(
    requests: float | None,
    connections: float | None,
    rate: float | None,
    mean: float | None,
    usage: float | None,
    served: bool,
    weights: Weights,
) -> None:
    sample = Sample(requests, connections, rate, mean, usage)
    for measure in ("requests", "connections"):
        found = load.of(sample, served, measure, weights)
        assert 0 <= found.points <= 1000
        assert math.isfinite(found.points)


def test_nothing_told_is_idle() -> None:
    assert load.of(Sample(), True, "requests", WEIGHTS) == Load(0, False)
