"""A Deployment of ten, four of them busy, is scaled to four: exactly those survive, in both modes."""

import pytest

from tests.control_plane import waiting
from tests.control_plane.api import Json
from tests.deletion_cost.end_to_end.stage import LONG_SECONDS, Stage, choose, cost, names

pytestmark = pytest.mark.control_plane

ROUNDS, REPLICAS, BUSY = 20, 10, 4


@pytest.mark.parametrize("mode", ["victims", "all"])
def test_exactly_the_busy_pods_survive(stage: Stage, mode: str) -> None:
    """Twenty Deployments at once, each with its own four; none loses a single busy pod."""
    apps = [f"{mode}-{number:02}" for number in range(ROUNDS)]
    for app in apps:
        stage.create(app, REPLICAS, mode=mode)
        stage.autoscale(app, BUSY, REPLICAS)
    ready = stage.wait_ready(apps, REPLICAS)
    busy = {app: choose(ready[app], BUSY, app) for app in apps}
    for app in apps:
        stage.load(busy[app])
    wait_settled(stage, mode, {app: names(pods) for app, pods in busy.items()})

    for app in apps:
        stage.scale(app, BUSY)
    survivors = {app: names(pods) for app, pods in stage.wait_ready(apps, BUSY).items()}

    assert survivors == {app: names(pods) for app, pods in busy.items()}
    stage.remove(*apps)


def wait_settled(stage: Stage, mode: str, busy: dict[str, set[str]]) -> None:
    """Wait until the costs say what the loads do; else say where they do not."""
    right = marked if mode == "victims" else valued
    wrong: dict[str, dict[str, int | None]] = {}

    def settled() -> bool:
        found = stage.by_app()
        unsettled = [app for app, chosen in busy.items() if not right(found.get(app, []), chosen)]
        wrong.clear()
        wrong.update({app: {pod["metadata"]["name"]: cost(pod) for pod in found.get(app, [])} for app in unsettled})
        return not wrong

    try:
        waiting.until(settled, f"costs of {len(busy)} Deployments in mode {mode}", LONG_SECONDS, 0.2)
    except TimeoutError as late:
        raise TimeoutError(f"{late}: {wrong}, busy are {[busy[app] for app in wrong]}") from late


def marked(pods: list[Json], busy: set[str]) -> bool:
    """The others carry a victim's mark, the busy ones no key at all."""
    costs = {pod["metadata"]["name"]: cost(pod) for pod in pods}
    return all((value is None) if name in busy else -49 <= (value or 0) <= -1 for name, value in costs.items())


def valued(pods: list[Json], busy: set[str]) -> bool:
    """The busy ones are worth something, the others nothing."""
    costs = {pod["metadata"]["name"]: cost(pod) or 0 for pod in pods}
    return all((value > 0) if name in busy else value == 0 for name, value in costs.items())
