"""AZScheduler: the emptiest zone for one more pod of a controller; others' pods and other pods do not count."""

import numpy as np
import pytest

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.verdict import BadRequest
from scheduler_plugins import az_scheduler, registry
from scheduler_plugins.decide import decide
from tests.build import node, pod, snapshot, state

ZONE, OLD, AWS = az_scheduler.ZONE_KEYS
PROFILE = registry.profile(filters=(), scorers=(("AZScheduler", 3),))
LEAVING = "2026-01-01T00:00:00Z"


def owned(name: str, on: str = "", uid: str = "one", controller: bool = True, leaving: str = "") -> PendingPod:
    owner = objects.OwnerReference(kind="ReplicaSet", uid=uid, controller=controller)
    meta = {"owner_references": (owner,), "deletion_timestamp": leaving}
    return pod(name, node=on, phase="Running" if on else "Pending", meta=meta)


def zone(name: str) -> objects.Node:
    return node(name, labels={ZONE: name[0]})


def scores(asking: PendingPod, nodes: list[objects.Node], pods: list[PendingPod]) -> list[int] | None:
    found = decide(asking, snapshot(*nodes, pods=pods), PROFILE).scores.get("AZScheduler")
    return None if found is None else [int(score) for score in found]


def test_the_zone_with_the_fewest_pods_of_the_controller_is_best_whatever_the_node() -> None:
    nodes = [zone(name) for name in ("a1", "a2", "b1", "c1")]
    held = [owned("p", "a1"), owned("q", "a1"), owned("r", "b1")]

    assert scores(owned("next"), nodes, held) == [0, 0, 50, 100]


def test_pods_of_others_of_none_and_on_their_way_out_do_not_count() -> None:
    held = [owned("p", "a", uid="two"), owned("q", "a", controller=False), owned("r", "a", leaving=LEAVING)]

    assert scores(owned("next"), [zone("a"), zone("b")], [*held, owned("s", "b")]) == [100, 0]


@pytest.mark.parametrize("asking", [pod("plain"), owned("loose", controller=False)])
def test_a_pod_without_a_controller_is_not_scored(asking: PendingPod) -> None:
    assert scores(asking, [zone("a"), zone("b")], [owned("p", "a")]) is None


def test_where_no_node_has_a_zone_nothing_is_scored() -> None:
    assert scores(owned("next"), [node("x"), node("y")], [owned("p", "x")]) is None


def test_a_node_without_a_zone_comes_last() -> None:
    assert scores(owned("next"), [zone("a"), node("x"), zone("b")], [owned("p", "a"), owned("q", "b")]) == [100, 0, 100]


def test_the_first_zone_label_that_a_node_has_counts() -> None:
    nodes = [node("new", labels={ZONE: "a", OLD: "b"}), node("old", labels={OLD: "a"}), node("id", labels={AWS: "b"})]

    assert scores(owned("next"), nodes, [owned("p", "new")]) == [0, 0, 100]


def test_pods_in_zones_that_take_none_of_it_do_not_set_the_scale() -> None:
    assert az_scheduler.normalise(np.array([7, 5, 5])).tolist() == [0, 100, 100]
    assert az_scheduler.normalise(np.array([5, -1])).tolist() == [100, 0]
    assert az_scheduler.normalise(np.array([-1, -1])).tolist() == [0, 0]


def test_replicas_are_spread_over_zones_of_unequal_size() -> None:
    cluster = state(*(zone(name) for name in ("a1", "a2", "a3", "b1", "c1", "c2")))
    for number in range(12):
        one = owned(f"p{number}")
        cluster.assume(one, str(decide(one, cluster.snapshot(), PROFILE).node))

    placed = [str(cluster.holds(f"uid-p{number}")) for number in range(12)]
    assert sorted(name[0] for name in placed) == [*"aaaabbbbcccc"]


def test_labels_of_ones_own_are_configured_and_none_are_refused() -> None:
    own = registry.profile(filters=(), scorers=(("AZScheduler", 3),), args={"AZScheduler": {"zoneKeys": ["rack"]}})
    cluster = snapshot(node("x", labels={"rack": "1"}), node("y", labels={"rack": "2"}), pods=[owned("p", "x")])

    assert decide(owned("next"), cluster, own).node == "y"
    for wrong in ([], ["rack", ""]):
        with pytest.raises(BadRequest, match=r"zoneKeys: Invalid value: .*: must name labels"):
            registry.profile(args={"AZScheduler": {"zoneKeys": wrong}})
