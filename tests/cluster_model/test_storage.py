"""What is told of storage wakes the pods it could cure, and what is assumed holds until the server tells newer."""

from typing import Any

import msgspec
import pytest

from cluster_model.csi_migration import CsiVolume
from cluster_model.state import ClusterState
from cluster_model.storage_columns import CsiFacts
from cluster_model.storage_objects import SELECTED_NODE, CsiNode, PersistentVolume, PersistentVolumeClaim
from cluster_model.verdict import Event
from tests import build
from tests import build_storage as make
from tests.build_storage import DRIVER, using


def wanted(volume: PersistentVolume) -> PersistentVolume:
    spec = msgspec.structs.replace(volume.spec, claim_ref=make.reference())
    return msgspec.structs.replace(volume, spec=spec)


def sent(claim: PersistentVolumeClaim, node: str = "n") -> PersistentVolumeClaim:
    meta = msgspec.structs.replace(claim.metadata, annotations={SELECTED_NODE: node})
    return msgspec.structs.replace(claim, metadata=meta)


@pytest.mark.parametrize(
    ("first", "changed", "added", "updated"),
    [
        (make.volume(), make.volume(version="2", labels={"a": "b"}), Event.VOLUME_ADD, Event.VOLUME_UPDATE),
        (make.claim(), make.claim(version="2", phase="Bound"), Event.CLAIM_ADD, Event.CLAIM_UPDATE),
        (make.storage_class(), make.storage_class(topologies=({"a": "b"},)), Event.CLASS_ADD, Event.CLASS_UPDATE),
        (make.csi_node("n"), make.csi_node("n", {DRIVER: 1}), Event.CSI_NODE_ADD, Event.CSI_NODE_UPDATE),
        (make.capacity("c", "1"), make.capacity("c", "2"), Event.CAPACITY_ADD, Event.CAPACITY_UPDATE),
        (make.driver(), make.driver(capacity=True), None, Event.CSI_DRIVER_UPDATE),
        (make.attachment("a", "n", "v"), make.attachment("a", "n", "w"), None, None),
    ],
)
def test_additions_and_changes_are_named_and_repeats_are_no_news(
    first: Any, changed: Any, added: Event | None, updated: Event | None
) -> None:
    state = ClusterState()

    assert build.told(state, first) == ({added} if added else set())
    assert build.told(state, first) == set()
    assert build.told(state, changed) == ({updated} if updated else set())


def test_another_version_alone_is_no_news() -> None:
    state = ClusterState()
    state.storage.set_claim(make.claim())

    assert state.storage.set_claim(make.claim(version="2")) == set()


def test_a_node_without_any_driver_is_read_as_the_api_server_writes_it() -> None:
    """A list without omitempty comes as null; a node that says it has no driver is not one that says nothing."""
    found = msgspec.json.decode(b'{"metadata": {"name": "n"}, "spec": {"drivers": null}}', type=CsiNode)
    state = build.stored(build.state(build.node("n"), build.node("silent")), found)

    assert state.snapshot().storage.csi_nodes.at(0) == CsiFacts(frozenset(), frozenset(), frozenset())
    assert state.snapshot().storage.csi_nodes.at(1) is None


def test_an_attachment_that_goes_makes_room() -> None:
    state = build.stored(ClusterState(), make.attachment("a", "n", "v"))

    assert state.storage.remove_attachment("a") == {Event.ATTACHMENT_DELETE}
    assert state.storage.remove_attachment("a") == set()


def test_an_assumed_volume_is_nobodys_any_more_until_it_is_restored() -> None:
    state = build.stored(ClusterState(), make.volume())
    assert state.storage.assume_volume(wanted(make.volume()))
    assert state.snapshot().storage.free["fast"] == ()
    assert [one.metadata.name for one in state.snapshot().storage.reserved["default/claim"]] == ["volume"]

    state.storage.restore_volume(wanted(make.volume()))
    assert [one.name for one in state.snapshot().storage.free["fast"]] == ["volume"]
    assert "default/claim" not in state.snapshot().storage.reserved


def test_an_assumption_ends_with_the_next_version_and_not_with_a_repeat() -> None:
    state = build.stored(ClusterState(), make.claim())
    state.storage.assume_claim(sent(make.claim()))
    state.storage.set_claim(make.claim())
    assert state.snapshot().storage.claims["default/claim"].metadata.annotations == {SELECTED_NODE: "n"}

    state.storage.set_claim(make.claim(version="2"))
    assert state.snapshot().storage.claims["default/claim"].metadata.annotations == {}


def test_nothing_is_assumed_over_another_version() -> None:
    state = build.stored(ClusterState(), make.claim(version="2"))

    assert not state.storage.assume_claim(sent(make.claim(version="1")))
    assert not state.storage.assume_volume(wanted(make.volume()))
    assert state.snapshot().storage.claims["default/claim"].metadata.annotations == {}


def test_what_was_told_stays_known_beside_what_is_assumed() -> None:
    state = build.stored(ClusterState(), make.claim())
    state.storage.assume_claim(sent(make.claim()))
    told = state.storage.claims.told("default/claim")

    assert told is not None
    assert told.metadata.annotations == {}


def test_restoring_a_version_that_is_over_changes_nothing() -> None:
    state = build.stored(ClusterState(), make.claim())
    state.storage.assume_claim(sent(make.claim()))
    state.storage.set_claim(sent(make.claim(version="2")))
    state.storage.restore_claim(sent(make.claim()))

    assert state.snapshot().storage.claims["default/claim"].metadata.annotations == {SELECTED_NODE: "n"}


def test_a_snapshot_keeps_what_it_saw() -> None:
    state = build.stored(build.state(build.node("n")), make.volume(), make.claim())
    before = state.snapshot()
    state.storage.assume_volume(wanted(make.volume()))
    state.storage.remove_claim("default/claim")

    assert [one.name for one in before.storage.free["fast"]] == ["volume"]
    assert "default/claim" in before.storage.claims


def test_a_claim_counts_by_its_class_first_and_by_its_volume_once_it_is_bound() -> None:
    running = build.pod("r", node="n", volumes=using("claim"))
    state = build.stored(build.state(build.node("n"), pods=[running]), make.claim())
    assert state.snapshot().storage.attached == {}

    state.storage.set_class(make.storage_class())
    assert state.snapshot().storage.attached[DRIVER].tolist() == [1]
    build.stored(state, make.volume(handle="h"), make.claim(on="volume", version="2"))
    assert state.snapshot().storage.uses(CsiVolume(DRIVER, "h")).tolist() == [True]
    assert state.snapshot().storage.attached[DRIVER].tolist() == [1]


def test_one_volume_under_two_claims_counts_once() -> None:
    running = build.pod("r", node="n", volumes=using("a", "b"))
    state = build.stored(
        build.state(build.node("n"), pods=[running]),
        *(make.volume(f"v-{name}", handle="same") for name in "ab"),
        *(make.claim(name, on=f"v-{name}") for name in "ab"),
    )

    assert state.snapshot().storage.attached[DRIVER].tolist() == [1]


def test_an_attachment_counts_beside_the_pods_unless_they_use_the_volume() -> None:
    running = build.pod("r", node="n", volumes=using("a"))
    state = build.stored(
        build.state(build.node("n"), pods=[running]),
        make.volume("v-a"), make.volume("v-b"), make.claim("a", on="v-a"),
        make.attachment("1", "n", "v-a"), make.attachment("2", "n", "v-b"), make.attachment("3", "elsewhere", "v-b"),
    )  # fmt: skip
    assert state.snapshot().storage.attached[DRIVER].tolist() == [2]

    state.remove_pod("uid-r")
    assert state.snapshot().storage.attached[DRIVER].tolist() == [2]
    assert state.snapshot().storage.uses(CsiVolume(DRIVER, "v-a")).tolist() == [False]


def test_rows_taken_out_know_their_own_and_what_is_used_elsewhere() -> None:
    running = build.pod("r", node="b", volumes=using("claim"))
    state = build.state(build.node("a"), build.node("b"), build.node("c"), pods=[running])
    build.stored(state, make.volume(handle="h"), make.claim(on="volume"), make.csi_node("b", {DRIVER: 3}))
    rows = state.snapshot().take(build.rows(1, 0)).storage

    assert (rows.limit(DRIVER).tolist(), rows.attached[DRIVER].tolist()) == ([3, -1], [1, 0])
    assert rows.uses(CsiVolume(DRIVER, "h")).tolist() == [True, False]
    assert state.snapshot().take(build.rows(0)).storage.in_use("default/claim")
