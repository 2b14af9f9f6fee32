"""Reads CPU usage from metrics.k8s.io, one list per namespace, as a share of what pods request. Decides nothing."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from cluster_model import quantity
from cluster_model.objects import ApiObject
from deletion_cost.sample import Sample
from deletion_cost.source import Name, Tally, Target
from deletion_cost.sources.reading import Unusable
from kube_client.client import Client
from kube_client.errors import ApiError
from kube_client.timing import Timing

NAME: Name = "metrics"
GROUP = "/apis/metrics.k8s.io/v1beta1"
OLDEST = timedelta(minutes=3)  # a metrics server that has stopped goes on serving what it last saw


class _Meta(ApiObject, frozen=True):
    name: str = ""


class _Container(ApiObject, frozen=True):
    usage: dict[str, str] = {}


class _PodMetrics(ApiObject, frozen=True):
    metadata: _Meta = _Meta()
    timestamp: str = ""
    containers: tuple[_Container, ...] = ()


class _PodMetricsList(ApiObject, frozen=True):
    items: tuple[_PodMetrics, ...] = ()


class ResourceMetrics:
    """The source that asks the resource metrics API through the API server."""

    def __init__(self, client: Client, tally: Tally, timing: Timing) -> None:
        self._client = client
        self._tally = tally
        self._timing = timing

    async def read(self, targets: Sequence[Target]) -> Mapping[str, Sample | None]:
        """List every namespace that has a target; one that fails has no samples."""
        groups: dict[str, list[Target]] = {}
        for target in targets:
            groups.setdefault(target.namespace, []).append(target)
        answers = await asyncio.gather(*(self._namespace(*group) for group in groups.items()))
        return {uid: sample for answer in answers for uid, sample in answer.items()}

    async def _namespace(self, namespace: str, targets: Sequence[Target]) -> Mapping[str, Sample | None]:
        try:
            listed = await self._client.read(f"{GROUP}/namespaces/{namespace}/pods", _PodMetricsList)
        except ApiError as error:
            self._tally.failed(NAME, _why(error))
            return {}
        metrics = {item.metadata.name: item for item in listed.items}
        return {target.uid: self._sample(target, metrics[target.name]) for target in targets if target.name in metrics}

    def _sample(self, target: Target, metrics: _PodMetrics) -> Sample | None:
        found = usage(metrics, target.requested_cpu_milli, self._timing.utc_now())
        if isinstance(found, float):
            return Sample(usage=found)
        self._tally.dropped(NAME, found.why)
        return None


def usage(metrics: _PodMetrics, requested_milli: int, now: datetime) -> float | Unusable:
    """Give the CPU that the pod uses as a share of what it requests."""
    if requested_milli <= 0:
        return Unusable("request")
    try:
        taken = datetime.fromisoformat(metrics.timestamp).replace(tzinfo=UTC)
        nanos = sum(quantity.parse(container.usage["cpu"]) for container in metrics.containers)
    except (ValueError, KeyError):
        return Unusable("type")
    if now - taken > OLDEST:
        return Unusable("stale")
    if nanos < 0 or not metrics.containers:
        return Unusable("negative" if nanos < 0 else "type")
    return nanos / quantity.NANOS_PER_MILLI / requested_milli


def _why(error: ApiError) -> str:
    if error.is_unreachable:
        return "unreachable"
    return "undecodable" if error.status == 200 else "status"
