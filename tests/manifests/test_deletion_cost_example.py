"""The example of a Deployment with an autoscaler, read by the code that acts on it."""

from __future__ import annotations

import msgspec
import pytest

from deletion_cost import policy, scale_down
from deletion_cost.pod_objects import Pod, ReplicaSet
from deletion_cost.policy import PORT_NAME, Policy
from deletion_cost.scale_down import HorizontalPodAutoscaler
from tests.manifests import rendering
from tests.manifests.installation import Installation
from tests.manifests.rendering import Json, only

FOLDER = rendering.ROOT / "examples" / "deletion-cost"


@pytest.fixture(scope="module")
def objects() -> list[Json]:
    return rendering.render(FOLDER)


def wished(objects: list[Json]) -> Policy:
    """The workload's policy; all of its annotations must be right."""
    template = msgspec.convert(only(objects, "Deployment"), ReplicaSet, strict=False).spec.template
    reading = policy.read(template.metadata.annotations, Policy(), frozenset({"endpoint"}))
    assert reading.problems == ()
    return reading.policy


def test_autoscaler_waits_longer_than_a_pod_warms_up(objects: list[Json]) -> None:
    """Else the controller would warn of it."""
    autoscaler = msgspec.convert(only(objects, "HorizontalPodAutoscaler"), HorizontalPodAutoscaler)

    assert scale_down.window_seconds(autoscaler) > wished(objects).warmup_seconds == 90


@pytest.mark.parametrize(("replicas", "most"), [(4, 0), (5, 1), (10, 1), (20, 2)])
def test_autoscaler_s_steps_are_small(objects: list[Json], replicas: int, most: int) -> None:
    autoscaler = msgspec.convert(only(objects, "HorizontalPodAutoscaler"), HorizontalPodAutoscaler)

    assert scale_down.most_victims(autoscaler, replicas, 60) == most


def test_load_is_asked_at_a_port_that_exists(objects: list[Json]) -> None:
    template = msgspec.convert(only(objects, "Deployment")["spec"]["template"], Pod)

    assert wished(objects).source == "endpoint"
    assert PORT_NAME in {port.name for one in template.spec.containers for port in one.ports}


def test_all_three_are_about_the_same_pods(objects: list[Json]) -> None:
    deployment, autoscaler = only(objects, "Deployment"), only(objects, "HorizontalPodAutoscaler")
    labels = deployment["spec"]["template"]["metadata"]["labels"]

    assert autoscaler["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert only(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels


@pytest.mark.control_plane
def test_example_is_accepted(installed: Installation) -> None:
    installed.plane.kubectl("apply", "--dry-run=server", "-k", FOLDER)
