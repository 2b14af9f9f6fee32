"""How long the extension points and their plugins take, under kube-scheduler's names, labels and buckets."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from gpu_scheduler.histograms import Histograms, Series, exponential
from gpu_scheduler.waiting_pods import Rejected
from scheduler_plugins import unsupported
from scheduler_plugins.framework import Decision, Profile

SAMPLED = 0.1  # the share of attempts in which each plugin's time is taken, kube-scheduler's
POINT_BUCKETS = tuple(0.0001 * 2**n for n in range(12))
PLUGIN_BUCKETS = exponential(0.00001, 1.5, 20)
PERMIT_BUCKETS = tuple(0.001 * 2**n for n in range(15))
SUCCESS, ERROR, SKIP, WAIT = "Success", "Error", "Skip", "Wait"
UNSCHEDULABLE, UNRESOLVABLE = "Unschedulable", "UnschedulableAndUnresolvable"


class PointMetrics:
    """The series of one process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._points = Histograms(
            "scheduler_framework_extension_point_duration_seconds",
            "All plugins of an extension point for one pod",
            POINT_BUCKETS,
            ("extension_point", "status", "profile"),
        )
        self._plugins = Histograms(
            "scheduler_plugin_execution_duration_seconds",
            "One plugin at one extension point, in a tenth of the attempts",
            PLUGIN_BUCKETS,
            ("plugin", "extension_point", "status"),
        )
        self._permits = Histograms(
            "scheduler_permit_wait_duration_seconds",
            "From a node to the permission to take it",
            PERMIT_BUCKETS,
            ("result",),
        )
        self._evaluations = Evaluations()
        for collector in (self._points, self._plugins, self._permits, self._evaluations):
            registry.register(collector)

    def point(self, point: str, status: str, profile: str) -> Series:
        """Return the series of an extension point."""
        return self._points.series(point, status, profile)

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        """Note how long a plugin took."""
        self._plugins.series(plugin, point, status).observe(seconds)

    def waited(self, result: str, seconds: float) -> None:
        """Note how long a pod waited for permission."""
        self._permits.series(result).observe(seconds)

    def evaluations(self, profile: Profile) -> "ProfileEvaluations":
        """Return what counts the decisions of a profile."""
        return self._evaluations.of(profile)


@dataclass(frozen=True, slots=True)
class Measures:
    """The series, the clock, and the lot that decides for which attempts each plugin's time is taken."""

    metrics: PointMetrics
    now: Callable[[], float]
    draw: Callable[[], float]  # 0..1


class Span:
    """Times what is done within; the status is Success unless said otherwise or something is raised."""

    __slots__ = ("_note", "_now", "_started", "_what", "status")

    def __init__(self, now: Callable[[], float], note: Callable[..., None], *what: str) -> None:
        self._now = now
        self._note = note
        self._what = what
        self.status = SUCCESS

    def __enter__(self) -> "Span":
        self._started = self._now()
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        status = self.status if kind is None else status_of(kind)
        self._note(*self._what, status, self._now() - self._started)


def status_of(raised: type[BaseException]) -> str:
    """Return what kube-scheduler calls the end of something that raises."""
    return UNSCHEDULABLE if issubclass(raised, Rejected) else ERROR


class ProfilePoints:
    """What is measured of one profile."""

    def __init__(self, metrics: PointMetrics, profile: str, now: Callable[[], float]) -> None:
        self.metrics = metrics
        self.now = now
        self._profile = profile
        # Every pod that fits passes here.
        self.filtered, self.scored, self.reserved = map(self._success, ("Filter", "Score", "Reserve"))

    def span(self, point: str) -> Span:
        """Time an extension point."""
        return Span(self.now, self.note, point)

    def plugin(self, name: str, point: str) -> Span:
        """Time one plugin there."""
        return Span(self.now, self.metrics.plugin, name, point)

    def permit_wait(self) -> Span:
        """Time how long a pod waits for permission."""
        return Span(self.now, self.metrics.waited)

    def note(self, point: str, status: str, seconds: float) -> None:
        """Note how long an extension point took."""
        self.metrics.point(point, status, self._profile).observe(seconds)

    def _success(self, point: str) -> Series:
        return self.metrics.point(point, SUCCESS, self._profile)


class ProfileEvaluations:
    """Counts the decisions of one profile; who took part in them is worked out when somebody asks."""

    __slots__ = ("_filtered", "_last", "_names", "_profile", "_refused", "_scored")

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._filtered = 0
        self._refused = 0
        self._scored: dict[tuple[str, ...], list[int]] = {}  # who scored -> how often
        self._names: tuple[str, ...] = ()  # those of the decision before: most often the same
        self._last = self._scored.setdefault((), [0])

    def count(self, decision: Decision) -> None:
        """Count one decision."""
        if decision.refused:
            self._refused += 1
        else:
            self._filtered += 1
            names = tuple(decision.scores)
            if names != self._names:
                self._names, self._last = names, self._scored.setdefault(names, [0])
            self._last[0] += 1

    def samples(self) -> Iterator[tuple[str, str, int]]:
        """Yield plugin, extension point and how often it was asked there."""
        for plugin in self._profile.filters:
            if plugin.name != unsupported.NAME and (plugin.refuse or plugin.narrow):
                yield plugin.name, "PreFilter", self._refused + self._filtered
            if plugin.run:
                yield plugin.name, "Filter", self._filtered
        asked: Counter[str] = Counter()
        for names, (times,) in self._scored.items():
            asked.update(dict.fromkeys(names, times))
        for name, times in asked.items():
            yield name, "Score", times

    @property
    def name(self) -> str:
        """The profile's."""
        return self._profile.scheduler_name


class Evaluations(Collector):
    """The counter of all profiles."""

    def __init__(self) -> None:
        self._profiles: list[ProfileEvaluations] = []

    def of(self, profile: Profile) -> ProfileEvaluations:
        """Return what counts for a profile."""
        found = ProfileEvaluations(profile)
        self._profiles.append(found)
        return found

    def describe(self) -> Iterable[Metric]:
        """Name the family."""
        return (self._family(),)

    def collect(self) -> Iterator[Metric]:
        """Yield the family with a series for each plugin that was asked."""
        family = self._family()
        for found in self._profiles:
            for plugin, point, times in found.samples():
                if times:
                    family.add_metric((plugin, point, found.name), times)
        yield family

    def _family(self) -> CounterMetricFamily:
        about = "Attempts in which a plugin was asked at an extension point"
        return CounterMetricFamily(
            "scheduler_plugin_evaluation", about, labels=("plugin", "extension_point", "profile")
        )
