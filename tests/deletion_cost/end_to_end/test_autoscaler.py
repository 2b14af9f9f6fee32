"""The real HorizontalPodAutoscaler takes pods, and a real Prometheus or metrics API says which are busy."""

import pytest

from tests.control_plane import waiting
from tests.deletion_cost.end_to_end.monitoring import METRIC
from tests.deletion_cost.end_to_end.stage import DEPLOYMENTS, LONG_SECONDS, Stage, choose, cost, names

pytestmark = pytest.mark.control_plane


def test_autoscaler_leaves_the_busy_pods(stage: Stage) -> None:
    """Usage falls; in two steps of three pods the autoscaler goes to four, and those are the ones that work."""
    stage.create("autoscaled", 10, source="metrics")
    steps = {"type": "Pods", "value": 3, "periodSeconds": 10}
    stage.autoscale("autoscaled", 4, 10, stabilizationWindowSeconds=10, policies=[steps])
    pods = stage.wait_ready(["autoscaled"], 10)["autoscaled"]
    busy = choose(pods, 4, "autoscaled")
    for pod in pods:
        stage.metrics.tell("default", pod["metadata"]["name"], 50 if pod in busy else 0)

    seen = follow_replicas(stage, "autoscaled", 4)

    assert seen == [10, 7, 4]
    assert names(stage.wait_ready(["autoscaled"], 4)["autoscaled"]) == names(busy)
    stage.remove("autoscaled")


def test_prometheus_tells_who_is_busy(stage: Stage) -> None:
    """One query for the whole workload, against the same server that scrapes the controller."""
    query = f'sum by (pod) ({METRIC}{{namespace="$namespace",pod=~"$workload-.*"}})'
    stage.create("queried", 10, source="prometheus", query=query, victims="6")
    pods = stage.wait_ready(["queried"], 10)["queried"]
    busy = choose(pods, 4, "queried")
    stage.told_to_prometheus.update({pod["metadata"]["name"]: 5 if pod in busy else 0 for pod in pods})
    waiting.until(lambda: len(marked(stage, "queried")) == 6, "six victims", LONG_SECONDS)
    assert not marked(stage, "queried") & names(busy)

    stage.scale("queried", 4)

    assert names(stage.wait_ready(["queried"], 4)["queried"]) == names(busy)
    stage.remove("queried")


def test_budget_for_disruptions_is_not_heeded_by_a_scale_down(stage: Stage) -> None:
    """With minAvailable 8 of 10 the same six pods go: such a budget is for evictions."""
    budget = {"minAvailable": 8, "selector": {"matchLabels": {"app": "budgeted"}}}
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    stage.api.post(path, {"metadata": {"name": "budgeted"}, "spec": budget})
    stage.create("budgeted", 10, victims="6")
    pods = stage.wait_ready(["budgeted"], 10)["budgeted"]
    busy = choose(pods, 4, "budgeted")
    stage.load(busy)
    waiting.until(lambda: len(marked(stage, "budgeted")) == 6, "six victims", LONG_SECONDS)

    stage.scale("budgeted", 4)

    assert names(stage.wait_ready(["budgeted"], 4)["budgeted"]) == names(busy)
    stage.api.delete(f"{path}/budgeted")
    stage.remove("budgeted")


def marked(stage: Stage, app: str) -> set[str]:
    """The pods that carry a victim's mark."""
    return names(pod for pod in stage.pods(app) if -49 <= (cost(pod) or 0) <= -1)


def follow_replicas(stage: Stage, app: str, last: int) -> list[int]:
    """The numbers of replicas that were wished, one after the other, down to the last."""
    seen: list[int] = []

    def look() -> bool:
        wished = stage.api.get(f"{DEPLOYMENTS}/{app}")["spec"]["replicas"]
        if wished not in seen[-1:]:
            seen.append(wished)
        return bool(wished == last)

    waiting.until(look, f"{app} scaled to {last} by its autoscaler", LONG_SECONDS)
    return seen
