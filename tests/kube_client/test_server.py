"""Probes and metrics over HTTP."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from gpu_scheduler.metrics import Levels, Metrics
from kube_client import server


def get(path: str, live: str | None = None, ready: str | None = None) -> tuple[int, str]:
    metrics = Metrics(["gpu-scheduler"])
    levels = Levels(
        {"active": 3},
        {("NodePorts", "gpu-scheduler"): 2},
        {"nodes": 5},
        {"binding": 7},
        True,
        {},
        {},
        {"written": 4},
        {("pods", "lists"): 1},
    )
    metrics.observe_levels(lambda: levels, "gpu-scheduler")
    metrics.incoming("active", "UnscheduledPodAdd")

    async def ask() -> tuple[int, str]:
        app = server.application({"lease": lambda: live}, {"pods": lambda: ready}, metrics.text)
        async with (
            server.serve(app, "127.0.0.1", 0) as port,
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}{path}") as answer,
        ):
            return answer.status, await answer.text()

    return asyncio.run(ask())


def test_an_address_that_is_taken_is_told() -> None:
    app = server.application({}, {}, bytes)

    async def twice() -> None:
        async with server.serve(app, "127.0.0.1", 0) as port:
            other = server.application({}, {}, bytes)
            with pytest.raises(server.CannotServe, match=f"127.0.0.1:{port}: "):
                async with server.serve(other, "127.0.0.1", port):
                    pass

    asyncio.run(twice())


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_a_probe_says_ok(path: str) -> None:
    assert get(path) == (200, "ok")


def test_what_is_not_ready_is_alive() -> None:
    assert get("/healthz", ready="not in step")[0] == 200
    assert get("/readyz", ready="not in step") == (503, "[+]lease ok\n[-]pods failed: not in step\n")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_what_is_not_alive_is_neither(path: str) -> None:
    status, said = get(path, live="lease overdue by 21 s")

    assert status == 503
    assert "[-]lease failed: lease overdue by 21 s" in said


@pytest.mark.parametrize(
    "series",
    [
        'scheduler_pending_pods{queue="active"} 3.0',
        'scheduler_pending_pods{queue="backoff"} 0.0',
        'scheduler_pending_pods{queue="unschedulable"} 0.0',
        'scheduler_pending_pods{queue="gated"} 0.0',
        'scheduler_pending_pods{queue="incomplete"} 0.0',
        'scheduler_pending_pods{queue="pending"} 0.0',
        'scheduler_unschedulable_pods{plugin="NodePorts",profile="gpu-scheduler"} 2.0',
        'scheduler_cache_size{type="nodes"} 5.0',
        'scheduler_goroutines{operation="binding"} 7.0',
        'gpu_scheduler_events_total{outcome="written"} 4.0',
        'gpu_scheduler_watches_total{resource="pods",what="lists"} 1.0',
        'leader_election_master_status{name="gpu-scheduler"} 1.0',
        'scheduler_queue_incoming_pods_total{event="UnscheduledPodAdd",queue="active"} 1.0',
        'scheduler_schedule_attempts_total{profile="gpu-scheduler",result="scheduled"} 0.0',
        'scheduler_scheduling_attempt_duration_seconds_bucket{le="0.001",profile="gpu-scheduler",result="error"} 0.0',
        'scheduler_scheduling_attempt_duration_seconds_bucket{le="16.384",profile="gpu-scheduler",result="error"} 0.0',
        'scheduler_scheduling_algorithm_duration_seconds_bucket{le="0.002"} 0.0',
        'scheduler_pod_scheduling_attempts_bucket{le="16.0"} 0.0',
        'scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="15+",le="0.01"} 0.0',
    ],
)
def test_metrics_carry_kube_schedulers_names_and_buckets(series: str) -> None:
    assert series in get("/metrics")[1].splitlines()


def test_a_further_page_is_sent_in_its_pieces() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"a 1\n", b"b 2\n"):
            yield piece

    async def ask() -> tuple[str, str]:
        app = server.application({}, {}, bytes, {"/metrics/more": pieces})
        async with (
            server.serve(app, "127.0.0.1", 0) as port,
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/metrics/more") as answer,
        ):
            return answer.headers["Content-Type"], await answer.text()

    assert asyncio.run(ask()) == (server.CONTENT_TYPE, "a 1\nb 2\n")


def test_what_the_probes_found_is_told_check_by_check() -> None:
    answers = iter(("not in step", None, None))

    async def ask() -> list[str]:
        app = server.application({"lease": lambda: None}, {"pods": lambda: next(answers)}, bytes)
        async with server.serve(app, "127.0.0.1", 0) as port, aiohttp.ClientSession() as session:
            for path in ("readyz", "readyz", "livez", "metrics/slis"):
                async with session.get(f"http://127.0.0.1:{port}/{path}") as answer:
                    text = await answer.text()
        return [line for line in text.splitlines() if not line.startswith("#")]

    assert asyncio.run(ask()) == [
        'kubernetes_healthcheck{name="lease",type="readyz"} 1',
        'kubernetes_healthcheck{name="pods",type="readyz"} 1',
        'kubernetes_healthcheck{name="lease",type="livez"} 1',
        'kubernetes_healthchecks_total{name="lease",status="success",type="readyz"} 2',
        'kubernetes_healthchecks_total{name="pods",status="error",type="readyz"} 1',
        'kubernetes_healthchecks_total{name="pods",status="success",type="readyz"} 1',
        'kubernetes_healthchecks_total{name="lease",status="success",type="livez"} 1',
    ]
