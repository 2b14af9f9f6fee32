"""/metrics/resources: each pod's requests and limits, written without holding the loop up."""

import asyncio
import time
from collections.abc import Sequence

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster_model import objects
from gpu_scheduler import resource_metrics
from tests import build

MANY = 10_000


def page(pods: Sequence[objects.Pod]) -> str:
    async def read() -> bytes:
        return b"".join([piece async for piece in resource_metrics.lines(pods)])

    return asyncio.run(read()).decode()


def test_each_amount_has_its_pod_its_node_its_scheduler_and_its_unit() -> None:
    pod = build.raw_pod("p", requests={"cpu": "1500m"}, node="n", scheduler_name="mine", priority=7)
    families = {family.name: family.samples for family in text_string_to_metric_families(page([pod]))}

    (sample,) = families["kube_pod_resource_request"]
    where = {"namespace": "default", "pod": "p", "node": "n", "scheduler": "mine", "priority": "7"}
    assert (sample.labels, sample.value) == ({**where, "resource": "cpu", "unit": "cores"}, 1.5)
    assert families["kube_pod_resource_limit"] == []


def test_a_schedulers_name_may_hold_anything() -> None:
    name = 'a"b\\c\nd'
    families = text_string_to_metric_families(page([build.raw_pod(gpu=1, scheduler_name=name)]))

    assert next(iter(families)).samples[0].labels["scheduler"] == name


def test_the_families_stand_one_after_the_other_however_many_pods_there_are() -> None:
    pods = [build.raw_pod(f"p{number}", gpu=1) for number in range(250)]
    lines = [line for line in page(pods).splitlines() if not line.startswith("#")]

    assert len(lines) == 250
    assert page(pods).count("# TYPE") == 2


@pytest.mark.timeout(60)
def test_ten_thousand_pods_keep_nobody_waiting_for_long() -> None:
    """By the time that this thread was at work, so that a busy machine does not count."""
    container = build.container({"cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "1"})
    pods = [build.raw_pod(f"p{number}", containers=(container, container)) for number in range(MANY)]

    assert asyncio.run(longest_pause_seconds(pods)) < 0.05


async def longest_pause_seconds(pods: Sequence[objects.Pod]) -> float:
    async def write() -> None:
        async for _ in resource_metrics.lines(pods):
            pass

    writing = asyncio.create_task(write())
    longest, last = 0.0, time.thread_time()
    while not writing.done():
        await asyncio.sleep(0)
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
    return longest
