"""Holds the order of deletion to each key of the ReplicaSet controller, and to the edges between them."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from deletion_cost import victims
from deletion_cost.victims import Standing

NOW = 1_800_000_000  # seconds
NOW_NS = NOW * victims.NANOSECONDS


def pod(name: str, *, ready_for: float | None = 3600, alive_for: float = 7200, **fields: object) -> Standing:
    """A pod that is Ready on its own node since an hour, unless told otherwise; its UID is its name."""
    ready = None if ready_for is None else NOW - int(ready_for)
    plain = Standing(name, name, f"node-{name}", is_ready=ready is not None, ready_since=ready)
    return replace(plain, **{"created": NOW - int(alive_for), **fields})  # type: ignore[arg-type]


def order(*pods: Standing, related: Iterable[Standing] = ()) -> str:
    """The pods' names in the order of deletion."""
    return "".join(one.name for one in victims.in_order(pods, related, NOW_NS))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"node": ""}, {"phase": "Pending", "ready_for": None}, id="unassigned before Pending"),
        pytest.param({"phase": "Pending"}, {"phase": "Unknown", "ready_for": None}, id="Pending before Unknown"),
        pytest.param({"phase": ""}, {"phase": "Unknown"}, id="a phase nobody knows counts as Pending"),
        pytest.param({"phase": "Unknown"}, {"ready_for": None}, id="Unknown before Running"),
        pytest.param({"ready_for": None, "cost": 9}, {"cost": -9}, id="not Ready before Ready, whatever the costs"),
        pytest.param({"cost": -1}, {"ready_for": 1}, id="lower cost before younger"),
        pytest.param({"ready_for": None, "cost": 1}, {"ready_for": None, "cost": 2}, id="cost among those not Ready"),
        pytest.param({"ready_for": 4000}, {"ready_for": 9000}, id="Ready since a shorter time"),
        pytest.param({"ready_for": -5}, {"ready_for": 1}, id="Ready in the future counts as youngest"),
        pytest.param({"ready_since": None}, {"ready_for": -5}, id="no time of Ready comes before the future"),
        pytest.param({"restarts": 2}, {"restarts": 1, "sidecar_restarts": 9}, id="restarts before sidecars'"),
        pytest.param({"sidecar_restarts": 1}, {}, id="sidecars' restarts"),
        pytest.param({"alive_for": 3600}, {}, id="younger"),
        pytest.param({"created": None}, {"alive_for": 1}, id="no time of creation"),
    ],
)
def test_each_key_decides_where_those_before_it_tie(first: dict[str, object], second: dict[str, object]) -> None:
    """The pod that goes first has the higher UID, so that no tie can decide for it."""
    goes, stays = pod("b", **first), pod("a", **second)  # type: ignore[arg-type]

    assert order(stays, goes) == order(goes, stays) == "ba"


def test_in_one_bucket_of_ages_the_lower_uid_goes_and_later_keys_are_not_looked_at() -> None:
    assert order(pod("b", ready_for=3600, restarts=7), pod("a", ready_for=3700)) == "ab"


def test_pods_that_tie_in_all_keys_go_by_uid() -> None:
    assert order(pod("c"), pod("a"), pod("b")) == "abc"


def test_the_more_crowded_node_loses_a_pod_first_if_a_controller_stands_above() -> None:
    alone, doubled = pod("a"), pod("b", node="node-x")
    other_revision = pod("c", node="node-x")

    assert order(alone, doubled) == "ab"
    assert order(alone, doubled, related=[alone, doubled, other_revision]) == "ba"


def test_pods_that_end_or_have_ended_neither_go_nor_crowd() -> None:
    alone, doubled = pod("a"), pod("b", node="node-x")
    gone = [pod("c", node="node-x", phase="Failed"), pod("d", node="node-x", is_terminating=True)]

    assert order(alone, doubled, *gone, related=[alone, doubled, *gone]) == "ab"


def test_the_next_victims_are_the_first_in_order() -> None:
    pods = [pod(name, cost=cost) for name, cost in zip("abcd", (3, 1, 2, 0), strict=True)]

    assert [one.name for one in victims.next_victims(pods, (), 3, NOW_NS)] == ["d", "b", "c"]
    assert len(victims.next_victims(pods, (), 9, NOW_NS)) == 4


def test_after_a_burst_of_500_the_nodes_are_counted_afresh() -> None:
    """600 on one node and 550 on another: sorted once, all 600 would go before any of the 550."""
    crowd = [pod(f"x{number:03}", node="x") for number in range(600)]
    fewer = [pod(f"y{number:03}", node="y") for number in range(550)]

    gone = victims.next_victims(crowd + fewer, crowd + fewer, 700, NOW_NS)

    assert [one.node for one in gone] == ["x"] * 500 + ["y"] * 200
