"""Histograms of our own: the client library's, observation for observation, at a fraction of its time."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from gpu_scheduler.histograms import Histograms
from gpu_scheduler.point_metrics import PERMIT_BUCKETS, PLUGIN_BUCKETS, POINT_BUCKETS

BUCKETS = (0.1, 0.5, 2.0)
VALUES = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([0.0, 0.1, 0.3, 0.5, 2.0, 2.5, 1e9])), max_size=20)


@given(VALUES)
def test_the_text_is_the_librarys(found: list[tuple[str, float]]) -> None:
    registry, theirs = CollectorRegistry(), CollectorRegistry()
    ours = Histograms("h", "About", BUCKETS, ("x",))
    registry.register(ours)
    histogram = Histogram("h", "About", ["x"], buckets=BUCKETS, registry=theirs)
    for label, value in found:
        ours.series(label).observe(value)
        histogram.labels(label).observe(value)

    lines = [line for line in generate_latest(theirs).decode().splitlines() if "_created" not in line]
    assert generate_latest(registry).decode().splitlines() == lines


def test_buckets_are_kube_schedulers() -> None:
    assert (len(POINT_BUCKETS), len(PLUGIN_BUCKETS), len(PERMIT_BUCKETS)) == (12, 20, 15)
    assert [round(buckets[-1], 3) for buckets in (POINT_BUCKETS, PLUGIN_BUCKETS, PERMIT_BUCKETS)] == [
        0.205,
        0.022,
        16.384,
    ]


def test_a_series_is_told_from_its_first_observation_on() -> None:
    registry = CollectorRegistry()
    ours = Histograms("h", "About", BUCKETS, ("x",))
    registry.register(ours)

    series = ours.series("a")
    assert registry.get_sample_value("h_count", {"x": "a"}) is None
    series.observe(0)
    assert registry.get_sample_value("h_count", {"x": "a"}) == 1
