"""The calls to the API server under client-go's names, labels and buckets. Reads them at each scrape."""

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from kube_client.calls import BOUNDS_SECONDS, Calls

BOUNDS = (*map(floatToGoString, BOUNDS_SECONDS), "+Inf")


class ClientMetrics(Collector):
    """Both families."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def describe(self) -> Iterable[Metric]:
        """Name the families, so that no other can take the names."""
        return (_requests(), _durations())

    def collect(self) -> Iterator[Metric]:
        """Yield the families with a series for each kind of call that was made."""
        requests, durations = _requests(), _durations()
        for labels, count in self._calls.answers.items():
            requests.add_metric(labels, count)
        for labels_of_time, latency in self._calls.latencies.items():
            counts = accumulate(map(float, latency.counts))
            durations.add_metric(labels_of_time, [*zip(BOUNDS, counts, strict=True)], latency.total_seconds)
        yield requests
        yield durations


def _requests() -> CounterMetricFamily:
    about = "Calls to the API server, repeated ones each time"
    return CounterMetricFamily("rest_client_requests", about, labels=("code", "host", "method"))


def _durations() -> HistogramMetricFamily:
    about = "From a call to the API server to the beginning of its answer"
    return HistogramMetricFamily("rest_client_request_duration_seconds", about, labels=("host", "verb"))
