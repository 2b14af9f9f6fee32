"""Reading all pods of a source, and freezing workloads of which too little is heard."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from deletion_cost.announcements import Announcer
from deletion_cost.config import Config
from deletion_cost.load import IDLE, Load
from deletion_cost.metrics import Metrics
from deletion_cost.polling import Poller
from deletion_cost.sample import Sample
from deletion_cost.source import Target
from deletion_cost.workloads import Workloads
from kube_client.client import Client
from kube_client.event_bodies import reporter
from kube_client.events import Recorder
from kube_client.timing import Timing
from tests.deletion_cost.build import Cluster, pod, replica_set
from tests.kube_client.fake_api import MemoryClient
from tests.kube_client.store import Store

QUICK = Config(poll_seconds=0.2)


class Scripted:
    """A source that answers what the test says, and remembers who was asked."""

    def __init__(self) -> None:
        self.says: dict[str, Sample | None] = {}
        self.asked: list[str] = []
        self.hangs = False

    async def read(self, targets: Sequence[Target]) -> Mapping[str, Sample | None]:
        self.asked = [target.name for target in targets]
        if self.hangs:
            await asyncio.sleep(60)
        return {target.uid: self.says.get(target.name) for target in targets if target.name in self.says}


class Stage:
    """Four pods of "web", asked at port 80."""

    def __init__(self, count: int = 4) -> None:
        self.cluster, self.source = Cluster(), Scripted()
        self.cluster.add(replica_set(port="80"), *(pod(f"p{number}") for number in range(count)))
        timing = Timing(monotonic=lambda: self.cluster.now)
        self.recorder = Recorder(_client(timing), reporter("test", "host"))
        announcer = Announcer(self.recorder)
        workloads = Workloads(self.cluster.fleet, Config(), announcer)
        self.poller = Poller(workloads, {"endpoint": self.source}, QUICK, Metrics(), announcer, timing)

    def poll(self, **requests: float) -> None:
        """Let these pods tell their requests, the others nothing."""
        self.source.says = {name: Sample(active_requests=count) for name, count in requests.items()}
        asyncio.run(self.poller.poll("endpoint"))

    @property
    def frozen(self) -> bool:
        return "uid-web" in self.poller.frozen

    def load(self, name: str) -> Load | None:
        return self.cluster.member(name).reading.load


def _client(timing: Timing) -> Client:
    return MemoryClient(Store(), timing)


def test_answers_are_kept_and_wake_a_plan() -> None:
    stage = Stage()
    stage.cluster.fleet.stirred.clear()
    stage.poll(p0=1, p1=0, p2=0, p3=0)
    assert (stage.load("p0"), stage.load("p1")) == (Load(5, True), IDLE)
    assert stage.cluster.fleet.stirred == {"uid-web"}


def test_only_ready_pods_of_ours_are_asked() -> None:
    stage = Stage()
    stage.cluster.add(pod("p0", ready=False), pod("p1", leaving=True), pod("p2", 7, writer="karpenter"))
    stage.cluster.add(pod("off", annotations={"scheduling.gpu/deletion-cost": "off"}))
    stage.poll()
    assert stage.source.asked == ["p3"]


def test_half_of_the_pods_may_be_missing_and_not_more() -> None:
    stage = Stage()
    stage.poll(p0=1, p1=1, p2=1, p3=1)
    stage.poll(p0=1, p1=1)
    assert not stage.frozen
    stage.poll(p0=1)
    assert stage.frozen
    stage.poll(p0=1, p1=1)
    assert not stage.frozen


def test_a_workload_that_never_told_anything_is_frozen_before_its_pods_count_as_idle() -> None:
    stage = Stage()
    for _ in range(3):
        stage.poll()
        assert (stage.frozen, stage.load("p0")) == (False, None)
    stage.poll()
    assert (stage.frozen, stage.load("p0")) == (True, IDLE)


def test_new_pods_that_are_not_heard_yet_freeze_nothing() -> None:
    stage = Stage(1)
    stage.poll(p0=1)
    stage.cluster.add(*(pod(f"new{number}") for number in range(9)))
    stage.poll(p0=1)
    assert not stage.frozen


def test_a_freeze_is_told_once_on_the_workload(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    stage.poll(p0=1, p1=1, p2=1, p3=1)
    stage.poll()
    stage.poll()
    assert [record.getMessage() for record in caplog.records] == ["workload frozen workload=ns/web missing=4 of=4"]


def test_a_workload_whose_pods_are_all_gone_is_not_frozen_any_more() -> None:
    stage = Stage(1)
    stage.poll(p0=1)
    stage.poll()
    stage.cluster.add(pod("p0", ready=False))
    stage.poll()
    assert not stage.frozen


def test_a_source_that_hangs_has_told_nothing() -> None:
    stage = Stage()
    stage.poll(p0=1, p1=1, p2=1, p3=1)
    stage.source.hangs = True
    stage.poll(p0=1, p1=1, p2=1, p3=1)
    assert stage.frozen


def test_a_container_that_restarted_begins_without_a_load() -> None:
    stage = Stage()
    stage.poll(p0=9, p1=0, p2=0, p3=0)
    stage.cluster.add(pod("p0", restarts=1))
    assert stage.load("p0") is None
