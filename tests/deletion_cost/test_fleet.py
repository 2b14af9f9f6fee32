"""Which pods are ours to keep, and what wakes a plan."""

import pytest

from deletion_cost.load import Load
from deletion_cost.ownership import OURS
from kube_client.changes import Deleted
from tests.deletion_cost.build import Cluster, pod, replica_set

GPU = {"gpu.nvidia.com/model": "A100"}


@pytest.mark.parametrize(
    ("annotation", "label", "gpu", "ours"),
    [
        (None, None, False, False),
        (None, None, True, True),
        (None, "on", False, True),
        (None, "off", True, False),
        ("on", "off", False, True),
        ("off", "on", True, False),
        ("maybe", "on", False, True),
        ("maybe", None, True, True),
    ],
)
def test_the_pod_decides_then_its_namespace_then_whether_it_is_annotated_for_gpus(
    annotation: str | None, label: str | None, gpu: bool, ours: bool
) -> None:
    cluster = Cluster()
    cluster.label(label)
    cluster.add(pod("a", annotations={"scheduling.gpu/deletion-cost": annotation, **(GPU if gpu else {})}))
    assert cluster.member("a").opted is ours


def test_a_label_that_comes_later_counts_for_pods_that_are_there() -> None:
    cluster = Cluster()
    cluster.add(replica_set(), pod("a", annotations={"scheduling.gpu/deletion-cost": None}))
    cluster.fleet.stirred.clear()
    cluster.label("on")
    assert (cluster.member("a").opted, cluster.fleet.stirred) == (True, {"uid-web"})
    cluster.label(None)
    assert not cluster.member("a").opted


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "DaemonSet"])
def test_a_controller_that_does_not_look_is_told_once_where_somebody_asked(kind: str) -> None:
    cluster = Cluster()
    cluster.add(pod("a", kind=kind, owner="db"), pod("b", kind=kind, owner="db"))
    cluster.add(pod("c", kind=kind, owner="gpu", annotations={"scheduling.gpu/deletion-cost": None, **GPU}))
    assert cluster.told.deaf == [f"ns/{kind}/db"]
    assert list(cluster.fleet.workloads()) == []


def test_a_controller_that_does_not_look_is_forgotten_with_its_last_pod() -> None:
    """A CronJob makes a Job each minute: those that are gone are not told of again by the next leader."""
    cluster = Cluster()
    cluster.add(pod("a", kind="Job", owner="old"), pod("b", kind="Job", owner="new"))
    cluster.remove("a")
    cluster.fleet.begin_term()
    assert cluster.told.deaf == ["ns/Job/old", "ns/Job/new", "ns/Job/new"]


@pytest.mark.parametrize("owner", ["", "other"])
def test_a_pod_that_its_replica_set_lets_go_is_no_longer_planned_with_it(owner: str) -> None:
    """As when a person changes its labels to look at it in peace."""
    cluster = Cluster()
    cluster.add(replica_set(), pod("a"), pod("b"), pod("a", owner=owner))
    assert set(cluster.fleet.members("uid-web")) == {"uid-b"}
    cluster.remove("a")
    assert set(cluster.fleet.workloads()) == {"uid-web"}
    assert not cluster.fleet.members("uid-other")


def test_the_end_of_a_pod_counts_though_it_was_let_go_unseen() -> None:
    cluster = Cluster()
    cluster.add(pod("a"))
    cluster.fleet.pod(Deleted(pod("a", owner="")))
    assert (cluster.told.leaving, cluster.told.gone, cluster.fleet.members("uid-web")) == (["a"], ["uid-a"], {})


def test_a_pod_left_to_another_has_no_load_that_could_count_when_it_is_deleted() -> None:
    cluster = Cluster()
    cluster.add(pod("a"))
    cluster.member("a").reading.load = Load(50, True)
    cluster.add(pod("a", 7, writer="karpenter"))
    assert cluster.member("a").reading.load is None


def test_our_own_writes_and_other_annotations_wake_no_plan() -> None:
    cluster = Cluster()
    cluster.add(replica_set(), pod("a"))
    cluster.fleet.stirred.clear()
    cluster.member("a").ownership.sending(-49)
    cluster.add(pod("a", -49), pod("a", -49, annotations={"other": "x"}))
    assert cluster.fleet.stirred == set()
    assert cluster.member("a").ownership.value == -49


def test_what_could_change_a_plan_wakes_it() -> None:
    cluster = Cluster()
    cluster.add(replica_set())
    for change in (pod("a"), pod("a", ready=False), pod("a"), pod("a", restarts=1), pod("a", leaving=True)):
        cluster.fleet.stirred.clear()
        cluster.add(change)
        assert cluster.fleet.stirred == {"uid-web"}


def test_another_writer_is_told_once_and_for_good() -> None:
    cluster = Cluster()
    cluster.add(pod("a", -49), pod("a", 7, writer="karpenter"), pod("a", 8, writer="karpenter"), pod("a"))
    assert cluster.told.stood_down == [("a", "foreign")]
    assert cluster.member("a").ownership.stood_down == "foreign"


def test_who_is_switched_off_and_on_again_is_ours_again() -> None:
    cluster = Cluster()
    cluster.add(pod("a", 7, writer="karpenter"))
    for switch in ("off", "on"):
        cluster.add(pod("a", annotations={"scheduling.gpu/deletion-cost": switch}))
    assert cluster.member("a").ownership.stood_down is None


def test_another_writer_is_told_when_the_pod_is_switched_on() -> None:
    cluster = Cluster()
    cluster.add(pod("a", 7, writer="karpenter", annotations={"scheduling.gpu/deletion-cost": "off"}))
    assert cluster.told.stood_down == []
    cluster.add(pod("a", 7, writer="karpenter"))
    assert cluster.told.stood_down == [("a", "foreign")]


def test_a_standby_tells_nothing_until_it_leads() -> None:
    cluster = Cluster(judging=False)
    cluster.add(pod("a", 7, writer="karpenter"), pod("b", -49), pod("b"), pod("c", kind="Job", owner="job"))
    assert (cluster.told.stood_down, cluster.told.deaf) == ([], [])
    cluster.fleet.begin_term()
    assert (cluster.told.stood_down, cluster.told.deaf) == ([("a", "foreign")], ["ns/Job/job"])


def test_a_pod_leaves_once_whether_its_end_was_announced_or_not() -> None:
    cluster = Cluster()
    cluster.add(pod("a"), pod("b"), pod("a", leaving=True))
    cluster.remove("a")
    cluster.remove("b")
    assert (cluster.told.leaving, cluster.told.gone) == (["a", "b"], ["uid-a", "uid-b"])
    assert list(cluster.fleet.workloads()) == []


def test_news_older_than_the_answer_to_a_write_is_no_news() -> None:
    cluster = Cluster()
    cluster.add(pod("a"))
    old, new = pod("a", ready=False), pod("a", -49, writer=OURS)
    cluster.fleet.answer(new)
    cluster.fleet.take(old)
    assert (cluster.member("a").ready, cluster.member("a").ownership.value) == (True, -49)


def test_an_answer_that_comes_after_the_pods_end_brings_it_not_back() -> None:
    cluster = Cluster()
    cluster.add(pod("a"))
    cluster.remove("a")
    cluster.fleet.answer(pod("a", -49))
    assert cluster.fleet.members("uid-web") == {}


def test_pods_of_all_revisions_are_related_and_a_bare_one_has_none() -> None:
    cluster = Cluster()
    old, new, bare = replica_set("old", deployment="web"), replica_set("new", deployment="web"), replica_set("bare")
    cluster.add(old, new, bare, pod("a", owner="old"), pod("b", owner="new"), pod("c", owner="bare"))
    assert {member.uid for member in cluster.fleet.related(new)} == {"uid-a", "uid-b"}
    assert list(cluster.fleet.related(bare)) == []
