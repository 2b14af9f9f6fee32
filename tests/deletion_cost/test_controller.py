"""When plans are made, and what a scrape says of it all."""

from typing import Any

import pytest

from deletion_cost import levels
from deletion_cost.announcements import Announcer
from deletion_cost.budget import Budget, Limits
from deletion_cost.config import Config
from deletion_cost.controller import Controller
from deletion_cost.load import Load
from deletion_cost.metrics import Levels, Metrics
from deletion_cost.planning import Planner
from deletion_cost.polling import Poller
from deletion_cost.workloads import Workloads
from deletion_cost.writer import Writer
from kube_client.event_bodies import reporter
from kube_client.events import Recorder
from kube_client.timing import Timing
from tests.deletion_cost.build import Cluster, pod, replica_set
from tests.kube_client.fake_api import MemoryClient
from tests.kube_client.store import Store


class Stage:
    """All parts but the sources and the watches, on a clock of the test's."""

    def __init__(self, chance: float = 0.0) -> None:
        self.cluster, config = Cluster(judging=False), Config()
        timing = Timing(monotonic=lambda: self.cluster.now, random=lambda: chance)
        client = MemoryClient(Store(), timing)
        recorder = Recorder(client, reporter("test", "host"))
        announcer = Announcer(recorder)
        fleet = self.cluster.fleet
        workloads = Workloads(fleet, config, announcer)
        self.metrics = Metrics()
        self.poller = Poller(workloads, {}, config, self.metrics, announcer, timing)
        self.budget = Budget(Limits(1000, 1000, 1000, 0, 90))
        planner = Planner(fleet, config)
        self.controller = Controller(fleet, workloads, planner, self.poller, self.budget, config, timing)
        writer = Writer(client, fleet, self.budget, self.metrics, lambda: fleet.judging)
        self._seen = levels.Sources(workloads, self.poller, self.budget, writer, recorder, {}, config, timing.monotonic)

    def load(self, **points: int) -> None:
        for name, load in points.items():
            self.cluster.member(name).reading.load = Load(load, load > 0)

    def tick(self, after: float = 1) -> dict[str, int | None]:
        """Let time go by, plan, and take what may be written."""
        self.cluster.now += after
        self.controller.tick()
        return {one.uid.removeprefix("uid-"): one.value for _, one in self.budget.take(self.cluster.now)}

    def levels(self) -> Levels:
        return levels.read(self._seen)


def test_what_changes_is_planned_at_the_next_tick() -> None:
    stage = Stage()
    stage.cluster.add(replica_set(replicas=2, victims="1"), pod("a"), pod("b"))
    stage.controller.begin_term()
    stage.load(a=0, b=50)
    assert stage.tick() == {"a": -49}
    stage.load(a=90, b=0)
    assert stage.tick() == {}
    stage.cluster.fleet.stirred.add("uid-web")
    assert stage.tick() == {"b": -49}


def test_everything_is_planned_once_a_poll() -> None:
    stage = Stage()
    stage.cluster.add(replica_set(replicas=2, victims="1"), pod("a"), pod("b"))
    stage.controller.begin_term()
    stage.tick()
    stage.load(a=0, b=50)
    assert stage.tick(28) == {}
    assert stage.tick(2) == {"a": -49}


def test_a_pod_is_warm_at_its_minute_without_any_news() -> None:
    stage = Stage()
    stage.controller.begin_term()
    stage.cluster.add(replica_set(), pod("a", -50, writer="", ready=False))
    stage.tick()
    stage.cluster.add(pod("a", -50, writer=""))
    stage.tick(0)
    stage.tick(40)
    assert stage.tick(19.9) == {}
    assert stage.tick(0.1) == {"a": None}


def test_first_values_are_spread_by_the_number_of_pods() -> None:
    """Half of the longest wait: a second for ten pods at five writes a second."""
    stage = Stage(chance=0.5)
    stage.cluster.add(replica_set(replicas=10, victims="10"), *(pod(f"p{number}") for number in range(10)))
    stage.controller.begin_term()
    stage.load(**{f"p{number}": 0 for number in range(10)})
    assert stage.tick(0.5) == {}
    assert len(stage.tick(1)) == 10


def test_a_marked_pod_with_work_is_protected_at_once_even_then() -> None:
    stage = Stage(chance=1)
    stage.cluster.add(replica_set(replicas=2, victims="1"), pod("a", -49), pod("b"))
    stage.controller.begin_term()
    stage.load(a=50, b=0)
    assert stage.tick(0.1) == {"a": None}


def test_who_does_not_lead_any_more_writes_nothing_that_waits() -> None:
    stage = Stage(chance=1)
    stage.cluster.add(replica_set(), pod("a", annotations={"scheduling.gpu/deletion-cost": "off"}, cost=-49))
    stage.controller.begin_term()
    stage.tick(0)
    assert len(stage.budget) == 1
    stage.controller.end_term()
    assert (len(stage.budget), stage.cluster.fleet.judging) == (0, False)


def test_levels_count_pods_by_band_and_only_where_this_process_leads() -> None:
    stage = Stage()
    off = {"scheduling.gpu/deletion-cost": "off"}
    stage.cluster.add(replica_set("web-1", 5, "web"), pod("x", owner="web-1", annotations=off))
    stage.cluster.add(*(pod(f"p{cost}", cost, owner="web-1") for cost in (-50, -49, 5, 700)))
    assert stage.levels().pods_by_band == {}
    stage.controller.begin_term()
    found = stage.levels()
    bands = {"cold": 1, "victim": 1, "normal": 0, "active": 1, "warm": 1, "other": 0}
    assert found.pods_by_band == {("ns", "web", band): count for band, count in bands.items()}
    assert found.pod_cost == {("ns", f"p{cost}"): cost for cost in (-50, -49, 5, 700)}
    assert found.leader


@pytest.mark.parametrize(("after", "count"), [(599, 0), (601, 1)])
def test_a_ready_pod_that_still_carries_its_first_value_after_ten_minutes_is_counted(after: float, count: int) -> None:
    stage = Stage()
    stage.controller.begin_term()
    stage.cluster.add(replica_set(), pod("a", -50, writer=""))
    stage.cluster.now += after
    assert stage.levels().cold_too_long == count


def test_a_value_that_is_anothers_is_never_cold_for_too_long() -> None:
    stage = Stage()
    stage.controller.begin_term()
    stage.cluster.add(replica_set(), pod("a", -80, writer="kubectl-annotate"))
    stage.cluster.now += 700
    assert stage.levels().cold_too_long == 0


@pytest.mark.parametrize("more", [{"cost": 7, "writer": "kubectl-annotate"}, {"leaving": True}])
def test_a_pod_that_is_not_planned_wakes_no_plan_each_second(more: dict[str, Any]) -> None:
    stage = Stage()
    stage.controller.begin_term()
    stage.cluster.add(replica_set(), pod("a", ready=False), pod("a", **more), pod("b"))
    stage.tick(61)
    stage.load(b=0)
    assert stage.tick(1) == {}
    assert stage.tick(30) == {"b": -49}
