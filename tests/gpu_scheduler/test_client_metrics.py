"""Calls to the API server are exposed as client-go does."""

from prometheus_client import CollectorRegistry, generate_latest

from gpu_scheduler.client_metrics import ClientMetrics
from kube_client.calls import Calls


def exposed(calls: Calls) -> list[str]:
    registry = CollectorRegistry()
    registry.register(ClientMetrics(calls))
    return generate_latest(registry).decode().splitlines()


def test_answers_count_by_code_and_calls_without_one_as_an_error() -> None:
    calls = Calls()
    for code in (201, 409, 201, None):
        calls.note("POST", "api:6443", code, 0.01)

    lines = exposed(calls)
    assert 'rest_client_requests_total{code="201",host="api:6443",method="POST"} 2.0' in lines
    assert 'rest_client_requests_total{code="409",host="api:6443",method="POST"} 1.0' in lines
    assert 'rest_client_requests_total{code="<error>",host="api:6443",method="POST"} 1.0' in lines


def test_times_fall_into_client_gos_buckets_and_a_bound_ends_its_own() -> None:
    calls = Calls()
    for seconds in (0.001, 0.005, 0.02, 59.0, 61.0):
        calls.note("GET", "api:6443", 200, seconds)

    lines = exposed(calls)
    bucket = 'rest_client_request_duration_seconds_bucket{host="api:6443",'
    counts = {"0.005": 2, "0.025": 3, "60.0": 4, "+Inf": 5}
    assert all(f'{bucket}le="{bound}",verb="GET"}} {count}.0' in lines for bound, count in counts.items())
    assert sum(line.startswith(bucket) for line in lines) == 13
