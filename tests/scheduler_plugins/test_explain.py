"""A decision in words: to the letter what kube-scheduler would say, and readable for people and programs."""

import json

from cluster_model import objects
from scheduler_plugins import explain, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision
from tests.build import node, pod, snapshot, taint

PROFILE = registry.profile()


def pending() -> Decision:
    """A pod of one GPU that three kinds of nodes reject."""
    tainted = [node(f"t{index}", taints=(taint("x:NoSchedule"),)) for index in range(2)]
    return decide(
        pod("train", gpu=1), snapshot(*tainted, node("full"), node("cpu", gpus=0), taken={"full": 8}), PROFILE
    )


def test_reasons_are_counted_and_joined() -> None:
    assert explain.sentence(pending()) == (
        "0/4 nodes are available: 1 Insufficient nvidia.com/gpu, 1 Node does not have GPU, "
        "2 node(s) had untolerated taint(s)."
    )


def test_entries_are_sorted_as_strings_so_10_stands_before_2() -> None:
    cordoned = [node(f"c{index}", unschedulable=True) for index in range(2)]
    tainted = [node(f"t{index}", taints=(taint("x:NoSchedule"),)) for index in range(10)]

    sentence = explain.sentence(decide(pod(gpu=1), snapshot(*cordoned, *tainted), PROFILE))

    assert sentence == "0/12 nodes are available: 10 node(s) had untolerated taint(s), 2 node(s) were unschedulable."


def test_a_node_short_of_several_things_counts_for_each() -> None:
    cluster = snapshot(node("a", allocatable={"cpu": "1", "memory": "1Gi"}), node("b", allocatable={"cpu": "1"}))

    sentence = explain.sentence(decide(pod(requests={"cpu": "2", "memory": "2Gi"}), cluster, PROFILE))

    assert sentence == "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu."


def test_one_text_with_two_cures_is_counted_together() -> None:
    cluster = snapshot(node("busy"), node("small", gpus=1), taken={"busy": 8})

    decision = decide(pod(gpu=2), cluster, PROFILE)

    assert explain.sentence(decision) == "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


def test_a_pod_refused_for_itself_is_not_counted_by_node() -> None:
    decision = decide(
        pod(resource_claims=(objects.PodResourceClaim(name="c"),)), snapshot(node("a"), node("b")), PROFILE
    )

    assert explain.sentence(decision) == (
        "0/2 nodes are available: spec.resourceClaims[0] is not supported by this scheduler yet."
    )


def test_without_nodes_the_sentence_is_kube_schedulers() -> None:
    assert explain.sentence(decide(pod(gpu=1), snapshot(), PROFILE)) == "no nodes available to schedule pods"


def test_a_pod_that_fits_needs_no_sentence() -> None:
    assert explain.sentence(decide(pod(gpu=1), snapshot(node("a")), PROFILE)) == ""


def test_the_table_ranks_what_fits_and_gives_reasons_for_the_rest() -> None:
    cluster = snapshot(node("cpu", gpus=0), node("idle"), node("tight"), taken={"tight": 7})

    lines = explain.table(decide(pod(gpu=1), cluster, PROFILE)).splitlines()

    assert [line.split()[:2] for line in lines[1:3]] == [["*", "tight"], ["idle", "1009"]]
    assert "GPUTopologyPlugin x10" in lines[0]
    assert lines[3:] == ["  cpu: Node does not have GPU (GPUScheduler)"]


def test_the_table_says_how_many_nodes_it_leaves_out() -> None:
    cluster = snapshot(*(node(f"n{index}") for index in range(9)), *(node(f"c{index}", gpus=0) for index in range(9)))

    lines = explain.table(decide(pod(gpu=1), cluster, PROFILE), most=2).splitlines()

    assert (len(lines), lines[-1]) == (1 + 2 + 2 + 1, "and 14 more nodes")


def test_json_carries_the_whole_decision_as_plain_data() -> None:
    cluster = snapshot(node("cpu", gpus=0), node("idle"))

    found = json.loads(json.dumps(explain.as_json(decide(pod("train", gpu=1), cluster, PROFILE))))

    assert (found["pod"]["name"], found["node"], found["nodes"], found["feasible"]) == ("train", "idle", 2, 1)
    assert found["scores"][0]["scores"]["GPUTopologyPlugin"] == 51
    assert found["rejected"] == [{"node": "cpu", "plugin": "GPUScheduler", "reasons": ["Node does not have GPU"]}]
    assert found["curedBy"] == []


def test_json_of_a_pending_pod_has_the_message_and_the_cures() -> None:
    found = json.loads(json.dumps(explain.as_json(pending())))

    assert found["node"] is None
    assert found["message"] == explain.sentence(pending())
    assert "AssignedPodDelete" in found["curedBy"]
