"""Every query of the dashboard, and every rule, on the Prometheus that has scraped the running controller."""

import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.control_plane import waiting
from tests.control_plane.api import Json
from tests.deletion_cost.end_to_end.stage import COST, LONG_SECONDS, Stage, cost
from tests.monitoring import dashboard

pytestmark = pytest.mark.control_plane

PREFIX = "gpu_scheduler_deletion_cost_"
APPS = ("shown", "mistaken", "silent")
QUERIES = list(dashboard.targets())


@pytest.fixture(scope="module")
def scene(stage: Stage) -> Stage:
    """A workload that is kept, one whose query is refused, one whose pods answer nonsense; and whatever counts."""
    stage.create("shown", 4, mode="all")
    stage.create("mistaken", 2, source="prometheus", query="sum(")
    stage.create("silent", 2)
    ready = stage.wait_ready(APPS[:1], 4) | stage.wait_ready(APPS[1:], 2)
    stage.load(ready["silent"], active_requests=-1)
    stage.load(ready["shown"])
    seen(stage, lambda: all(cost(pod) == 15 for pod in stage.pods("shown")), "costs")
    stage.scale("shown", 3)
    seen(stage, lambda: len(stage.pods("shown")) == 3, "a scale-down of busy pods")
    first = stage.pods("shown")[0]["metadata"]["name"]
    stage.bundle.plane.kubectl("annotate", "--overwrite", "--field-manager=oncall", f"pod/{first}", f"{COST}=7")
    for series in ("stand_downs_total", "busy_pods_deleted_total", "source_errors_total", "samples_dropped_total"):
        seen(stage, partial(exposed, stage, series), series)
    return stage


def exposed(stage: Stage, series: str) -> bool:
    """Whether the controller has such a series."""
    return bool(stage.prometheus.query(PREFIX + series))


@pytest.mark.parametrize(("title", "expression"), QUERIES, ids=[f"{n}-{title}" for n, (title, _) in enumerate(QUERIES)])
def test_panel_shows_something(scene: Stage, title: str, expression: str) -> None:
    """The query is valid and has series, over the last minutes as a graph asks for them."""
    now = time.time()
    shown: list[list[Json]] = [[]]

    def look() -> bool:
        shown[0] = scene.prometheus.query_range(dashboard.filled(expression), now - 120, time.time(), 1)
        return bool(shown[0])

    waiting.until(look, f"series for {title}", LONG_SECONDS, 0.5)
    assert all(series["values"] for series in shown[0])


def test_stats_say_what_is_there(scene: Stage) -> None:
    """One leader, and as many pods by band as there are pods that are kept."""
    queries = {title: dashboard.filled(expression) for title, expression in QUERIES}

    assert value(scene, queries["Leaders"]) == 1
    kept = sum(len(scene.pods(app)) for app in APPS)
    waiting.until(lambda: value(scene, queries["Pods"]) == kept, f"{kept} pods by band", LONG_SECONDS)
    waiting.until(lambda: value(scene, queries["Frozen workloads"]) == 2, "two frozen workloads", LONG_SECONDS)


def test_variables_have_values(scene: Stage) -> None:
    """What the dashboard lets one choose from is there."""
    for name, expected in (("job", "gpu-scheduler-deletion-cost"), ("namespace", "default"), ("workload", "shown")):
        query = dashboard.variables()[name]["query"]["query"].removeprefix("label_values(").removesuffix(f", {name})")
        series = scene.prometheus.query(dashboard.filled(query))
        assert expected in {one["metric"][name] for one in series}


def test_rules_are_evaluated_without_an_error(scene: Stage) -> None:
    """Each rule has been evaluated against what the controller exposes; a busy pod that a scale-down took fires."""
    waiting.until(
        lambda: all(rule["health"] == "ok" for rule in scene.prometheus.rules()), "healthy rules", LONG_SECONDS
    )

    waiting.until(lambda: firing(scene, "GPUBusyPodDeleted") >= {"shown"}, "the alert", LONG_SECONDS)
    scene.remove(*APPS)


def firing(stage: Stage, alert: str) -> set[str]:
    """The workloads for which an alert fires."""
    found = next(rule for rule in stage.prometheus.rules() if rule["name"] == alert)
    return {one["labels"].get("workload", "") for one in found["alerts"] if one["state"] == "firing"}


def value(stage: Stage, expression: str) -> float:
    """The value of a query with one series."""
    found = stage.prometheus.query(expression)
    return float(found[0]["value"][1]) if len(found) == 1 else -1.0


def seen(stage: Stage, what: Callable[[], bool], name: str) -> None:
    """Wait for something of the scene."""
    waiting.until(what, name, LONG_SECONDS)
