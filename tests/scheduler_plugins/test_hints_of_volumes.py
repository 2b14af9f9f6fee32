"""Hints about storage: whose claim it is, whose disk, and whether there is more room than before."""

import pytest

from cluster_model.objects import Disk, Volume
from cluster_model.pod import PendingPod
from cluster_model.storage_objects import MIGRATED_PLUGINS
from cluster_model.verdict import Event
from scheduler_plugins.hints.interest import Hint
from tests.build import node, pod
from tests.build_storage import (
    DRIVER,
    ZONE,
    attachment,
    capacity,
    claim,
    csi_node,
    driver,
    storage_class,
    using,
    volume,
)
from tests.scheduler_plugins.hinting import ask

QUEUE, SKIP, ERROR = Hint.QUEUE, Hint.SKIP, Hint.ERROR
RESTRICTIONS, LIMITS, IN_ZONE, BINDING = "VolumeRestrictions", "NodeVolumeLimits", "VolumeZone", "VolumeBinding"
NAMED = pod(volumes=using("claim"))
MADE = pod(volumes=(Volume(name="scratch", ephemeral={}),))
GONE = Event.ASSIGNED_POD_DELETE


def with_disk(name: str, read_only: bool = False, node: str = "") -> PendingPod:
    disk = Disk(pd_name=name, read_only=read_only)
    return pod("d", node=node, volumes=(Volume(name="v", gce_persistent_disk=disk),))


@pytest.mark.parametrize("plugin", [RESTRICTIONS, LIMITS, IN_ZONE, BINDING])
def test_a_claim_is_wanted_by_the_pod_that_names_it(plugin: str) -> None:
    assert ask(plugin, Event.CLAIM_ADD, NAMED, None, claim()) is QUEUE
    assert ask(plugin, Event.CLAIM_ADD, NAMED, None, claim("other")) is SKIP
    assert ask(plugin, Event.CLAIM_ADD, NAMED, None, claim(namespace="other")) is SKIP


@pytest.mark.parametrize(("plugin", "hint"), [(RESTRICTIONS, SKIP), (IN_ZONE, SKIP), (LIMITS, QUEUE), (BINDING, QUEUE)])
def test_a_claim_made_for_the_pod_is_wanted_where_such_are_looked_at(plugin: str, hint: Hint) -> None:
    assert ask(plugin, Event.CLAIM_ADD, MADE, None, claim("p-scratch")) is hint


@pytest.mark.parametrize(("plugin", "hint"), [(RESTRICTIONS, None), (LIMITS, None), (IN_ZONE, QUEUE), (BINDING, QUEUE)])
def test_an_update_of_a_claim_matters_to_zones_and_binding(plugin: str, hint: Hint | None) -> None:
    assert ask(plugin, Event.CLAIM_UPDATE, NAMED, claim(), claim(on="v")) is hint


@pytest.mark.parametrize(
    ("gone", "hint"),
    [
        (with_disk("x", node="n"), QUEUE),
        (with_disk("y", node="n"), SKIP),
        (with_disk("x", node=""), QUEUE),
    ],
)
def test_restrictions_want_a_disk_given_back(gone: PendingPod, hint: Hint) -> None:
    assert ask(RESTRICTIONS, GONE, with_disk("x"), gone) is hint


def test_restrictions_let_readers_share_a_disk() -> None:
    assert ask(RESTRICTIONS, GONE, with_disk("x", read_only=True), with_disk("x", read_only=True, node="n")) is SKIP


def test_restrictions_want_a_claim_of_the_same_namespace_given_back() -> None:
    user, elsewhere = pod("u", volumes=using("claim")), pod("u", volumes=using("claim"), meta={"namespace": "x"})

    assert ask(RESTRICTIONS, GONE, NAMED, user) is QUEUE
    assert ask(RESTRICTIONS, GONE, NAMED, pod("u", volumes=using("other"))) is SKIP
    assert ask(RESTRICTIONS, GONE, NAMED, elsewhere) is SKIP


@pytest.mark.parametrize(
    ("gone", "hint"),
    [
        (pod("g", node="n", volumes=using("any")), QUEUE),
        (pod("g", node="n", volumes=(Volume(name="v", ephemeral={}),)), QUEUE),
        (with_disk("x", node="n"), QUEUE),
        (pod("g", node="n", volumes=(Volume(name="v"),)), SKIP),
        (pod("g", volumes=using("any")), SKIP),
    ],
)
def test_limits_want_any_pod_gone_whose_volumes_may_have_counted(gone: PendingPod, hint: Hint) -> None:
    assert ask(LIMITS, GONE, NAMED, gone) is hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ({DRIVER: 1}, {DRIVER: 2}, QUEUE),
        ({DRIVER: 2}, {DRIVER: 1}, SKIP),
        ({}, {DRIVER: 1}, QUEUE),
        ({}, {DRIVER: 0}, SKIP),
    ],
)
def test_limits_want_a_limit_raised(old: dict[str, int], new: dict[str, int], hint: Hint) -> None:
    assert ask(LIMITS, Event.CSI_NODE_UPDATE, NAMED, csi_node("n", old), csi_node("n", new)) is hint


def test_limits_want_a_volume_detached_that_may_be_one_of_the_pods() -> None:
    google, ours = attachment("a", "n", "v", "pd.csi.storage.gke.io"), attachment("a", "n", "v")
    broken = pod(volumes=(Volume(name="v", aws_elastic_block_store=Disk(volume_id="aws://zone/none")),))

    assert ask(LIMITS, Event.ATTACHMENT_DELETE, NAMED, ours) is QUEUE
    assert ask(LIMITS, Event.ATTACHMENT_DELETE, with_disk("x"), google) is QUEUE
    assert ask(LIMITS, Event.ATTACHMENT_DELETE, with_disk("x"), ours) is SKIP
    assert ask(LIMITS, Event.ATTACHMENT_DELETE, broken, ours) is ERROR


def test_zones_want_a_class_that_waits_and_a_volume_in_another_zone() -> None:
    waiting, immediate = storage_class(), storage_class(mode="Immediate")
    a, b = volume(labels={ZONE: "a"}), volume(labels={ZONE: "b"})

    assert ask(IN_ZONE, Event.CLASS_ADD, NAMED, None, waiting) is QUEUE
    assert ask(IN_ZONE, Event.CLASS_ADD, NAMED, None, immediate) is SKIP
    assert ask(IN_ZONE, Event.VOLUME_UPDATE, NAMED, a, b) is QUEUE
    assert ask(IN_ZONE, Event.VOLUME_UPDATE, NAMED, a, volume(labels={ZONE: "a", "x": "y"})) is SKIP


@pytest.mark.parametrize("event", [Event.NODE_ADD, Event.NODE_LABEL])
@pytest.mark.parametrize("plugin", [IN_ZONE, BINDING])
def test_any_node_or_label_may_be_where_a_volume_is(plugin: str, event: Event) -> None:
    assert ask(plugin, event, NAMED, node(), node()) is QUEUE


def test_binding_wants_another_topology_of_a_class() -> None:
    here, there = storage_class(topologies=[{ZONE: ["a"]}]), storage_class(topologies=[{ZONE: ["b"]}])

    assert ask(BINDING, Event.CLASS_UPDATE, NAMED, here, there) is QUEUE
    assert ask(BINDING, Event.CLASS_UPDATE, NAMED, here, storage_class(topologies=[{ZONE: ["a"]}], mode="x")) is SKIP


def test_binding_wants_a_node_that_has_migrated_otherwise() -> None:
    old, new = csi_node("n"), csi_node("n", annotations={MIGRATED_PLUGINS: "kubernetes.io/gce-pd"})

    assert ask(BINDING, Event.CSI_NODE_UPDATE, NAMED, old, new) is QUEUE
    assert ask(BINDING, Event.CSI_NODE_UPDATE, NAMED, old, csi_node("n", {DRIVER: 3})) is SKIP


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (("1Gi", None), ("2Gi", None), QUEUE),
        (("2Gi", None), ("1Gi", None), SKIP),
        ((None, None), ("1Gi", None), QUEUE),
        (("9Gi", "1Gi"), ("9Gi", "2Gi"), QUEUE),
        (("1Gi", "2Gi"), ("9Gi", "2Gi"), SKIP),
        (("1Gi", None), (None, None), SKIP),
    ],
)
def test_binding_wants_room_for_larger_volumes(
    old: tuple[str | None, str | None], new: tuple[str | None, str | None], hint: Hint
) -> None:
    before, after = capacity("c", old[0], most=old[1]), capacity("c", new[0], most=new[1])

    assert ask(BINDING, Event.CAPACITY_UPDATE, NAMED, before, after) is hint


def test_binding_wants_a_driver_of_the_pods_own_that_counts_no_more() -> None:
    inline = pod(volumes=(Volume(name="v", csi=Disk(driver=DRIVER)),))

    assert ask(BINDING, Event.CSI_DRIVER_UPDATE, inline, driver(capacity=True), driver()) is QUEUE
    assert ask(BINDING, Event.CSI_DRIVER_UPDATE, inline, driver(), driver(capacity=True)) is SKIP
    assert ask(BINDING, Event.CSI_DRIVER_UPDATE, NAMED, driver(capacity=True), driver()) is SKIP
