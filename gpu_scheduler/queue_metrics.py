"""What is counted of events and hints, under kube-scheduler's names, labels and buckets."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gpu_scheduler.histograms import Histograms, exponential

HANDLING_BUCKETS = tuple(0.0001 * 2**n for n in range(12))
HINT_BUCKETS = exponential(0.00001, 1.5, 20)
IN_FLIGHT = "scheduler_inflight_events"


class QueueMetrics:
    """How long changes of the cluster take to handle, what hints say of them, and what is remembered."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._handling = Histograms(
            "scheduler_event_handling_duration_seconds", "Handling of one event", HANDLING_BUCKETS, ("event",)
        )
        self._hints = Histograms(
            "scheduler_queueing_hint_execution_duration_seconds",
            "One plugin's word on one event",
            HINT_BUCKETS,
            ("plugin", "event", "hint"),
        )
        registry.register(self._handling)
        registry.register(self._hints)

    def observe(self, in_flight: Callable[[], Mapping[str, int]]) -> None:
        """Add the gauge of what is remembered for pods in flight, which asks for its values at each scrape."""
        self._registry.register(_InFlight(in_flight))

    def handled(self, event: str, seconds: float) -> None:
        """Note how long an event took to handle."""
        self._handling.series(event).observe(seconds)

    def hinted(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        """Note what a plugin said of an event, and how long that took."""
        self._hints.series(plugin, event, hint).observe(seconds)


class _InFlight(Collector):
    def __init__(self, read: Callable[[], Mapping[str, int]]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        return (self._family(),)

    def collect(self) -> Iterator[Metric]:
        family = self._family()
        for event, count in self._read().items():
            family.add_metric([event], count)
        yield family

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(IN_FLIGHT, "Pods in flight, and events remembered for them", labels=["event"])
