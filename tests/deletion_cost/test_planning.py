"""From what is known of a ReplicaSet to what its pods should have."""

from deletion_cost import workload
from deletion_cost.config import Config, configured
from deletion_cost.load import Load
from deletion_cost.plan import Urgency
from deletion_cost.planning import Moment, Planner
from deletion_cost.readings import Formula
from tests.deletion_cost.build import Cluster, pod, replica_set

CONFIG = Config()


def wanted(cluster: Cluster, frozen: bool = False) -> dict[str, int | None]:
    """What "web" should have, by pod."""
    found = cluster.fleet.find("uid-web")
    assert found is not None
    read = workload.read(found, CONFIG.policy, configured(CONFIG.sources))
    planned = Planner(cluster.fleet, CONFIG).wanted(read, frozen, Moment(cluster.now, 0))
    return {one.uid.removeprefix("uid-"): one.value for one in planned}


def loaded(cluster: Cluster, **points: int) -> Cluster:
    for name, load in points.items():
        cluster.member(name).reading.load = Load(load, load > 0)
        cluster.member(name).reading.peak = load
    return cluster


def warm_pods(count: int = 5, **annotations: str) -> Cluster:
    cluster = Cluster()
    cluster.add(replica_set(replicas=count, **annotations), *(pod(f"p{number}") for number in range(count)))
    return cluster


def test_a_fifth_is_marked_where_nothing_else_is_said() -> None:
    assert wanted(loaded(warm_pods(), p0=50, p1=0, p2=9, p3=9, p4=9)) == {"p1": -49}


def test_an_autoscaler_says_how_many_are_marked() -> None:
    cluster = loaded(warm_pods(), p0=50, p1=0, p2=9, p3=9, p4=9)
    cluster.autoscale("ReplicaSet", "web", minReplicas=2)
    assert len(wanted(cluster)) == 3


def test_in_a_rollout_each_revision_gives_its_share_of_what_the_autoscaler_takes() -> None:
    """Ten pods may become four: three of the five of each revision, though five are hardly more than four."""
    cluster = Cluster()
    cluster.autoscale("Deployment", "web", minReplicas=4)
    cluster.add(replica_set("web", 5, "web"), replica_set("web-2", 5, "web"))
    cluster.add(*(pod(f"p{number}", owner=("web", "web-2")[number // 5]) for number in range(10)))
    assert len(wanted(loaded(cluster, p0=9, p1=9, p2=9, p3=9, p4=9))) == 3


def test_cold_pods_count_among_the_victims() -> None:
    cluster = loaded(warm_pods(victims="2"), p0=0, p1=0, p2=9, p3=9, p4=9)
    assert len(wanted(cluster)) == 2
    cluster.add(pod("new", -50, writer=""))
    assert len(wanted(cluster)) == 1


def test_a_first_value_goes_when_the_pod_is_warm_and_not_before() -> None:
    cluster = Cluster()
    cluster.add(replica_set(), pod("a", -50, writer="", ready=False), pod("a", -50, writer=""))
    cluster.now += 59
    assert wanted(cluster) == {}
    cluster.now += 1
    assert wanted(cluster) == {"a": None}


def test_a_restarted_pod_is_written_cold_once_it_is_ready_again() -> None:
    cluster = warm_pods(1, victims="0")
    cluster.add(pod("p0", ready=False, restarts=1))
    assert wanted(cluster) == {}
    cluster.add(pod("p0", restarts=1))
    assert wanted(cluster) == {"p0": -50}


def test_a_frozen_workload_loses_only_what_says_that_pods_are_cold() -> None:
    cluster = Cluster()
    cluster.add(replica_set(), pod("marked", -20), pod("free"), pod("new", -50, writer=""))
    cluster.now += 60
    assert wanted(loaded(cluster, marked=900, free=0), frozen=True) == {"new": None}


def test_without_a_source_pods_only_warm_up() -> None:
    cluster = Cluster()
    cluster.add(replica_set(source="none"), pod("a"), pod("marked", -20), pod("new", -50, writer=""))
    cluster.now += 60
    assert wanted(cluster) == {"marked": None, "new": None}


def test_every_pod_has_its_cost_where_that_is_wished() -> None:
    assert wanted(loaded(warm_pods(3, mode="all"), p0=0, p1=15, p2=230)) == {"p1": 15, "p2": 230}


def test_what_opts_out_loses_what_is_ours_and_keeps_what_is_not() -> None:
    off = {"scheduling.gpu/deletion-cost": "off"}
    cluster = Cluster()
    cluster.add(
        replica_set(),
        pod("ours", -20, annotations=off),
        pod("webhook", -50, writer="", annotations=off),
        pod("user", 7, writer="", annotations=off),
        pod("other", 7, writer="kubectl-annotate", annotations=off),
    )
    assert wanted(cluster) == {"ours": None, "webhook": None}


def test_pods_that_leave_or_are_anothers_are_not_written() -> None:
    cluster = warm_pods(3, victims="3", mode="victims")
    cluster.add(pod("p1", leaving=True), pod("p2", 7, writer="karpenter"))
    assert wanted(loaded(cluster, p0=0, p1=0, p2=0)) == {"p0": -49}


def test_a_pod_that_has_fallen_silent_is_chosen_after_those_that_say_they_are_idle() -> None:
    cluster = loaded(warm_pods(3, victims="1"), p0=0, p1=0, p2=50)
    formula = Formula(CONFIG.load, "requests", hold_polls=0)
    cluster.member("p0").reading.miss(formula)
    assert wanted(cluster) == {"p1": -49}


def test_of_equal_pods_those_are_marked_that_would_go_anyway() -> None:
    """Two of the three stand on one node, which the ReplicaSet controller thins out first."""
    cluster = Cluster()
    spread = {"p0": "n1", "p1": "n2", "p2": "n2"}
    cluster.add(replica_set(replicas=3, deployment="web", victims="1"))
    cluster.add(*(pod(name, spec={"nodeName": node}) for name, node in spread.items()))
    assert set(wanted(loaded(cluster, p0=0, p1=0, p2=0))) <= {"p1", "p2"}


def test_a_marked_pod_that_gets_work_is_protected_first() -> None:
    cluster = warm_pods(2, victims="1")
    cluster.add(pod("p0", -49))
    loaded(cluster, p0=50, p1=0)
    found = cluster.fleet.find("uid-web")
    assert found is not None
    read = workload.read(found, CONFIG.policy, configured(CONFIG.sources))
    planned = Planner(cluster.fleet, CONFIG).wanted(read, False, Moment(cluster.now, 0))
    assert {one.uid: one.urgency for one in planned} == {"uid-p0": Urgency.PROTECT, "uid-p1": Urgency.DUE}
