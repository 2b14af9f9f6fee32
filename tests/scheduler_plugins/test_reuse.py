"""A decision from what is remembered equals the full one: every node's reasons, every score, every total."""

import numpy as np
import pytest

from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from scheduler_plugins import registry, reuse
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision
from tests import build, generate

PROFILE = registry.profile()


def said(decision: Decision) -> dict[str, object]:
    """What a decision says, without how its codes are numbered."""
    fitting = [decision.snapshot.names[row] for row in decision.rows]
    return {
        "node": decision.node,
        "refused": decision.refused,
        "rejections": {name: decision.rejection(name) for name in decision.snapshot.names},
        "total": dict(zip(fitting, decision.total.tolist(), strict=True)),
        "scores": {name: scores.tolist() for name, scores in decision.scores.items()},
        "cures": decision.cured_by,
    }


def compare(memory: reuse.Memory, pod: PendingPod, cluster: ClusterState) -> Decision:
    """Decide in both ways, assert that they agree bit for bit, and return the decision."""
    decision = memory.decide(pod, cluster.snapshot())
    assert said(decision) == said(decide(pod, cluster.snapshot(), PROFILE))
    return decision


@pytest.mark.parametrize("seed", range(120))
def test_decisions_from_memory_equal_full_ones_while_pods_come_and_go_and_nodes_change(seed: int) -> None:
    source = generate.seeded(seed)
    cluster, memory = generate.cluster(source), reuse.Memory(PROFILE)
    shapes = [seed * 1000 + number for number in range(3)]
    placed: list[str] = []
    for index in range(40):
        pod = generate.pod(generate.seeded(source.of(shapes)), f"next-{index}")
        decision = compare(memory, pod, cluster)
        if decision.node is not None and cluster.holds(pod.pod.metadata.uid) is None:
            cluster.assume(pod, decision.node)
            placed.append(pod.pod.metadata.uid)
        if placed and source.seldom():
            cluster.remove_pod(placed.pop(0))
        if source.seldom() and source.seldom():
            cluster.set_node(generate.node(source, source.of(generate.NODE_NAMES)))


def test_equal_pods_on_a_filling_cluster_are_decided_as_one_by_one() -> None:
    cluster, memory = ClusterState(), reuse.Memory(PROFILE)
    for number in range(5):
        cluster.set_node(build.node(f"n{number}", gpus=8))
    for number in range(45):
        pod = build.pod(f"p{number}", gpu=1)
        decision = compare(memory, pod, cluster)
        if decision.node is not None:
            cluster.assume(pod, decision.node)
    assert decision.node is None
    assert int(np.count_nonzero(decision.codes)) == 5


def test_pods_that_name_storage_are_never_shared() -> None:
    assert reuse.shape(build.pod("plain", gpu=1)) == reuse.shape(build.pod("other", gpu=1))
    assert reuse.shape(build.pod("plain", gpu=1)) != reuse.shape(build.pod("two", gpu=2))


def test_pods_that_differ_in_the_capacity_that_they_ask_for_are_not_alike() -> None:
    asking = [build.pod(gpu=1, annotations={"scheduling.gpu/capacity": word}) for word in ("spot", "on-demand", "any")]
    assert len({reuse.shape(pod) for pod in (*asking, build.pod(gpu=1))}) == 4
