"""A package of users on a real control plane: the documented example, found by its entry point, and one that breaks."""

import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu_scheduler.discovery import GROUP
from tests.control_plane import waiting
from tests.control_plane.api import Json
from tests.control_plane.cluster import ControlPlane
from tests.gpu_scheduler.installed import documented, install
from tests.gpu_scheduler.running import Namespace, Scheduler, gpu_nodes, own_namespace, pod, scheduler

pytestmark = pytest.mark.control_plane

FABRIC = "example.com/fabric"
FABRICS = {"a": "one", "b": "one", "c": "two"}  # of nodes; `bare` is on none
TIMEOUT_SECONDS = 5
FRAGILE = '''
"""Fragile: breaks at the point that a pod names."""

import numpy as np

from gpu_scheduler import extension_points as points


class Fragile(
    points.PreEnqueuePlugin,
    points.FilterPlugin,
    points.ScorePlugin,
    points.ReservePlugin,
    points.PermitPlugin,
    points.PreBindPlugin,
    points.BindPlugin,
):
    def __init__(self, args, handle):
        pass

    def pre_enqueue(self, pod):
        trip(pod, "preEnqueue")

    def filter(self, pod, snapshot):
        trip(pod, "filter")

    def score(self, pod, snapshot, rows):
        trip(pod, "score")
        return np.full(len(rows), 101 if at(pod) == "range" else 0)

    def reserve(self, pod, node, snapshot):
        trip(pod, "reserve")

    def unreserve(self, pod, node):
        if at(pod):
            raise RuntimeError("and again")

    def permit(self, pod, node):
        trip(pod, "permit")

    async def pre_bind(self, pod, node):
        trip(pod, "preBind")

    async def bind(self, pod, node):
        trip(pod, "bind")


def at(pod):
    return pod.pod.metadata.annotations.get("example.com/break")


def trip(pod, point):
    if at(pod) == point:
        raise SystemExit(3) if point == "bind" else RuntimeError("broken on purpose")
'''
ON_PURPOSE = "RuntimeError: broken on purpose"
SCORES = "applying score defaultWeights on Score plugins"
SAID = {
    "preEnqueue": f'running PreEnqueue plugin "Fragile": {ON_PURPOSE}',
    "filter": f'running "Fragile" filter plugin: {ON_PURPOSE}',
    "score": f'running Score plugins: plugin "Fragile" failed with: {ON_PURPOSE}',
    "range": f'{SCORES}: plugin "Fragile" returns an invalid score 101, '
    "it should in the range of [0, 100] after normalizing",
    "reserve": f'running Reserve plugin "Fragile": {ON_PURPOSE}',
    "permit": f'running Permit plugin "Fragile": {ON_PURPOSE}',
    "preBind": f'running PreBind plugin "Fragile": {ON_PURPOSE}',
    "bind": 'running Bind plugin "Fragile": SystemExit: 3',
}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane of our own with nodes of eight GPUs on two fabrics and on none."""
    with ControlPlane() as running:
        gpu_nodes(running, *FABRICS, "bare")
        for name, fabric in FABRICS.items():
            running.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {FABRIC: fabric}}})
        yield running


@pytest.fixture(scope="module")
def running(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scheduler]:
    """One process with both plugins, configured as documented."""
    site: Path = tmp_path_factory.mktemp("packages")
    install(site, "together", documented("python"), tomllib.loads(documented("toml"))["project"]["entry-points"][GROUP])
    install(site, "fragile", FRAGILE, {"Fragile": "fragile:Fragile", "Torn": "no_such_module:Torn"})
    with scheduler(plane, packages=site, **settings()) as started:
        started.wait_ready()
        yield started


def settings() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(documented("yaml"))
    [profile] = found["profiles"]
    profile["plugins"]["multiPoint"]["enabled"].append({"name": "Fragile"})
    profile["plugins"]["bind"] = {"enabled": [{"name": "Fragile"}, {"name": "DefaultBinder"}]}
    profile["pluginConfig"][0]["args"]["timeoutSeconds"] = TIMEOUT_SECONDS
    return found


@pytest.fixture
def pods(plane: ControlPlane) -> Iterator[Namespace]:
    """A namespace of its own; pods are gone before the next test."""
    with own_namespace(plane) as found:
        yield found


def member(name: str, size: int, gpus: int = 1) -> Json:
    return pod(name, gpus, annotations={"example.com/group": "g", "example.com/group-size": str(size)})


def members(pods: Namespace) -> dict[str, Json]:
    return {name: found for name, found in pods.pods().items() if name.startswith("p")}


def test_a_group_starts_together_on_one_fabric(running: Scheduler, pods: Namespace) -> None:
    for number in range(3):
        pods.create(member(f"p{number}", size=3, gpus=5))
        time.sleep(0.3)
        assert len(pods.places()) == 0 or number == 2
    pods.wait_bound(3)

    assert {FABRICS.get(node) for node in pods.places().values()} <= {"one", "two"}
    assert sum(FABRICS[node] == "one" for node in pods.places().values()) >= 2, "the score prefers company"
    for name, found in pods.pods().items():
        assert found["metadata"]["annotations"][FABRIC] == FABRICS[pods.places()[name]]
    waiting.until(lambda: len(running.lines("group member started")) >= 3, "three lines of post_bind")


def test_pods_of_no_group_take_no_notice(running: Scheduler, pods: Namespace) -> None:
    pods.create(*(pod(f"p{number}", 8) for number in range(4)))
    pods.wait_bound(4)

    assert set(pods.places().values()) == {*FABRICS, "bare"}
    assert all(FABRIC not in found["metadata"].get("annotations", {}) for found in pods.pods().values())
    assert running.process.exit_code() is None


def expected(pods: Namespace) -> list[str]:
    """The members of which others are told where they will be."""
    return [name for name, found in members(pods).items() if "nominatedNodeName" in found["status"]]


def test_a_group_that_stays_incomplete_gives_its_places_back(running: Scheduler, pods: Namespace) -> None:
    pods.create(*(member(f"p{number}", size=4, gpus=8) for number in range(3)))
    time.sleep(1)
    pods.create(pod("late", 8, nodeSelector={FABRIC: "two"}))
    said = pods.wait_condition("late", "Unschedulable")["message"]
    assert "Insufficient nvidia.com/gpu" in said, "waiting pods keep their devices"
    assert {found["status"]["nominatedNodeName"] for found in members(pods).values()} == set(FABRICS)

    timed_out = (
        f"0/1 nodes are available: 1 rejected due to timeout after waiting {TIMEOUT_SECONDS}s at plugin Together."
    )
    waiting.until(lambda: pods.condition("p0").get("message") == timed_out, timed_out, 60)
    waiting.until(lambda: "late" in pods.places(), "the place of one that waited", 60)
    waiting.until(lambda: len(expected(pods)) < 3, "what was expected of a pod to be taken back with its place")
    metrics = running.get("/metrics")[1]
    assert 'scheduler_permit_wait_duration_seconds_count{result="Unschedulable"}' in metrics


def test_a_pod_that_is_deleted_while_it_waits_frees_its_place(running: Scheduler, pods: Namespace) -> None:
    pods.create(member("p", size=2, gpus=8) | {"spec": {**member("p", 2, 8)["spec"], "nodeSelector": {FABRIC: "two"}}})
    time.sleep(1)
    pods.create(pod("next", 8, nodeSelector={FABRIC: "two"}))
    pods.wait_condition("next", "Unschedulable")
    pods.plane.api.delete(f"/api/v1/namespaces/{pods.name}/pods/p", {"gracePeriodSeconds": 0})

    waiting.until(lambda: "next" in pods.places(), "the freed place", TIMEOUT_SECONDS - 1)
    assert running.process.exit_code() is None


def test_a_filter_speaks_as_ours_do(running: Scheduler, pods: Namespace) -> None:
    away = {"kubernetes.io/hostname": "bare"}
    pods.create(member("p", 1) | {"spec": {**member("p", 1)["spec"], "nodeSelector": away}})
    said = pods.wait_condition("p", "Unschedulable")["message"]

    assert "1 node(s) were on no fabric" in said
    assert running.process.exit_code() is None


@pytest.mark.parametrize("point", SAID)
def test_what_a_plugin_raises_fails_that_pod_alone(running: Scheduler, pods: Namespace, point: str) -> None:
    pods.create(pod("broken", 8, annotations={"example.com/break": point}))
    condition = pods.wait_condition("broken", "SchedulerError")
    pods.create(*(pod(f"p{number}", 8) for number in range(4)))
    pods.wait_bound(4)

    assert condition["message"] == SAID[point]
    notes = {event["note"] for event in pods.events("broken", "FailedScheduling")}
    assert SAID[point] in notes
    assert running.process.exit_code() is None


def test_points_and_plugins_are_measured(running: Scheduler, pods: Namespace) -> None:
    pods.create(*(pod(f"p{number}", 0) for number in range(120)))
    pods.wait_bound(120)  # a tenth is sampled: of so many that none is happens once in 300,000 times
    metrics = running.get("/metrics")[1]

    point = 'scheduler_framework_extension_point_duration_seconds_count{extension_point="%s",'
    passed = ("Filter", "Score", "Reserve", "Permit", "PreBind", "Bind", "PostBind", "PreEnqueue", "Unreserve")
    assert [name for name in passed if point % name not in metrics] == []
    assert 'scheduler_plugin_evaluation_total{extension_point="Filter",plugin="Together"' in metrics
    assert 'scheduler_plugin_execution_duration_seconds_count{extension_point="Filter",plugin="Together"' in metrics


def test_a_plugin_that_nobody_enables_is_only_a_remark(running: Scheduler) -> None:
    [line] = running.lines("plugin not imported")
    assert "plugin=Torn" in line
