"""A scheduler process started with configurations that people have places pods as they say."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.control_plane import waiting
from tests.control_plane.cluster import ControlPlane
from tests.gpu_scheduler.running import Namespace, Scheduler, gpu_nodes, pod, scheduler

pytestmark = pytest.mark.control_plane

DATA = Path(__file__).parents[1] / "data" / "scheduler_configs"
CAPACITY = "scheduling.gpu/capacity"
SPOT = "karpenter.sh/capacity-type"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        gpu_nodes(running, "spot", "base", gpus=8)
        running.api.patch("/api/v1/nodes/spot", {"metadata": {"labels": {SPOT: "spot"}}})
        yield running


@contextmanager
def started(plane: ControlPlane, name: str) -> Iterator[Scheduler]:
    """A process with one of the files; only who leads is told it otherwise."""
    settings = yaml.safe_load((DATA / f"{name}.yaml").read_text(encoding="utf-8"))
    settings.pop("leaderElection", None)
    with scheduler(plane, **settings) as running:
        running.wait_deciding()
        yield running


@contextmanager
def namespace(plane: ControlPlane, name: str) -> Iterator[Namespace]:
    """A namespace whose pods are gone before the next test."""
    plane.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    waiting.until(plane.api.probe(f"/api/v1/namespaces/{name}/serviceaccounts/default"), "the default ServiceAccount")
    pods = Namespace(plane, name)
    yield pods
    plane.api.delete(f"/api/v1/namespaces/{name}/pods", {"gracePeriodSeconds": 0})
    waiting.until(lambda: not pods.pods(), "no pods")


def placed(plane: ControlPlane, name: str, *documents: dict[str, Any]) -> dict[str, str]:
    """Create pods in a namespace of their own, one when the other has its node; return where they are."""
    with namespace(plane, name) as pods:
        for number, document in enumerate(documents, start=1):
            pods.create(document)
            pods.wait_bound(number)
        return pods.places()


def test_the_full_one_keeps_plain_pods_off_spot_nodes_and_sends_tolerant_ones_there(plane: ControlPlane) -> None:
    tolerant = pod("tolerant", tolerations=[{"key": SPOT, "operator": "Exists"}])
    with started(plane, "full") as running:
        found = placed(plane, "full", pod("plain"), tolerant)

    assert found == {"plain": "base", "tolerant": "spot"}
    assert any("is no longer served by Kubernetes" in line for line in running.lines("configuration remark"))


def test_a_wrong_capacity_stays_pending_and_says_what_may_stand_there(plane: ControlPlane) -> None:
    """Nobody judges admission here, as when the webhook is away; put right, the pod is placed."""
    with started(plane, "full"), namespace(plane, "wrong") as pods:
        pods.create(pod("cheap", annotations={CAPACITY: "cheap"}))
        said = pods.wait_condition("cheap", "Unschedulable")["message"]
        plane.api.patch("/api/v1/namespaces/wrong/pods/cheap", {"metadata": {"annotations": {CAPACITY: "spot"}}})
        pods.wait_bound(1)
        places = pods.places()

    problem = f'metadata.annotations[{CAPACITY}]: Invalid value: "cheap": must be one of: spot, on-demand, any.'
    assert said.startswith(f"0/2 nodes are available: {problem}")
    assert places == {"cheap": "spot"}


def test_the_one_with_a_star_counts_pods_and_nothing_else(plane: ControlPlane) -> None:
    with started(plane, "less-pods"):
        found = placed(plane, "less-pods", *(pod(f"p{number}", gpus=99) for number in range(4)))

    assert sorted(found.values()) == ["base", "base", "spot", "spot"]


def test_the_one_for_topology_fills_the_node_that_fits_best(plane: ControlPlane) -> None:
    with started(plane, "topology"):
        found = placed(plane, "topology", pod("six", gpus=6), pod("two", gpus=2), pod("more", gpus=2))

    assert found["six"] == found["two"] != found["more"]
