"""VolumeBinding: what refuses a pod, which volume a claim takes where, what a class makes, and how that scores."""

from typing import Any

import pytest

from cluster_model.objects import LabelSelector, NodeSelector, NodeSelectorTerm, OwnerReference, Volume
from cluster_model.state import ClusterState
from cluster_model.storage_objects import MIGRATED_PLUGINS, SELECTED_NODE, PersistentVolumeClaim, VolumeNodeAffinity
from scheduler_plugins import explain, registry, volume_binding
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, PluginError
from tests import build_storage as make
from tests.build import node, pod, requirement, said, state, stored
from tests.build_storage import ZONE, reference, using

CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
UNMATCHED = "node(s) didn't find available persistent volumes to bind"
FULL = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
LOCAL = make.storage_class("fast", "kubernetes.io/no-provisioner")
COUNTED = make.storage_class("fast", "counts")


def cluster(*found: Any) -> ClusterState:
    """Build two nodes in the zones a and b with some storage."""
    return stored(state(node("a", labels={ZONE: "a"}), node("b", labels={ZONE: "b"})), *found)


def judged(found: ClusterState, *claims: str, shape: list[tuple[int, int]] | None = None, **fields: Any) -> Decision:
    points = [{"utilization": at, "score": score} for at, score in shape or [(0, 10), (100, 0)]]
    args = {"VolumeBinding": {"shape": points}}
    profile = registry.profile("s", ("VolumeBinding",), (("VolumeBinding", 1),), args)
    return decide(pod(volumes=fields.pop("volumes", using(*claims or ("claim",))), **fields), found.snapshot(), profile)


def chosen(found: ClusterState, node_name: str, *claims: str) -> dict[str, str]:
    """Return which volume each claim would take on a node."""
    wanted = pod(volumes=using(*claims or ("claim",)))
    plan = volume_binding.plan(wanted, found.snapshot(), node_name)
    taken = {claim.metadata.name: volume.metadata.name for volume, claim in plan.bindings}
    return taken | {claim.metadata.name: "to be made" for claim in plan.provisions}


def sentence(claim: PersistentVolumeClaim | None, *more: Any, **fields: Any) -> str:
    found = cluster(*(() if claim is None else (claim,)), *more)
    return explain.sentence(judged(found, **fields)).removeprefix("0/2 nodes are available: ")


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (None, 'persistentvolumeclaim "claim" not found'),
        (make.claim(deleted="2026-01-01T00:00:00Z"), 'persistentvolumeclaim "claim" is being deleted'),
        (
            make.claim(on="gone", phase="Lost"),
            'persistentvolumeclaim "claim" bound to non-existent persistentvolume "gone"',
        ),
        (make.claim(of="now"), "pod has unbound immediate PersistentVolumeClaims"),
        (make.claim(of="gone"), "pod has unbound immediate PersistentVolumeClaims"),
        (make.claim(of=None), "pod has unbound immediate PersistentVolumeClaims"),
        (make.claim(on="by-hand", bound=False), "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_a_claim_that_cannot_be_used_or_should_be_bound_refuses_the_pod(
    claim: PersistentVolumeClaim | None, text: str
) -> None:
    said_so = sentence(claim, make.storage_class("now", mode="Immediate"), make.storage_class())

    assert said_so.startswith(f"{text}.")


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (None, 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"'),
        (make.claim("p-v"), "PVC default/p-v was not created for pod default/p (pod is not owner)"),
    ],
)
def test_an_ephemeral_claim_must_be_there_and_the_pods_own(claim: PersistentVolumeClaim | None, text: str) -> None:
    assert sentence(claim, volumes=(Volume(name="v", ephemeral={}),)).startswith(f"{text}.")


def test_an_ephemeral_claim_of_the_pod_binds_like_any_other() -> None:
    own = make.claim("p-v", owner_references=(OwnerReference(kind="Pod", uid="uid-p", controller=True),))
    found = judged(cluster(own, make.storage_class()), volumes=(Volume(name="v", ephemeral={}),))

    assert set(said(found).values()) == {"fits"}


def test_bound_volumes_keep_the_pod_where_they_are() -> None:
    found = cluster(make.claim(on="volume"), make.volume(zone="a"))

    assert said(judged(found)) == {"a": "fits", "b": CONFLICT}


def test_first_bound_claim_that_fails_speaks_for_them() -> None:
    claims = make.claim("one", on="volume"), make.claim("two", on="gone")
    found = cluster(*claims, make.volume(zone="a"))

    assert said(judged(found, "one", "two")) == {"a": MISSING, "b": CONFLICT}
    assert said(judged(found, "two", "one")) == {"a": MISSING, "b": MISSING}


def test_all_that_is_wrong_on_a_node_is_said_in_order() -> None:
    found = cluster(make.claim("bound", on="volume"), make.volume(zone="a", phase="Bound"), make.claim("open"), LOCAL)

    assert said(judged(found, "open", "bound")) == {"a": UNMATCHED, "b": f"{CONFLICT}, {UNMATCHED}"}


def test_nodes_that_have_migrated_a_kind_read_its_zones_in_the_drivers_labels() -> None:
    volume = make.volume(zone="a", handle=None, aws_elastic_block_store=make.disk("vol-1"))
    found = cluster(make.claim(on="volume"), volume)
    assert said(judged(found)) == {"a": "fits", "b": CONFLICT}

    stored(found, *(make.csi_node(name, annotations={MIGRATED_PLUGINS: "kubernetes.io/aws-ebs"}) for name in "ab"))
    assert said(judged(found)) == {"a": CONFLICT, "b": CONFLICT}
    found.set_node(node("b", labels={ZONE: "b", "topology.ebs.csi.aws.com/zone": "a"}))
    assert said(judged(found)) == {"a": CONFLICT, "b": "fits"}


def test_a_volumes_affinity_sees_no_fields_of_a_node() -> None:
    """Conditions on names hold everywhere, as they do in kube-scheduler; a term that cannot be read holds nowhere."""
    named = NodeSelectorTerm(match_fields=(requirement("metadata.name", "In", "b"),))
    odd = NodeSelectorTerm(match_fields=(requirement("metadata.name", "Exists"),))
    for term, verdict in ((named, "fits"), (odd, CONFLICT)):
        affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=(term,)))
        found = cluster(make.claim(on="volume"), make.volume(node_affinity=affinity))
        assert set(said(judged(found)).values()) == {verdict}


def test_smallest_volume_that_fits_is_taken_by_node() -> None:
    volumes = make.volume("large", "5Gi"), make.volume("small", "2Gi", zone="a"), make.volume("tiny", "1Gi")
    found = cluster(make.claim(size="2Gi"), LOCAL, *volumes)

    assert [chosen(found, name) for name in "ab"] == [{"claim": "small"}, {"claim": "large"}]


@pytest.mark.parametrize(
    "fields",
    [
        {"size": "1023Mi"},
        {"phase": "Released"},
        {"of": "other"},
        {"deleted": "2026-01-01T00:00:00Z"},
        {"modes": ("ReadOnlyMany",)},
        {"volume_mode": "Block"},
        {"volume_attributes_class_name": "gold"},
        {"labels": {"tier": "y"}},
        {"claimed": reference("other")},
        {"claimed": reference(uid="uid-of-an-older-one")},
    ],
)
def test_volumes_of_another_make_are_not_taken(fields: dict[str, Any]) -> None:
    claim = make.claim(selector=LabelSelector(match_labels={"tier": "x"}))
    volume = make.volume(**{"labels": {"tier": "x"}, **fields})

    assert set(said(judged(cluster(claim, LOCAL, volume))).values()) == {UNMATCHED}
    assert set(said(judged(cluster(claim, LOCAL, make.volume(labels={"tier": "x"})))).values()) == {"fits"}


@pytest.mark.parametrize("uid", [None, ""])
def test_a_volume_that_names_the_claim_comes_first_whatever_else_fits(uid: str | None) -> None:
    mine = make.volume("mine", "9Gi", claimed=reference(uid=uid), phase="Pending", modes=(), zone="a")
    found = cluster(make.claim(), LOCAL, mine, make.volume("small"))

    assert said(judged(found)) == {"a": "fits", "b": UNMATCHED}
    assert chosen(found, "a") == {"claim": "mine"}


def test_no_two_claims_take_one_volume_and_smaller_claims_choose_first() -> None:
    claims = make.claim("large", "2Gi"), make.claim("small", "1Gi")
    found = cluster(*claims, LOCAL, make.volume("two", "2Gi"), make.volume("three", "3Gi", zone="a"))

    assert said(judged(found, "large", "small")) == {"a": "fits", "b": UNMATCHED}
    assert chosen(found, "a", "large", "small") == {"small": "two", "large": "three"}


def test_what_is_not_there_is_made_where_the_class_can() -> None:
    found = cluster(make.claim(), make.storage_class(topologies=({ZONE: ("b", "c")},)), make.volume(zone="c"))

    assert said(judged(found)) == {"a": UNMATCHED, "b": "fits"}
    assert chosen(found, "b") == {"claim": "to be made"}


def test_topologies_are_alternatives_of_conditions_and_an_empty_one_allows_nothing() -> None:
    both = make.storage_class(topologies=({ZONE: "a", "x": "1"}, {ZONE: "b"}))
    assert said(judged(cluster(make.claim(), both))) == {"a": UNMATCHED, "b": "fits"}

    nothing = make.storage_class(topologies=({},))
    assert set(said(judged(cluster(make.claim(), nothing))).values()) == {UNMATCHED}


def test_a_claim_that_was_sent_to_a_node_goes_nowhere_else_and_takes_no_volume() -> None:
    found = cluster(make.claim(annotations={SELECTED_NODE: "b"}), make.storage_class(), make.volume())

    assert said(judged(found)) == {"a": UNMATCHED, "b": "fits"}
    assert chosen(found, "b") == {"claim": "to be made"}


@pytest.mark.parametrize(
    ("size", "most", "verdict"),
    [("10Gi", None, "fits"), ("5Gi", None, FULL), ("100Gi", "5Gi", FULL), ("1Gi", "100Gi", "fits"), (None, None, FULL)],
)
def test_space_is_asked_for_where_the_driver_counts_it(size: str | None, most: str | None, verdict: str) -> None:
    capacity = make.capacity("c", size, where={ZONE: "a"}, most=most)
    found = cluster(make.claim(size="10Gi"), COUNTED, make.driver("counts", capacity=True), capacity)

    assert said(judged(found)) == {"a": verdict, "b": FULL}


@pytest.mark.parametrize(("counts", "size"), [(False, "10Gi"), (True, None)])
def test_space_is_no_question_without_a_count_or_a_size(counts: bool, size: str | None) -> None:
    found = cluster(make.claim(size=size), COUNTED, make.driver("counts", capacity=counts))

    assert set(said(judged(found)).values()) == {"fits"}


def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    odd = LabelSelector(match_expressions=(requirement("x", "Within"),))

    with pytest.raises(PluginError, match="error creating internal label selector for claim: default/"):
        judged(cluster(make.claim(selector=odd), LOCAL))


def scores(found: ClusterState, *claims: str, shape: list[tuple[int, int]] | None = None) -> list[int]:
    given: list[int] = judged(found, *claims, shape=shape).scores["VolumeBinding"].tolist()
    return given


def test_by_default_the_emptier_storage_is_better() -> None:
    volumes = make.volume("tight", "2Gi", zone="a"), make.volume("wide", "10Gi", zone="b")

    assert scores(cluster(make.claim(), LOCAL, *volumes)) == [50, 90]
    assert scores(cluster(make.claim(), LOCAL, *volumes), shape=[(0, 0), (100, 10)]) == [50, 10]


def test_requests_and_sizes_of_a_class_are_added_up_and_classes_averaged() -> None:
    claims = make.claim("one"), make.claim("two"), make.claim("three", of="slow")
    volumes = make.volume("v1", "2Gi"), make.volume("v2", "6Gi"), make.volume("v3", "10Gi", of="slow")
    slow = make.storage_class("slow", "kubernetes.io/no-provisioner")

    assert scores(cluster(*claims, *volumes, LOCAL, slow), "one", "two", "three") == [83, 83]  # (75 + 90) / 2 = 82.5


def test_what_is_to_be_made_counts_against_what_is_left_for_it() -> None:
    found = cluster(make.claim("one"), make.claim("two"), COUNTED, make.driver("counts", capacity=True))
    stored(found, make.capacity("a", "4Gi", where={ZONE: "a"}), make.capacity("b", "1Gi", where={ZONE: "b"}))

    assert scores(found, "one", "two") == [50, 0]


def test_volumes_that_are_there_count_alone() -> None:
    found = cluster(make.claim("one"), make.claim("two"), COUNTED, make.driver("counts", capacity=True))
    stored(found, make.volume(size="4Gi", zone="a"), make.capacity("c", "100Gi"))

    assert scores(found, "one", "two") == [75, 98]


def test_pods_without_claims_to_bind_score_nothing_anywhere() -> None:
    found = cluster(make.claim(on="volume"), make.volume())

    assert scores(found) == [0, 0]
    assert judged(found, volumes=()).scores["VolumeBinding"].tolist() == [0, 0]


def test_many_volumes_for_the_same_nodes_are_all_considered() -> None:
    """A pod takes no more of them than it has claims, but those that do not fit do not count."""
    unfit = [make.volume(f"unfit-{index}", f"{index + 2}Gi", modes=("ReadOnlyMany",)) for index in range(20)]
    found = cluster(make.claim("one"), make.claim("two"), LOCAL, *unfit)
    stored(found, make.volume("fit-1", "50Gi"), make.volume("fit-2", "60Gi"))

    assert chosen(found, "a", "one", "two") == {"one": "fit-1", "two": "fit-2"}
