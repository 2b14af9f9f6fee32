"""What the process counts, under kube-scheduler's names and buckets where it has them. Series are looked up once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gpu_scheduler.point_metrics import PointMetrics
from gpu_scheduler.queue_metrics import QueueMetrics

MILLISECOND_BUCKETS = tuple(0.001 * 2**n for n in range(15))
SLI_BUCKETS = tuple(0.01 * 2**n for n in range(20))
ATTEMPT_BUCKETS = tuple(float(2**n) for n in range(5))
VICTIM_BUCKETS = tuple(2.0**power for power in range(7))
QUEUES = ("active", "backoff", "unschedulable", "gated", "incomplete", "pending")
MOST_ATTEMPTS = 15  # the label says 15+ from here
RESULTS = ("scheduled", "unschedulable", "error")
ACTIVE = "active"
POD = "pod"  # the other type of what is queued, groups of pods, is not supported
ENTITY_QUEUES = (ACTIVE, "backoff", "unschedulable", "gated")
CREATED = "_created"  # a series beside each counter and histogram that kube-scheduler does not have


@dataclass(frozen=True, slots=True)
class Levels:
    """What is read at the moment of the scrape."""

    pending_pods: Mapping[str, int]  # by queue
    unschedulable_pods: Mapping[tuple[str, str], int]  # by plugin and profile
    cache_size: Mapping[str, int]  # nodes, pods, assumed_pods
    in_flight: Mapping[str, int]  # by operation
    leader: bool
    preemptions: Mapping[str, int]  # carried out, by result
    volume_errors: Mapping[str, int]  # by stage
    events: Mapping[str, int]  # by what became of them
    watches: Mapping[tuple[str, str], int]  # by resource and what happened


class Metrics:
    """The series of one scheduler process, in a registry of their own."""

    def __init__(self, profiles: Iterable[str]) -> None:
        self.registry = CollectorRegistry()
        self.points = PointMetrics(self.registry)
        self.queue = QueueMetrics(self.registry)
        attempts = self._counter("schedule_attempts", "Attempts to schedule a pod", "result", "profile")
        took = self._histogram(
            "scheduling_attempt_duration_seconds", "Decision and binding", MILLISECOND_BUCKETS, "result", "profile"
        )
        pairs = [(result, profile) for result in RESULTS for profile in profiles]
        self._attempts = {pair: attempts.labels(*pair) for pair in pairs}
        self._took = {pair: took.labels(*pair) for pair in pairs}
        self._algorithm = self._histogram(
            "scheduling_algorithm_duration_seconds", "The decision alone", MILLISECOND_BUCKETS
        )
        self._after_flush = self._counter("pod_scheduled_after_flush", "Bound pods that no event had woken in time")
        self._tries = self._histogram("pod_scheduling_attempts", "Attempts until a pod was bound", ATTEMPT_BUCKETS)
        self._sli = self._by_attempts()
        self._preemptions = self._counter("preemption_attempts", "Pods without a node that looked for room to be made")
        self._victims = self._histogram("preemption_victims", "Pods chosen to make room for one", VICTIM_BUCKETS)
        self._incoming = self._counter("queue_incoming_pods", "Pods that entered a queue", "queue", "event")
        entities = ("queue", "event", "type")
        self._incoming_entities = self._counter(
            "queue_incoming_entities", "Those that became active, by type", *entities
        )
        self._entered: dict[tuple[str, str], tuple[Counter, ...]] = {}
        self._counter("volume_binder_cache_requests", "Never counted, as in kube-scheduler today", "operation")
        ProcessCollector(registry=self.registry)
        self._unreadable_facts = _unreadable_facts(self.registry)

    def _by_attempts(self) -> list[Histogram]:
        found = self._histogram(
            "pod_scheduling_sli_duration_seconds", "From first active to bound", SLI_BUCKETS, "attempts"
        )
        return [found.labels(label) for label in (*map(str, range(1, MOST_ATTEMPTS)), f"{MOST_ATTEMPTS}+")]

    def observe_levels(self, read: Callable[[], Levels], lease_name: str) -> None:
        """Add the gauges, which ask for their values at each scrape."""
        self.registry.register(_LevelCollector(read, lease_name))

    def incoming(self, queue: str, event: str) -> None:
        """Count a pod that entered a queue.

        kube-scheduler counts an entity only where it comes to another queue than was meant for it when its attempt
        ended or an event woke it: where it becomes active.
        """
        series = self._entered.get((queue, event))
        if series is None:
            entities = (self._incoming_entities.labels(queue, event, POD),) if queue == ACTIVE else ()
            series = self._entered[queue, event] = (self._incoming.labels(queue, event), *entities)
        for counter in series:
            counter.inc()

    def unreadable(self, label: str) -> None:
        """Count a fact of a node that could not be read."""
        self._unreadable_facts.labels(label).inc()

    def preempted(self, victims: int) -> None:
        """Count a look for room to be made, and the pods that have to go if it was found."""
        self._preemptions.inc()
        if victims:
            self._victims.observe(victims)

    def decided(self, seconds: float) -> None:
        """Note how long a decision took."""
        self._algorithm.observe(seconds)

    def ended(self, result: str, profile: str, seconds: float) -> None:
        """Count an attempt by its result and how long it took."""
        self._attempts[result, profile].inc()
        self._took[result, profile].observe(seconds)

    def bound(self, attempts: int, seconds: float, flushed: bool = False) -> None:
        """Note how many attempts and how long a pod needed from its first moment in the active queue.

        `flushed`: it was tried again only because it had waited long.
        """
        if flushed:
            self._after_flush.inc()
        self._tries.observe(attempts)
        self._sli[min(attempts, MOST_ATTEMPTS) - 1].observe(seconds)

    def text(self) -> bytes:
        """Write everything in Prometheus' text form."""
        return generate_latest(_WithoutCreated(self.registry))

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"scheduler_{name}", about, labels, registry=self.registry)

    def _histogram(self, name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"scheduler_{name}", about, labels, buckets=buckets, registry=self.registry)


class _WithoutCreated(Collector):
    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith(CREATED)]
            yield family


def _unreadable_facts(registry: CollectorRegistry) -> Counter:
    said = "Facts of a node that could not be read and count as unknown"
    return Counter("gpu_scheduler_unreadable_node_facts", said, ["label"], registry=registry)


class _LevelCollector(Collector):
    def __init__(self, read: Callable[[], Levels], lease_name: str) -> None:
        self._read = read
        self._lease_name = lease_name

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        levels = self._read()
        queues = {queue: levels.pending_pods.get(queue, 0) for queue in QUEUES}
        yield _gauge("scheduler_pending_pods", "Pods that wait, by queue", "queue", queues)
        yield _gauge("scheduler_cache_size", "Nodes and pods known", "type", levels.cache_size)
        unschedulable = GaugeMetricFamily(
            "scheduler_unschedulable_pods", "Pods that a plugin rejected", labels=["plugin", "profile"]
        )
        for (plugin, profile), count in levels.unschedulable_pods.items():
            unschedulable.add_metric([plugin, profile], count)
        yield unschedulable
        entities = GaugeMetricFamily("scheduler_queued_entities", "The same by type", labels=["queue", "type"])
        for queue in ENTITY_QUEUES:
            entities.add_metric([queue, POD], queues[queue])
        yield entities
        yield _gauge("scheduler_goroutines", "Calls in flight", "operation", levels.in_flight)
        preemptions = "scheduler_preemption_goroutines_execution"
        yield _counter(preemptions, "Preemptions carried out", "result", levels.preemptions)
        volumes = "scheduler_volume_scheduling_stage_error"
        yield _counter(volumes, "Failures with the volumes of pods", "operation", levels.volume_errors)
        leader = {self._lease_name: int(levels.leader)}
        yield _gauge("leader_election_master_status", "1 where this process decides", "name", leader)
        yield _counter("gpu_scheduler_events", "Events for users", "outcome", levels.events)
        watches = CounterMetricFamily(
            "gpu_scheduler_watches", "What happened to the watches", labels=["resource", "what"]
        )
        for (resource, what), count in levels.watches.items():
            watches.add_metric([resource, what], count)
        yield watches


def _gauge(name: str, about: str, label: str, values: Mapping[str, int]) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(name, about, labels=[label])
    for value, count in values.items():
        gauge.add_metric([value], count)
    return gauge


def _counter(name: str, about: str, label: str, values: Mapping[str, int]) -> CounterMetricFamily:
    counter = CounterMetricFamily(name, about, labels=[label])
    for value, count in values.items():
        counter.add_metric([value], count)
    return counter
