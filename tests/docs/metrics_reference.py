"""The metrics of all processes as a page, taken from their own registries after each series was used once."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from deletion_cost.metrics import Levels as ControllerLevels
from deletion_cost.metrics import Metrics as ControllerMetrics
from gpu_scheduler.client_metrics import ClientMetrics
from gpu_scheduler.metrics import Levels
from gpu_scheduler.metrics import Metrics as SchedulerMetrics
from gpu_scheduler.point_metrics import SUCCESS, PointMetrics
from kube_client.calls import Calls
from scheduler_plugins import registry
from scheduler_plugins.decide import decide
from tests import build
from tests.docs.markdown import code, table
from webhook.metrics import CertificateExpiry
from webhook.metrics import Metrics as WebhookMetrics
from webhook.review import Decision, Review

OF_BUCKETS = "le"
CREATED = "_created"
AnyLevels = TypeVar("AnyLevels", Levels, ControllerLevels)


def section() -> list[str]:
    """A table for each process."""
    heads = ["metric", "type", "labels", "help"]
    return [
        "## Metrics of the scheduler",
        "",
        *table(heads, _rows(scheduler())),
        "## Metrics of the webhook",
        "",
        *table(heads, _rows(webhook())),
        "## Metrics of the deletion-cost controller",
        "",
        *table(heads, _rows(controller())),
    ]


def names() -> set[str]:
    """Every name under which something is exposed, with the parts of histograms."""
    families = [*scheduler(), *webhook(), *controller()]
    return {name(family) for family in families} | {sample.name for family in families for sample in family.samples}


def scheduler() -> list[Metric]:
    """The families of the scheduler process."""
    metrics = SchedulerMetrics(["gpu-scheduler"])
    metrics.incoming("active", "UnscheduledPodAdd")
    metrics.unreadable("gpu.nvidia.com/model")
    _touch(metrics.points)
    metrics.queue.handled("NodeAdd", 0)
    metrics.queue.hinted("NodeName", "NodeAdd", "Queue", 0)
    metrics.queue.observe(lambda: {"PodPopped": 1})
    levels = _one_of_each(Levels)
    metrics.observe_levels(lambda: levels, "gpu-scheduler")
    calls = Calls()
    calls.note("GET", "?", 200, 0)
    metrics.registry.register(ClientMetrics(calls))
    return _families(metrics.registry)


def _touch(points: PointMetrics) -> None:
    points.point("Filter", SUCCESS, "gpu-scheduler").observe(0)
    points.plugin("NodeName", "Filter", SUCCESS, 0)
    points.waited(SUCCESS, 0)
    nowhere = build.snapshot(build.node("a", unschedulable=True))
    points.evaluations(registry.profile()).count(decide(build.pod(), nowhere, registry.profile()))


def _one_of_each(kind: type[AnyLevels]) -> AnyLevels:
    """Levels in which every mapping has one entry, so that each gauge shows its labels."""
    hints = typing.get_type_hints(kind)
    return kind(**{field.name: _sample(hints[field.name]) for field in dataclasses.fields(kind)})


def _sample(kind: Any) -> Any:
    inner = typing.get_args(kind)
    if not inner:
        return kind()
    return {tuple("?" for _ in typing.get_args(inner[0])) or "?": 1}


def controller() -> list[Metric]:
    """The families of the deletion-cost controller."""
    metrics = ControllerMetrics()
    metrics.stood_down("foreign")
    metrics.dropped("endpoint", "timeout")
    metrics.failed("prometheus", "unreachable")
    metrics.busy_deleted("?", "?", "?")
    metrics.polled("endpoint", 0)
    levels = _one_of_each(ControllerLevels)
    metrics.observe_levels(lambda: levels, "gpu-scheduler-deletion-cost")
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
    return [[code(name(family)), family.type, _labels(family), family.documentation] for family in families]


def name(family: Metric) -> str:
    """The name under which a family is exposed."""
    return f"{family.name}_total" if family.type == "counter" and not family.name.endswith("_total") else family.name


def _labels(family: Metric) -> str:
    found = dict.fromkeys(label for sample in family.samples for label in sample.labels if label != OF_BUCKETS)
    return ", ".join(map(code, found))
