"""The webhook's counters, summed over gunicorn's worker processes when a shared directory is given.

prometheus_client picks its storage when it is imported: for several processes PROMETHEUS_MULTIPROC_DIR is set before.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from webhook import templates
from webhook.review import Decision, Review

PREFIX = "gpu_scheduler_webhook_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_BYTES = (1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 7 << 20)
_KINDS = frozenset(kind for _, kind in templates.PATHS)
_OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
# Rules under which something went wrong without a refusal.
_STAGES = {"unreadable": "object", "patch-failed": "patch", "failed": "decide"}


class Metrics:
    """What is counted; label values come from fixed sets, never from a request."""

    def __init__(self, shared: Path | None = None) -> None:
        self._shared = shared
        self._registry = CollectorRegistry()
        self.requests = self._counter(
            "requests", "Admission requests answered.", "path", "operation", "kind", "allowed", "reason"
        )
        self.errors = self._counter("errors", "What went wrong, by the stage it went wrong in.", "stage")
        self.panics = self._counter("panics", "Exceptions that reached the outermost frame.")
        self.patch_ops = self._counter("patch_ops", "Patch operations sent.", "op")
        self.seconds = self._histogram("duration_seconds", "From the request's headers to its answer.", _SECONDS)
        self.body_bytes = self._histogram("body_bytes", "Size of request bodies.", _BYTES)
        self.inflight = Gauge(
            f"{PREFIX}inflight",
            "Requests being answered.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def count(self, path: str, review: Review, decision: Decision) -> None:
        """Count one answered request."""
        operation = review.operation if review.operation in _OPERATIONS else "other"
        kind = review.kind if review.kind in _KINDS else "other"
        self.requests.labels(path, operation, kind, str(decision.allowed).lower(), decision.rule).inc()
        for operation_sent in decision.patch:
            self.patch_ops.labels(operation_sent["op"]).inc()
        if decision.rule in _STAGES:
            self.errors.labels(_STAGES[decision.rule]).inc()

    def exposition(self, *collectors: Collector) -> bytes:
        """Write all metrics, of every process, in Prometheus' text format."""
        if self._shared is None:
            registry = self._registry
        else:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, path=str(self._shared))  # type: ignore[no-untyped-call]
        text: bytes = generate_latest(registry)
        for collector in collectors:
            extra = CollectorRegistry()
            extra.register(collector)
            text += generate_latest(extra)
        return text

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}{name}", about, labels, registry=self._registry)

    def _histogram(self, name: str, about: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"{PREFIX}{name}", about, ["path"], registry=self._registry, buckets=buckets)


class CertificateExpiry(Collector):
    """When the certificate on disk expires; read at each scrape, absent while it cannot be read."""

    def __init__(self, not_after: Callable[[], float]) -> None:
        self._not_after = not_after

    def collect(self) -> Iterator[Metric]:
        """Yield the gauge, or nothing."""
        name = f"{PREFIX}cert_expiry_timestamp_seconds"
        try:
            seconds = self._not_after()
        except (OSError, ValueError):
            return
        yield GaugeMetricFamily(name, "End of the serving certificate's life, as a Unix time.", value=seconds)
