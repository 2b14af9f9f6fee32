"""What a pod's cost goes through: cold, warm, rolled out, written by somebody else, switched off."""

import pytest

from tests.control_plane import waiting
from tests.control_plane.api import Json
from tests.deletion_cost.end_to_end.stage import (
    COST,
    DEPLOYMENTS,
    LONG_SECONDS,
    PODS,
    SWITCH,
    Stage,
    choose,
    cost,
    names,
)

pytestmark = pytest.mark.control_plane


def test_new_pods_go_first_while_they_are_cold(stage: Stage) -> None:
    """Four of the ten are new, with the webhook's cost: a scale-down takes just these, idle as the old ones are."""
    stage.create("cold", 6, warmup="20s")
    old = names(stage.wait_ready(["cold"], 6)["cold"])
    waiting.until(lambda: costs(stage, "cold", -50) == 0, "the old ones warm", LONG_SECONDS)
    stage.scale("cold", 10)
    new = stage.wait_ready(["cold"], 10)["cold"]
    assert {cost(pod) for pod in new if pod["metadata"]["name"] not in old} == {-50}

    stage.scale("cold", 6)

    assert names(stage.wait_ready(["cold"], 6)["cold"]) == old
    stage.remove("cold")


def test_new_pods_do_not_go_first_once_they_are_warm(stage: Stage) -> None:
    """After their warm-up new pods that work stay, and old ones that do not go."""
    stage.create("warm", 6, victims="6")
    old = stage.wait_ready(["warm"], 6)["warm"]
    stage.scale("warm", 10)
    pods = stage.wait_ready(["warm"], 10)["warm"]
    new = [pod for pod in pods if pod["metadata"]["name"] not in names(old)]
    stage.load(new)
    waiting.until(lambda: marks(stage, "warm") == names(old), "the old ones marked", LONG_SECONDS)
    assert {cost(pod) for pod in stage.pods("warm") if pod["metadata"]["name"] in names(new)} == {None}

    stage.scale("warm", 4)

    assert names(stage.wait_ready(["warm"], 4)["warm"]) == names(new)
    stage.remove("warm")


def test_rollout_goes_through_and_the_new_pods_are_kept(stage: Stage) -> None:
    """Costs do not hold a rollout up, and the new revision's pods get costs of their own."""
    stage.create("rolled", 5, mode="all")
    stage.load(stage.wait_ready(["rolled"], 5)["rolled"])
    waiting.until(lambda: costs(stage, "rolled", 15) == 5, "costs of the first revision", LONG_SECONDS)
    template = {"spec": {"containers": [{"name": "main", "image": "registry.example/main:2"}]}}
    stage.api.patch(f"{DEPLOYMENTS}/rolled", {"spec": {"template": template}})
    stage.bundle.plane.kubectl("rollout", "status", "deployment/rolled", f"--timeout={LONG_SECONDS}s")

    pods = stage.wait_ready(["rolled"], 5)["rolled"]
    stage.load(pods, active_requests=4)

    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"registry.example/main:2"}
    waiting.until(lambda: costs(stage, "rolled", 20) == 5, "costs of the second revision", LONG_SECONDS)
    stage.remove("rolled")


def test_foreign_writer_is_left_alone_and_told_of(stage: Stage) -> None:
    """A person's value stands, an event on the pod names who wrote it, and a counter counts it."""
    stage.create("foreign", 3, mode="all")
    pods = stage.wait_ready(["foreign"], 3)["foreign"]
    stage.load(pods)
    waiting.until(lambda: costs(stage, "foreign", 15) == 3, "costs of all three", LONG_SECONDS)
    before = counted(stage, 'stand_downs_total{why="foreign"}')
    taken = min(names(pods))
    stage.bundle.plane.kubectl("annotate", "--overwrite", "--field-manager=oncall", f"pod/{taken}", f"{COST}=777")
    said = "DeletionCostForeignWriter"
    waiting.until(lambda: said in [event["reason"] for event in stage.events(taken)], said, LONG_SECONDS)

    stage.load(pods, active_requests=10)
    waiting.until(lambda: costs(stage, "foreign", 50) == 2, "the others' new cost", LONG_SECONDS)

    assert cost(stage.api.get(f"{PODS}/{taken}")) == 777
    [note] = [event["note"] for event in stage.events(taken) if event["reason"] == said]
    assert "oncall" in note
    waiting.until(lambda: counted(stage, 'stand_downs_total{why="foreign"}') == before + 1, "the counter", LONG_SECONDS)
    stage.remove("foreign")


def test_costs_are_removed_where_they_are_switched_off(stage: Stage) -> None:
    """A namespace that is switched off has no cost of ours any more; switched on again, its pods get theirs back."""
    stage.create("switched", 4, mode="all")
    pods = stage.wait_ready(["switched"], 4)["switched"]
    stage.load(pods)
    waiting.until(lambda: costs(stage, "switched", 15) == 4, "costs of all four", LONG_SECONDS)

    stage.bundle.plane.kubectl("label", "namespace", "default", f"{SWITCH}=off")
    waiting.until(lambda: costs(stage, "switched", None) == 4, "no cost any more", LONG_SECONDS)

    stage.bundle.plane.kubectl("label", "namespace", "default", f"{SWITCH}-")
    waiting.until(lambda: costs(stage, "switched", 15) == 4, "the costs back", LONG_SECONDS)
    stage.remove("switched")


def test_wrong_annotation_is_told_and_the_default_holds(stage: Stage) -> None:
    """An event on the workload names path, value and rule; its pods warm up as others do, by the default policy."""
    stage.create("wrong", 5, mode="some")
    stage.wait_ready(["wrong"], 5)
    said = "DeletionCostInvalidPolicy"

    waiting.until(lambda: said in [event["reason"] for event in stage.events("wrong")], said, LONG_SECONDS)

    [note] = {event["note"] for event in stage.events("wrong") if event["reason"] == said}
    assert f'spec.template.metadata.annotations[{SWITCH}-mode]: Invalid value: "some": must be victims or all' in note
    waiting.until(lambda: costs(stage, "wrong", None) == 5, "all five warm, and nothing asked", LONG_SECONDS)
    stage.remove("wrong")


def test_busy_pod_that_is_deleted_counts(stage: Stage) -> None:
    """Somebody deletes a pod with work, then an idle one: one of them counts."""
    stage.create("cut", 3, mode="all")
    pods = stage.wait_ready(["cut"], 3)["cut"]
    busy, idle, _ = choose(pods, 3, "cut")
    stage.load([busy])
    waiting.until(lambda: costs(stage, "cut", 15) == 1, "the busy pod's cost", LONG_SECONDS)
    series = 'busy_pods_deleted_total{namespace="default",workload="cut"}'
    before = counted(stage, series)

    for pod in (idle, busy):
        stage.api.delete(f"{PODS}/{pod['metadata']['name']}")

    waiting.until(lambda: counted(stage, series) == before + 1, "the counter", LONG_SECONDS)
    stage.remove("cut")


def marks(stage: Stage, app: str) -> set[str]:
    """The pods with a victim's mark."""
    return names(pod for pod in stage.pods(app) if -49 <= (cost(pod) or 0) <= -1)


def costs(stage: Stage, app: str, value: int | None) -> int:
    """How many pods have just that cost."""
    return sum(cost(pod) == value for pod in stage.pods(app))


def counted(stage: Stage, series: str) -> float:
    """The value of one of the controller's series, as Prometheus has it; 0 where it is not there."""
    found: list[Json] = stage.prometheus.query(f"sum(gpu_scheduler_deletion_cost_{series})")
    return float(found[0]["value"][1]) if found else 0.0
