"""The source that reads metrics.k8s.io, through the client, from a server that answers as told."""

import asyncio
import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deletion_cost.sample import Sample
from deletion_cost.sources.resource_metrics import GROUP, ResourceMetrics
from kube_client.client import Settings
from kube_client.retries import NEVER
from kube_client.timing import Timing
from tests.deletion_cost.sources.asking import Counts, target
from tests.kube_client.fake_api import FakeApi, Fault, connected
from tests.kube_client.store import Refusal

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PODS = f"{GROUP}/namespaces/default/pods"


def metrics(name: str, *cpu: str, age: timedelta = timedelta(seconds=20), **others: Any) -> dict[str, Any]:
    """A PodMetrics whose containers use so much."""
    containers = [{"name": str(n), "usage": {"cpu": use, "memory": "1Mi"}} for n, use in enumerate(cpu)]
    stamp = (NOW - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": {"name": name}, "timestamp": stamp, "window": "15s", "containers": containers, **others}


def read(folder: Path, api: FakeApi, *targets: Any) -> tuple[dict[str, Sample | None], Counts]:
    """One read from that server."""
    counts = Counts()
    timing = dataclasses.replace(Timing(), utc_now=lambda: NOW)

    async def main() -> dict[str, Sample | None]:
        async with connected(folder, api, Settings(retries=NEVER)) as (_, client):
            return dict(await ResourceMetrics(client, counts, timing).read(targets))

    return asyncio.run(main()), counts


def test_usage_is_a_share_of_the_request(tmp_path: Path) -> None:
    """Containers add up; each namespace is listed once; a pod without metrics has no entry."""
    api = FakeApi()
    api.put(PODS, metrics("a", "250m", "500000000n"))
    api.put(PODS, metrics("b", "0"))
    api.put(PODS.replace("default", "other"), metrics("a", "2"))
    elsewhere = target("c", namespace="other")
    targets = [target("a", requested_cpu_milli=500), target("b"), target("absent"), elsewhere]

    found, counts = read(tmp_path, api, *targets)

    assert found == {"uid-a": Sample(usage=1.5), "uid-b": Sample(usage=0)}
    assert not counts.drops
    assert [path for _, path, _ in api.calls] == [PODS, PODS.replace("default", "other")]


@pytest.mark.parametrize(
    ("item", "requested", "why"),
    [
        (metrics("a", "1"), 0, "request"),
        (metrics("a", "1", age=timedelta(minutes=4)), 1000, "stale"),
        (metrics("a", "-1"), 1000, "negative"),
        (metrics("a", "fast"), 1000, "type"),
        (metrics("a", "1", timestamp="yesterday"), 1000, "type"),
        (metrics("a"), 1000, "type"),
        (metrics("a", containers=[{"name": "main", "usage": {}}]), 1000, "type"),
    ],
)
def test_unusable_metrics_are_dropped_and_counted(tmp_path: Path, item: Any, requested: int, why: str) -> None:
    """Without a request there is no share; what is old or no quantity is no sample."""
    api = FakeApi()
    api.put(PODS, item)

    found, counts = read(tmp_path, api, target("a", requested_cpu_milli=requested))

    assert found == {"uid-a": None}
    assert counts.drops == {("metrics", why): 1}


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault("GET", PODS, refusal=Refusal(404, "NotFound")), "status"),
        (Fault("GET", PODS, refusal=Refusal(503, "ServiceUnavailable")), "status"),
        (Fault("GET", PODS, times=9, drop_before=True), "unreachable"),
    ],
)
def test_namespace_that_fails_has_no_samples(tmp_path: Path, fault: Fault, why: str) -> None:
    """The others keep theirs: nothing is taken for idle."""
    api = FakeApi(faults=[fault])
    api.put(PODS, metrics("a", "1"))
    api.put(PODS.replace("default", "other"), metrics("b", "1"))

    found, counts = read(tmp_path, api, target("a"), target("b", namespace="other"))

    assert found == {"uid-b": Sample(usage=1)}
    assert counts.failures == {("metrics", why): 1}
