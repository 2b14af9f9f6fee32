"""The metrics of both processes as a page, taken from their own registries after each series was used once."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from gpu_scheduler.metrics import Levels
from gpu_scheduler.metrics import Metrics as SchedulerMetrics
from tests.docs.markdown import code, table
from webhook.metrics import CertificateExpiry
from webhook.metrics import Metrics as WebhookMetrics
from webhook.review import Decision, Review

OF_BUCKETS = "le"
CREATED = "_created"


def section() -> list[str]:
    """Both tables."""
    heads = ["metric", "type", "labels", "help"]
    return [
        "## Metrics of the scheduler",
        "",
        *table(heads, _rows(scheduler())),
        "## Metrics of the webhook",
        "",
        *table(heads, _rows(webhook())),
    ]


def names() -> set[str]:
    """Every name under which something is exposed, with the parts of histograms."""
    families = [*scheduler(), *webhook()]
    return {_name(family) for family in families} | {sample.name for family in families for sample in family.samples}


def scheduler() -> list[Metric]:
    """The families of the scheduler process."""
    metrics = SchedulerMetrics(["gpu-scheduler"])
    metrics.incoming("active", "UnscheduledPodAdd")
    metrics.unreadable("gpu.nvidia.com/model")
    counted = ({"written": 0}, {("pods", "lists"): 0})
    levels = Levels({}, {("NodeName", "gpu-scheduler"): 1}, {"nodes": 0}, 0, False, *counted)
    metrics.observe_levels(lambda: levels, "gpu-scheduler")
    return _families(metrics.registry)


def webhook() -> list[Metric]:
    """The families of the webhook."""
    metrics = WebhookMetrics()
    asked = Review("", "", "", "Pod", "", "CREATE", "", "", None, None)
    metrics.count("/mutate", asked, Decision(True, "failed", patch=({"op": "add"},)))
    metrics.seconds.labels("/mutate").observe(0)
    metrics.body_bytes.labels("/mutate").observe(0)
    text = metrics.exposition(CertificateExpiry(lambda: 0.0)).decode()
    return [family for family in text_string_to_metric_families(text) if not family.name.endswith(CREATED)]


def _families(registry: CollectorRegistry) -> list[Metric]:
    return list(registry.collect())


def _rows(families: Iterable[Metric]) -> list[list[str]]:
    return [[code(_name(family)), family.type, _labels(family), family.documentation] for family in families]


def _name(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" and not family.name.endswith("_total") else family.name


def _labels(family: Metric) -> str:
    found = dict.fromkeys(label for sample in family.samples for label in sample.labels if label != OF_BUCKETS)
    return ", ".join(map(code, found))
