"""NodeName, NodeUnschedulable, TaintToleration and NodePorts, filter and score."""

import dataclasses
from typing import Any

import pytest

from cluster_model import objects
from cluster_model.snapshot import Snapshot
from scheduler_plugins import registry
from scheduler_plugins.decide import decide
from scheduler_plugins.tolerations import tolerates
from tests.build import node, pod, said, snapshot, taint

UNTOLERATED = "node(s) had untolerated taint(s)"


def verdict(plugin: str, cluster: Snapshot, **fields: Any) -> dict[str, str]:
    return said(decide(pod(**fields), cluster, registry.profile(filters=(plugin,), scorers=())))


def toleration(key: str = "", operator: str = "", value: str = "", effect: str = "") -> objects.Toleration:
    return objects.Toleration(key=key, operator=operator, value=value, effect=effect)


def test_a_pod_that_names_its_node_goes_nowhere_else() -> None:
    cluster = snapshot(node("a"), node("b"))
    left_out = "node(s) didn't satisfy plugin(s) [NodeName]"

    assert verdict("NodeName", cluster, node="b") == {"a": left_out, "b": "fits"}
    assert verdict("NodeName", cluster) == {"a": "fits", "b": "fits"}
    assert verdict("NodeName", cluster, node="gone") == {"a": left_out, "b": left_out}


def test_without_its_say_beforehand_a_named_node_is_told_by_the_others() -> None:
    profile = registry.profile(filters=("NodeName",), scorers=())
    judging = tuple(dataclasses.replace(one, narrow=None) for one in profile.filters)
    cluster = snapshot(node("a"), node("b"))

    decision = decide(pod(node="b"), cluster, dataclasses.replace(profile, filters=judging))

    assert said(decision) == {"a": "node(s) didn't match the requested node name", "b": "fits"}


def test_cordoned_nodes_are_left_alone_unless_the_cordon_is_tolerated() -> None:
    cluster = snapshot(node("a", unschedulable=True), node("b"))

    assert verdict("NodeUnschedulable", cluster) == {"a": "node(s) were unschedulable", "b": "fits"}
    tolerant = (toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoSchedule"),)
    assert verdict("NodeUnschedulable", cluster, tolerations=tolerant) == {"a": "fits", "b": "fits"}
    unlike = (toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoExecute"),)
    assert verdict("NodeUnschedulable", cluster, tolerations=unlike)["a"] == "node(s) were unschedulable"


@pytest.mark.parametrize(
    ("one", "covered"),
    [
        (toleration("k", "Equal", "v", "NoSchedule"), True),
        (toleration("k", "", "v", "NoSchedule"), True),
        (toleration("k", "Exists", "", "NoSchedule"), True),
        (toleration("k", "Exists", "other", ""), True),
        (toleration("", "Exists"), True),
        (toleration("", "Equal", "v"), True),
        (toleration("k", "Equal", "other"), False),
        (toleration("k"), False),
        (toleration("other", "Exists"), False),
        (toleration("k", "Exists", "", "NoExecute"), False),
        (toleration("k", "Gt", "0"), False),
        (toleration("k", "exists"), False),
    ],
)
def test_a_toleration_covers_by_key_operator_value_and_effect(one: objects.Toleration, covered: bool) -> None:
    assert tolerates(one, taint("k=v:NoSchedule")) is covered


def test_every_hard_taint_must_be_tolerated_and_soft_ones_need_not() -> None:
    cluster = snapshot(
        node("clean"),
        node("soft", taints=(taint("x:PreferNoSchedule"),)),
        node("hard", taints=(taint("nvidia.com/gpu=present:NoSchedule"),)),
        node("dying", taints=(taint("node.kubernetes.io/not-ready:NoExecute"),)),
        node("both", taints=(taint("nvidia.com/gpu=present:NoSchedule"), taint("x:NoExecute"))),
    )

    tolerant = (toleration("nvidia.com/gpu", "Exists"),)
    assert verdict("TaintToleration", cluster, tolerations=tolerant) == {
        "clean": "fits",
        "soft": "fits",
        "hard": "fits",
        "dying": UNTOLERATED,
        "both": UNTOLERATED,
    }


def scores(cluster: Snapshot, *tolerations: objects.Toleration) -> list[int]:
    profile = registry.profile(filters=(), scorers=(("TaintToleration", 3),))
    found: list[int] = decide(pod(tolerations=tolerations), cluster, profile).scores["TaintToleration"].tolist()
    return found


def soft(count: int) -> tuple[objects.Taint, ...]:
    return tuple(taint(f"k{index}:PreferNoSchedule") for index in range(count))


def test_fewest_soft_taints_score_best() -> None:
    cluster = snapshot(node("a"), node("b", taints=soft(1)), node("c", taints=soft(3)))

    assert scores(cluster) == [100, 100 - 100 // 3, 0]


def test_without_soft_taints_all_score_100() -> None:
    assert scores(snapshot(node("a"), node("b", taints=(taint("x:NoSchedule"),)))) == [100, 100]


def test_only_tolerations_of_soft_or_any_effect_spare_soft_taints() -> None:
    cluster = snapshot(node("a", taints=soft(2)), node("b", taints=soft(1)))

    assert scores(cluster, toleration("k1", "Exists")) == [0, 0]
    assert scores(cluster, toleration("k1", "Exists", effect="PreferNoSchedule")) == [0, 0]
    assert scores(cluster, toleration("k1", "Exists", effect="NoSchedule")) == [0, 50]


def holder(port: int, ip: str = "", protocol: str = "TCP") -> tuple[objects.Container, ...]:
    return (objects.Container(name="c", ports=(objects.ContainerPort(host_port=port, host_ip=ip, protocol=protocol),)),)


@pytest.mark.parametrize(
    ("mine", "theirs", "clash"),
    [
        (holder(80), holder(80), True),
        (holder(80), holder(81), False),
        (holder(80), holder(80, protocol="UDP"), False),
        (holder(80, "10.0.0.1"), holder(80), True),
        (holder(80), holder(80, "10.0.0.1"), True),
        (holder(80, "0.0.0.0"), holder(80, "10.0.0.1"), True),
        (holder(80, "10.0.0.1"), holder(80, "10.0.0.1"), True),
        (holder(80, "10.0.0.1"), holder(80, "10.0.0.2"), False),
        (holder(80, protocol=""), holder(80), True),
    ],
)
def test_host_ports_clash_by_protocol_number_and_address(
    mine: tuple[objects.Container, ...], theirs: tuple[objects.Container, ...], clash: bool
) -> None:
    cluster = snapshot(node("a"), pods=[pod("running", node="a", phase="Running", containers=theirs)])

    taken = "node(s) didn't have free ports for the requested pod ports"
    assert verdict("NodePorts", cluster, containers=mine) == {"a": taken if clash else "fits"}


def test_a_pod_without_host_ports_fits_beside_any() -> None:
    cluster = snapshot(node("a"), pods=[pod("running", node="a", phase="Running", ports=(80,))])

    assert verdict("NodePorts", cluster) == {"a": "fits"}
