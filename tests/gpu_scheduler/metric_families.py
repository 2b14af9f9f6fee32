"""Families of metrics as a scrape shows them: type, names of labels, bounds of buckets. Knows no scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

OF_BUCKETS = "le"


@dataclass(frozen=True)
class Family:
    """What dashboards and alerts rely on."""

    type: str
    labels: frozenset[str]
    bounds: tuple[float, ...] = ()


def read(text: str) -> dict[str, Family]:
    """Read a scrape; a family without any series tells no labels and is left out."""
    return {_name(found): _family(found) for found in text_string_to_metric_families(text) if found.samples}


def _name(found: Metric) -> str:
    return f"{found.name}_total" if found.type == "counter" else found.name


def _family(found: Metric) -> Family:
    labels = frozenset(label for sample in found.samples for label in sample.labels if label != OF_BUCKETS)
    return Family(found.type, labels, _bounds(found.samples))


def _bounds(samples: Iterable[Sample]) -> tuple[float, ...]:
    return tuple(sorted({float(sample.labels[OF_BUCKETS]) for sample in samples if OF_BUCKETS in sample.labels}))
