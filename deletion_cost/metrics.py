"""What the controller counts. Levels are asked for at each scrape; series that say nothing are not there."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

PREFIX = "gpu_scheduler_deletion_cost_"
RESULTS = ("written", "gone", "conflict", "invalid", "forbidden", "throttled", "error")
POLL_BUCKETS = (0.1, 0.5, 1.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)

OfWorkload: TypeAlias = tuple[str, str]  # namespace, workload
Values: TypeAlias = Iterable[tuple[Sequence[str], float]]
Family = TypeVar("Family", GaugeMetricFamily, CounterMetricFamily)


@dataclass(frozen=True, slots=True)
class Levels:
    """What is read at the moment of the scrape."""

    pods_by_band: Mapping[tuple[str, str, str], int]  # namespace, workload, band
    pod_cost: Mapping[tuple[str, str], int]  # namespace, pod; empty where it is switched off
    frozen: Mapping[OfWorkload, int]
    suppressed: Mapping[str, int]  # by what held a write back
    pending_writes: int
    longest_wait_seconds: float
    cold_too_long: int
    invalid_policies: int
    leader: bool
    events: Mapping[str, int]  # by what became of them
    watches: Mapping[tuple[str, str], int]  # by resource and what happened


class Metrics:
    """The series of one controller, in a registry of their own. Is what sources report to."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._writes = self._counter("writes", "Costs that were sent to the API server, by its answer", "result")
        for result in RESULTS:
            self._writes.labels(result)
        self._stand_downs = self._counter("stand_downs", "Pods left to another writer of the cost", "why")
        self._dropped = self._counter("samples_dropped", "Answers of pods that were not usable", "source", "why")
        self._failed = self._counter("source_errors", "Questions about many pods that failed", "source", "why")
        labels = ("namespace", "workload", "occasion")
        self._busy = self._counter("busy_pods_deleted", "Pods deleted with work at hand", *labels)
        self._polls = Histogram(
            f"{PREFIX}poll_duration_seconds",
            "Reading all pods of a source once",
            ["source"],
            buckets=POLL_BUCKETS,
            registry=self.registry,
        )

    def observe_levels(self, read: Callable[[], Levels], lease_name: str) -> None:
        """Add the gauges, which ask for their values at each scrape."""
        self.registry.register(_LevelCollector(read, lease_name))

    def wrote(self, result: str) -> None:
        """Count a write by what became of it."""
        self._writes.labels(result).inc()

    def stood_down(self, why: str) -> None:
        """Count a pod that is left to another writer."""
        self._stand_downs.labels(why).inc()

    def busy_deleted(self, namespace: str, workload: str, occasion: str) -> None:
        """Count a pod that had work when it was deleted."""
        self._busy.labels(namespace, workload, occasion).inc()

    def polled(self, source: str, seconds: float) -> None:
        """Note how long reading all pods of a source took."""
        self._polls.labels(source).observe(seconds)

    def dropped(self, source: str, why: str) -> None:
        """Count a pod's answer that was not usable."""
        self._dropped.labels(source, why).inc()

    def failed(self, source: str, why: str) -> None:
        """Count a question about many pods that failed as a whole."""
        self._failed.labels(source, why).inc()

    def text(self) -> bytes:
        """Write everything in Prometheus' text form."""
        return generate_latest(self.registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}{name}", about, labels, registry=self.registry)


class _LevelCollector(Collector):
    def __init__(self, read: Callable[[], Levels], lease_name: str) -> None:
        self._read = read
        self._lease_name = lease_name

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        levels = self._read()
        of_workload = ("namespace", "workload")
        by_band, costs, frozen = levels.pods_by_band.items(), levels.pod_cost.items(), levels.frozen.items()
        yield _gauge("pods_by_band", "Pods by the band of their cost", (*of_workload, "band"), by_band)
        yield _gauge("pod_cost", "The cost of each pod", ("namespace", "pod"), costs)
        yield _gauge("frozen_workloads", "Workloads whose load is not known", of_workload, frozen)
        yield _gauge("pending_writes", "Values that wait to be written", (), [((), levels.pending_writes)])
        wait = "How long a value that matters has waited for the budget"
        yield _gauge("longest_wait_seconds", wait, (), [((), levels.longest_wait_seconds)])
        yield _gauge("cold_too_long_pods", "Ready pods still marked as cold", (), [((), levels.cold_too_long)])
        yield _gauge("invalid_policies", "Workloads with a wrong annotation", (), [((), levels.invalid_policies)])
        yield _count("suppressed_writes", "Values that were not written", ("why",), _alone(levels.suppressed))
        yield _count("events", "Events for users", ("outcome",), _alone(levels.events))
        yield _count("watches", "What happened to the watches", ("resource", "what"), levels.watches.items())
        leader = GaugeMetricFamily("leader_election_master_status", "1 where this process decides", labels=["name"])
        leader.add_metric([self._lease_name], int(levels.leader))
        yield leader


def _alone(counts: Mapping[str, int]) -> Values:
    return [((name,), count) for name, count in counts.items()]


def _gauge(name: str, about: str, labels: tuple[str, ...], values: Values) -> GaugeMetricFamily:
    return _filled(GaugeMetricFamily(f"{PREFIX}{name}", about, labels=labels), values)


def _count(name: str, about: str, labels: tuple[str, ...], values: Values) -> CounterMetricFamily:
    return _filled(CounterMetricFamily(f"{PREFIX}{name}", about, labels=labels), values)


def _filled(family: Family, values: Values) -> Family:
    for key, value in values:
        family.add_metric(list(key), value)
    return family
