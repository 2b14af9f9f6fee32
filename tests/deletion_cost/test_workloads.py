"""What users are told of their workloads: once for each state, about the object that can cure it."""

import asyncio
import json
from typing import Any

import pytest

from deletion_cost.announcements import Announcer
from deletion_cost.config import Config
from deletion_cost.ownership import StandDown
from deletion_cost.workloads import Workloads
from kube_client.changes import Deleted
from kube_client.client import DEFAULTS, Body, Options
from kube_client.event_bodies import reporter
from kube_client.events import Recorder
from kube_client.timing import Timing
from tests.deletion_cost.build import Cluster, pod, replica_set
from tests.kube_client.fake_api import MemoryClient
from tests.kube_client.store import Store


class Listening(MemoryClient):
    """Remembers the events that are posted."""

    def __init__(self) -> None:
        super().__init__(Store(), Timing())
        self.events: list[dict[str, Any]] = []

    async def request(self, method: str, path: str, body: Body = None, options: Options = DEFAULTS) -> bytes:
        self.calls.append((method, path))
        if method == "POST" and options.repeatable:
            assert isinstance(body, bytes)
            self.events.append(json.loads(body))
        return b"{}"


class Stage:
    """A fleet, and what is said of it."""

    def __init__(self) -> None:
        self.cluster, self.client = Cluster(), Listening()
        self.recorder = Recorder(self.client, reporter("gpu-scheduler-deletion-cost", "host"))
        self.announcer = Announcer(self.recorder)
        self.workloads = Workloads(self.cluster.fleet, Config(), self.announcer)

    def tell(self) -> None:
        for one in self.workloads.all():
            self.workloads.tell(one)

    def said(self) -> list[tuple[str, str, str]]:
        """Reason, kind and name of every event so far."""

        async def written() -> None:
            running = asyncio.create_task(self.recorder.run())
            await self.recorder.drain(5)
            running.cancel()
            await asyncio.wait({running})

        asyncio.run(written())
        about = ((event["reason"], event["regarding"]) for event in self.client.events)
        return [(reason, found["kind"], found["name"]) for reason, found in about]


def test_a_wrong_annotation_is_told_on_the_deployment_once_and_again_when_it_changes() -> None:
    stage = Stage()
    stage.cluster.add(replica_set("web-1", 5, "web", mode="some"), pod("a", owner="web-1"))
    stage.tell()
    stage.tell()
    stage.cluster.add(replica_set("web-1", 5, "web", mode="none"))
    stage.tell()
    assert stage.said() == [("DeletionCostInvalidPolicy", "Deployment", "web")] * 2
    assert stage.workloads.invalid() == 1
    note = stage.client.events[0]["note"]
    assert 'annotations[scheduling.gpu/deletion-cost-mode]: Invalid value: "some": must be victims or all' in note


def test_two_revisions_that_wish_different_things_are_told_of_once_each() -> None:
    """As in a rollout that is stuck: not once more at every poll."""
    stage = Stage()
    stage.cluster.autoscale("Deployment", "web", behavior={"scaleDown": {"stabilizationWindowSeconds": 30}})
    stage.cluster.add(replica_set("web-1", 5, "web", mode="some"), replica_set("web-2", 5, "web", warmup="90s"))
    stage.cluster.add(pod("a", owner="web-1"), pod("b", owner="web-2"))
    for _ in range(3):
        stage.tell()
        stage.workloads.tidy()
    assert sorted(said[0] for said in stage.said()) == ["DeletionCostInvalidPolicy"] + ["DeletionCostShortWindow"] * 2
    assert stage.recorder.counts.written == 3


@pytest.mark.parametrize(("window", "said"), [(30, 1), (60, 0), (None, 0)])
def test_an_autoscaler_that_may_take_cold_pods_is_told_so(window: int | None, said: int) -> None:
    stage = Stage()
    stage.cluster.add(replica_set("web-1", 5, "web"), pod("a", owner="web-1"))
    rules = {} if window is None else {"behavior": {"scaleDown": {"stabilizationWindowSeconds": window}}}
    stage.cluster.autoscale("Deployment", "web", **rules)
    stage.tell()
    stage.tell()
    assert stage.said() == [("DeletionCostShortWindow", "HorizontalPodAutoscaler", "hpa")] * said


def test_a_new_leader_says_it_again() -> None:
    stage = Stage()
    stage.cluster.add(replica_set(mode="some"), pod("a"))
    stage.tell()
    stage.workloads.tell_anew()
    stage.tell()
    assert len(stage.said()) == 1
    assert stage.recorder.counts.written == 2  # the second one counts the first up


def test_other_writers_are_told_on_the_pod() -> None:
    stage = Stage()
    stage.cluster.add(pod("a", 7, writer="karpenter"))
    reasons: tuple[StandDown, ...] = ("foreign", "vanished", "reporter", "template")
    for why in reasons:
        stage.announcer.stood_down(stage.cluster.member("a"), why)
    assert stage.said() == [("DeletionCostForeignWriter", "Pod", "a"), ("DeletionCostRemoved", "Pod", "a")]
    assert "was written by karpenter" in stage.client.events[0]["note"]


def test_a_name_is_known_until_the_last_pod_is_gone() -> None:
    """The ReplicaSet may go before its pods, which are counted by its name."""
    stage = Stage()
    stage.cluster.add(replica_set("web-1", 5, "web"), pod("a", owner="web-1"))
    assert stage.workloads.name("uid-web-1") == "web"
    stage.cluster.fleet.replica_set(Deleted(replica_set("web-1", 5, "web")))
    assert stage.workloads.name("uid-web-1") == "web"
    stage.cluster.remove("a")
    stage.workloads.tidy()
    assert stage.workloads.name("uid-web-1") == ""
