"""The reporter: seldom, only on change, cold at first, one process of many, and quiet when it may not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deletion_cost import ConnectionTracker, DeletionCostReporter, ReporterSettings, bands, load, reporter
from deletion_cost.own_pod import OwnPod
from deletion_cost.sample import Sample
from tests.deletion_cost.pod_api import PodApi
from tests.deletion_cost.test_tracker import Clock

WARM = ReporterSettings(warmup_seconds=0)
number = st.floats(0, 1e308) | st.integers(0, 2**62)


@pytest.fixture
def api(tmp_path: Path) -> Iterator[PodApi]:
    with PodApi(tmp_path) as running:
        yield running


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tracker(clock: Clock) -> ConnectionTracker:
    return ConnectionTracker(shared=False, clock=clock)


def make(tracker: ConnectionTracker, api: PodApi, settings: ReporterSettings = WARM) -> DeletionCostReporter:
    return DeletionCostReporter(tracker, settings, find_pod=api.pod, chance=lambda: 0.5)


def test_a_pod_is_cold_until_it_has_run_for_a_minute(tracker: ConnectionTracker, api: PodApi, clock: Clock) -> None:
    """A container that was restarted takes its old cost back the same way."""
    report = make(tracker, api, ReporterSettings())
    for now in (0, 30, 59, 60):
        clock.now = now
        report.step()
    assert api.costs() == ["-50", "0"]


def test_work_is_five_a_request_and_what_was_learned(tracker: ConnectionTracker, api: PodApi, clock: Clock) -> None:
    """Three requests: 15. Half of the look-ups hit: 50. A mean of 200 ms: 20."""
    report = make(tracker, api)
    with tracker.request():
        clock.now = 0.2
    tracker.cache_hit()
    tracker.cache_miss()
    with tracker.request(), tracker.request(), tracker.request():
        report.step()
    assert api.costs() == ["85"]


def test_connections_are_ten_each(tracker: ConnectionTracker, api: PodApi) -> None:
    report = make(tracker, api, ReporterSettings(warmup_seconds=0, measure="connections"))
    with tracker.connection(), tracker.connection(), tracker.request():
        report.step()
    assert api.costs() == ["20"]


def test_the_same_cost_is_written_once(tracker: ConnectionTracker, api: PodApi) -> None:
    report = make(tracker, api)
    assert {report.step() for _ in range(5)} == {30.0}
    assert api.costs() == ["0"]


def test_a_small_change_is_not_written_but_work_always_is(tracker: ConnectionTracker, api: PodApi) -> None:
    """5 is a change from 0, 10 is none from 5, 15 is."""
    report = make(tracker, api)
    report.step()
    for _ in range(3):
        tracker.request().begin()
        report.step()
    assert api.costs() == ["0", "5", "15"]


def test_a_fall_counts_when_three_readings_agree(tracker: ConnectionTracker, api: PodApi) -> None:
    """Requests come and go between readings; a pod that is busy now and then stays busy."""
    report = make(tracker, api)
    for busy in (4, 0, 0, 4, 0, 0, 0):
        spans = [tracker.request().begin() for _ in range(busy)]
        report.step()
        for span in spans:
            span.failed()
            span.end()
    assert api.costs() == ["20", "0"]


@given(st.tuples(number, number, st.none() | st.floats(0, 1), st.none() | number), st.booleans())
def test_what_is_written_is_a_canonical_int32(
    values: tuple[float, float, float | None, float | None], by_connections: bool
) -> None:
    """Of whatever a tracker can say: 0 to the cap, in plain digits."""
    active, connections, rate, mean = values
    sample = Sample(active_requests=active, connections=connections, cache_hit_rate=rate, mean_response_ms=mean)
    settings = ReporterSettings(measure="connections" if by_connections else "requests")
    cost = reporter.cost(sample, settings)
    assert isinstance(cost, int)
    assert 0 <= cost <= bands.CAP
    assert str(cost).isdecimal()


@given(st.floats(0, 1), st.integers(0, 10_000), st.integers(1, 500))
def test_a_pod_with_work_never_ranks_below_one_without(rate: float, mean: int, active: int) -> None:
    idle = Sample(active_requests=0, connections=0, cache_hit_rate=rate, mean_response_ms=mean)
    assert reporter.cost(idle, WARM) < reporter.cost(Sample(active_requests=active, connections=0), WARM)


def test_weights_are_the_applications_to_choose(tracker: ConnectionTracker, api: PodApi) -> None:
    report = make(tracker, api, ReporterSettings(warmup_seconds=0, weights=load.Weights(active_request=200)))
    with tracker.request():
        report.step()
    assert api.costs() == ["200"]


@pytest.mark.parametrize("status", [404, 422])
def test_a_refusal_ends_it_with_one_line(
    tracker: ConnectionTracker, api: PodApi, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    report = make(tracker, api)
    api.script.then(status, "forbidden by policy")
    pauses = [report.step() for _ in range(5)]
    assert (pauses, len(api.calls)) == ([86_400.0] * 5, 1)
    assert [record.getMessage() for record in caplog.records] == [
        f"deletion cost is not reported any more error=HTTP {status}: forbidden by policy"
    ]


def test_outside_a_cluster_it_ends_with_one_line(tracker: ConnectionTracker, caplog: pytest.LogCaptureFixture) -> None:
    report = DeletionCostReporter(tracker, WARM, find_pod=lambda: OwnPod.find({}, Path("/nowhere")))
    assert [report.step(), report.step()] == [86_400.0] * 2
    assert len(caplog.records) == 1


def test_a_server_that_is_ill_is_left_alone_longer_and_longer(
    tracker: ConnectionTracker, api: PodApi, caplog: pytest.LogCaptureFixture
) -> None:
    """The first failure is told, success after it is told; the value is then what it is at that time."""
    report = make(tracker, api)
    for status in (500, 503, 429, 0, 403, 401):
        api.script.then(status)
    assert [report.step() for _ in range(6)] == [60, 120, 240, 480, 600, 600]
    with tracker.request(), caplog.at_level(logging.INFO):
        assert report.step() == 30
    assert api.costs()[-1] == "5"
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_pause_that_the_server_names_is_kept(tracker: ConnectionTracker, api: PodApi) -> None:
    report = make(tracker, api)
    api.script.then(429, Retry_After="900")
    assert report.step() == 900


def test_failures_without_end_stay_finite(tracker: ConnectionTracker, api: PodApi) -> None:
    report = make(tracker, api)
    report._failures = 10**6
    api.script.then(500)
    assert report.step() == 600


@given(st.floats(0, 1, exclude_max=True))
def test_pauses_vary_by_a_tenth_and_the_first_lies_anywhere(chance: float) -> None:
    report = DeletionCostReporter(ConnectionTracker(shared=False), WARM, chance=lambda: chance)
    assert 27 <= report._varied(30) <= 33
    assert 0 <= report._first_pause() < 30


@pytest.mark.parametrize(
    "wrong", [{"period_seconds": 0}, {"warmup_seconds": -1}, {"minimum_change": 0}, {"hold_readings": 101}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    [(name, value)] = wrong.items()
    with pytest.raises(ValueError, match=f"{name}: Invalid value: {value}: must be "):
        ReporterSettings(**wrong)  # type: ignore[arg-type]
