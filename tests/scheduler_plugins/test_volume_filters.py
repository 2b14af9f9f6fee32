"""VolumeRestrictions, NodeVolumeLimits and VolumeZone: which nodes they reject, in which words, and what they skip."""

from typing import Any

import pytest

from cluster_model.csi_migration import BETA_ZONE, REGION, ZONE
from cluster_model.objects import Disk, OwnerReference, Volume
from cluster_model.state import ClusterState
from scheduler_plugins import explain, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, PluginError
from tests import build_storage as make
from tests.build import node, pod, said, state, stored
from tests.build_storage import DRIVER, using

TOO_MANY = "node(s) exceed max volume count"
ELSEWHERE = "node(s) had no available volume zone"
EBS = "ebs.csi.aws.com"
ONE_POD = "ReadWriteOncePod"


def judged(plugin: str, cluster: ClusterState, **fields: Any) -> Decision:
    return decide(pod(**fields), cluster.snapshot(), registry.profile(filters=(plugin,), scorers=()))


def running(name: str, on: str, **fields: Any) -> Any:
    return pod(name, node=on, phase="Running", **fields)


def disk(volume_id: str) -> tuple[Volume, ...]:
    return (Volume(name="d", aws_elastic_block_store=Disk(volume_id=volume_id)),)


def test_a_disk_in_use_on_a_node_rejects_that_node_and_eviction_may_help() -> None:
    cluster = state(node("a"), node("b"), pods=[running("r", "a", volumes=disk("vol-1"))])
    found = judged("VolumeRestrictions", cluster, volumes=disk("vol-1"))

    assert said(found) == {"a": "node(s) had no available disk", "b": "fits"}
    assert all(reason.preemption_may_help for reason in found.table[0].reasons)


def test_a_claim_for_one_pod_that_is_in_use_anywhere_rejects_every_node() -> None:
    cluster = state(node("a"), node("b"), pods=[running("r", "a", volumes=using("claim"))])
    stored(cluster, make.claim(on="volume", modes=(ONE_POD,)), make.volume())
    found = judged("VolumeRestrictions", cluster, volumes=using("claim"))

    assert set(said(found).values()) == {
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    }


def test_disk_speaks_before_claim() -> None:
    both = using("claim") + disk("vol-1")
    cluster = stored(state(node("a"), pods=[running("r", "a", volumes=both)]), make.claim(modes=(ONE_POD,)))

    assert said(judged("VolumeRestrictions", cluster, volumes=both)) == {"a": "node(s) had no available disk"}


@pytest.mark.parametrize(
    ("mode", "on"), [("ReadWriteMany", "a"), (ONE_POD, "elsewhere")], ids=["shared", "unknown node"]
)
def test_claims_that_may_be_shared_or_are_used_on_no_node_reject_nothing(mode: str, on: str) -> None:
    cluster = state(node("a"), pods=[running("r", on, volumes=using("claim"))])
    stored(cluster, make.claim(on="volume", modes=(mode,)))

    assert said(judged("VolumeRestrictions", cluster, volumes=using("claim"))) == {"a": "fits"}


def test_a_claim_that_is_not_there_refuses_the_pod() -> None:
    found = judged("VolumeRestrictions", state(node("a"), node("b")), volumes=using("claim"))

    assert explain.sentence(found).startswith('0/2 nodes are available: persistentvolumeclaim "claim" not found.')


def limited(limit: int | None, *used: str, **more: Any) -> ClusterState:
    """Build a node that attaches so many volumes, some of which pods use."""
    names = ("a", "b", "c")
    pods = [running(f"r-{name}", "n", volumes=using(name)) for name in used]
    cluster = state(node("n"), pods=pods)
    stored(
        cluster, *(make.claim(name, on=f"v-{name}") for name in names), *(make.volume(f"v-{name}") for name in names)
    )
    return stored(cluster, make.csi_node("n", {DRIVER: limit}), *more.values())


@pytest.mark.parametrize(
    ("limit", "used", "asked", "verdict"),
    [
        (1, ("a",), ("b",), TOO_MANY),
        (2, ("a",), ("b",), "fits"),
        (1, ("a",), ("a",), "fits"),
        (2, ("a",), ("b", "c"), TOO_MANY),
        (2, ("a",), ("b", "b"), "fits"),
        (0, (), ("a",), TOO_MANY),
        (None, ("a", "b"), ("c",), "fits"),
    ],
)
def test_new_volumes_count_beside_those_in_use(
    limit: int | None, used: tuple[str, ...], asked: tuple[str, ...], verdict: str
) -> None:
    assert said(judged("NodeVolumeLimits", limited(limit, *used), volumes=using(*asked))) == {"n": verdict}


def test_attached_volumes_count_even_the_one_asked_for_if_no_pod_there_uses_it() -> None:
    cluster = limited(1, attachment=make.attachment("x", "n", "v-a"))

    assert said(judged("NodeVolumeLimits", cluster, volumes=using("a"))) == {"n": TOO_MANY}


def test_a_node_without_csinode_has_no_limit_and_counts_no_migrated_disk() -> None:
    cluster = limited(0, driver=make.driver(EBS, needed=True))
    cluster.set_node(node("m"))
    found = said(judged("NodeVolumeLimits", cluster, volumes=disk("vol-1")))

    assert found == {"n": "ebs.csi.aws.com CSI driver is not installed on the node", "m": "fits"}


def test_a_driver_that_must_be_there_is_missed_before_volumes_are_counted() -> None:
    cluster = stored(limited(0, driver=make.driver(needed=True)), make.csi_node("m", {EBS: 1}))
    cluster.set_node(node("m"))
    cluster.set_node(node("o"))
    missing = f"{DRIVER} CSI driver is not installed on the node"

    found = said(judged("NodeVolumeLimits", cluster, volumes=using("a")))
    assert found == {"n": TOO_MANY, "m": missing, "o": missing}


def test_a_missing_claim_is_looked_up_by_namespace_and_eviction_does_not_help() -> None:
    found = judged("NodeVolumeLimits", state(node("n")), volumes=using("claim"))

    assert said(found) == {"n": 'looking up PVC default/claim: persistentvolumeclaim "claim" not found'}
    assert not found.table[0].reasons[0].preemption_may_help


def test_a_claim_made_for_another_pod_is_an_error() -> None:
    own = make.claim("p-v", owner_references=(OwnerReference(kind="Pod", uid="uid-other", controller=True),))

    with pytest.raises(PluginError, match="PVC default/p-v was not created for pod default/p "):
        judged("NodeVolumeLimits", stored(state(node("n")), own), volumes=(Volume(name="v", ephemeral={}),))


def zoned(labels: dict[str, str], *nodes: dict[str, str]) -> dict[str, str]:
    cluster = state(*(node(f"n{index}", labels=found) for index, found in enumerate(nodes)))
    stored(cluster, make.claim(on="volume"), make.volume(labels=labels))
    return said(judged("VolumeZone", cluster, volumes=using("claim")))


def test_zones_of_a_volume_are_alternatives_and_nodes_without_any_label_pass() -> None:
    found = zoned({ZONE: "a__b"}, {ZONE: "a"}, {ZONE: "b"}, {ZONE: "c"}, {}, {REGION: "r"})

    assert found == {"n0": "fits", "n1": "fits", "n2": ELSEWHERE, "n3": "fits", "n4": ELSEWHERE}


def test_an_old_label_of_a_volume_is_met_by_the_new_one_of_a_node_and_not_the_other_way_round() -> None:
    assert zoned({BETA_ZONE: "a"}, {ZONE: "a"}, {BETA_ZONE: "a"}) == {"n0": "fits", "n1": "fits"}
    assert zoned({ZONE: "a"}, {BETA_ZONE: "a"}) == {"n0": ELSEWHERE}


def test_every_label_must_be_met_and_one_with_an_empty_value_says_nothing() -> None:
    assert zoned({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}) == {"n0": ELSEWHERE}
    assert zoned({ZONE: "a__"}, {ZONE: "b"}) == {"n0": "fits"}


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (make.claim(on="gone"), 'persistentvolume "gone" not found'),
        (make.claim(of=None), "PersistentVolumeClaim had no pv name and storageClass name"),
        (make.claim(of="gone"), 'storageclass.storage.k8s.io "gone" not found'),
        (make.claim(of="now"), "PersistentVolume had no name"),
        (make.claim(of="odd"), 'VolumeBindingMode not set for StorageClass "odd"'),
    ],
)
def test_a_volume_that_should_be_known_refuses_the_pod(claim: Any, text: str) -> None:
    classes = make.storage_class("now", mode="Immediate"), make.storage_class("odd", mode="")
    found = judged("VolumeZone", stored(state(node("n")), claim, *classes), volumes=using("claim"))

    assert explain.sentence(found).startswith(f"0/1 nodes are available: {text}.")


def test_a_claim_that_waits_for_the_pod_has_no_zone_yet() -> None:
    cluster = stored(state(node("n", labels={ZONE: "a"})), make.claim(), make.storage_class())

    assert said(judged("VolumeZone", cluster, volumes=using("claim"))) == {"n": "fits"}
