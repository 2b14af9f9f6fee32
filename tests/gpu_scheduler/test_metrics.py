"""What is exposed: kube-scheduler's names, types, labels and buckets, each series from the moment that tells most."""

import re

import pytest

from gpu_scheduler.metrics import Levels, Metrics

LEVELS = Levels(
    pending_pods={"active": 2, "backoff": 1, "unschedulable": 3, "gated": 4},
    unschedulable_pods={("NodeName", "a"): 3},
    cache_size={"nodes": 1, "pods": 2, "assumed_pods": 0},
    in_flight={"binding": 5, "DefaultPreemption": 1, "Filter": 0},
    leader=True,
    preemptions={"success": 2, "error": 1},
    volume_errors={"bind": 6},
    events={"written": 7},
    watches={("pods", "lists"): 8},
)


@pytest.fixture
def metrics() -> Metrics:
    found = Metrics(["a"])
    found.observe_levels(lambda: LEVELS, "lease")
    return found


def series(metrics: Metrics, name: str) -> dict[str, float]:
    """The series of one name, by their labels as they are written."""
    found = re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", metrics.text().decode(), re.MULTILINE)
    return {labels: float(value) for labels, value in found}


def test_queued_entities_are_the_pods_of_the_four_queues(metrics: Metrics) -> None:
    assert series(metrics, "scheduler_queued_entities") == {
        'queue="active",type="pod"': 2,
        'queue="backoff",type="pod"': 1,
        'queue="unschedulable",type="pod"': 3,
        'queue="gated",type="pod"': 4,
    }
    assert series(metrics, "scheduler_pending_pods").keys() >= {'queue="incomplete"', 'queue="pending"'}


def test_who_enters_a_queue_counts_as_pod_and_who_becomes_active_as_entity_too(metrics: Metrics) -> None:
    metrics.incoming("active", "NodeAdd")
    metrics.incoming("active", "NodeAdd")
    metrics.incoming("unschedulable", "ScheduleAttemptFailure")

    assert series(metrics, "scheduler_queue_incoming_pods_total") == {
        'event="NodeAdd",queue="active"': 2,
        'event="ScheduleAttemptFailure",queue="unschedulable"': 1,
    }
    assert series(metrics, "scheduler_queue_incoming_entities_total") == {
        'event="NodeAdd",queue="active",type="pod"': 2
    }


def test_only_a_pod_that_no_event_woke_counts_as_scheduled_after_a_flush(metrics: Metrics) -> None:
    assert series(metrics, "scheduler_pod_scheduled_after_flush_total") == {"": 0}
    metrics.bound(1, 0.5)
    metrics.bound(2, 400.0, flushed=True)

    assert series(metrics, "scheduler_pod_scheduled_after_flush_total") == {"": 1}


def test_levels_are_read_at_the_scrape(metrics: Metrics) -> None:
    assert series(metrics, "scheduler_goroutines")['operation="binding"'] == 5
    assert series(metrics, "scheduler_preemption_goroutines_execution_total") == {
        'result="success"': 2,
        'result="error"': 1,
    }
    assert series(metrics, "scheduler_volume_scheduling_stage_error_total") == {'operation="bind"': 6}


def test_nothing_is_exposed_that_only_this_client_library_adds(metrics: Metrics) -> None:
    metrics.bound(1, 0.5)
    metrics.preempted(2)

    assert "_created" not in metrics.text().decode()


def test_the_process_tells_of_itself(metrics: Metrics) -> None:
    assert series(metrics, "process_resident_memory_bytes")[""] > 2**20
    assert series(metrics, "process_start_time_seconds")[""] > 1.7e9
