"""What is counted of events and hints: kube-scheduler's names, labels and buckets."""

from prometheus_client import CollectorRegistry

from gpu_scheduler.queue_metrics import QueueMetrics


def test_events_and_hints_are_timed_in_kube_schedulers_buckets() -> None:
    registry = CollectorRegistry()
    metrics = QueueMetrics(registry)
    metrics.handled("NodeAdd", 0.0003)
    metrics.hinted("NodeResourcesFit", "NodeAdd", "QueueSkip", 0.00002)

    handling = "scheduler_event_handling_duration_seconds_bucket"
    assert [registry.get_sample_value(handling, {"event": "NodeAdd", "le": le}) for le in ("0.0002", "0.0004")] == [
        0,
        1,
    ]
    assert registry.get_sample_value(handling, {"event": "NodeAdd", "le": "0.2048"}) == 1
    hints, labels = "scheduler_queueing_hint_execution_duration_seconds_bucket", {"plugin": "NodeResourcesFit"}
    labels |= {"event": "NodeAdd", "hint": "QueueSkip"}
    assert [
        registry.get_sample_value(hints, {**labels, "le": le})
        for le in ("1.5000000000000002e-05", "2.2500000000000005e-05")
    ] == [0, 1]


def test_what_is_remembered_for_pods_in_flight_is_read_at_each_scrape() -> None:
    registry, found = CollectorRegistry(), {"PodPopped": 1}
    QueueMetrics(registry).observe(lambda: found)
    found["NodeAdd"] = 2

    name = "scheduler_inflight_events"
    assert [registry.get_sample_value(name, {"event": event}) for event in found] == [1, 2]
