"""decide() and the plain per-node oracle agree on every node's reasons, every score, every total and the sentence."""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from scheduler_plugins import explain, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, Profile, Rejection
from tests import generate, oracle, oracle_state, oracle_view
from tests.unhurried import UNHURRIED

SEEDS_A_TEST = 250
Change: TypeAlias = Callable[[Profile], Profile]


def compare(
    cluster: ClusterState, pod: PendingPod, settings: oracle.Settings, change: Change = lambda profile: profile
) -> Decision:
    """Decide in both ways, assert that they agree, and return the decision."""
    expected = oracle.decide(pod, oracle_view.views(cluster), settings)
    decision = decide(pod, cluster.snapshot(), change(registry.profile(args=settings.as_args())))
    fitting = [decision.snapshot.names[row] for row in decision.rows]
    assert ({} if decision.refused else reasons(decision)) == expected.reasons
    assert dict(zip(fitting, decision.total.tolist(), strict=True)) == expected.total
    assert {
        name: dict(zip(fitting, scores.tolist(), strict=True)) for name, scores in decision.scores.items()
    } == expected.scores
    assert explain.sentence(decision) == expected.sentence
    assert decision.node == next(
        (name for name in fitting if expected.total[name] == max(expected.total.values())), None
    )
    return decision


def reasons(decision: Decision) -> dict[str, tuple[str, list[oracle_view.Said]]]:
    found = ((name, decision.rejection(name)) for name in decision.snapshot.names)
    return {name: (rejection.plugin, told(rejection)) for name, rejection in found if rejection is not None}


def told(rejection: Rejection) -> list[oracle_view.Said]:
    return [(reason.text, reason.preemption_may_help) for reason in rejection.reasons]


@UNHURRIED
@given(
    cluster=generate.drawn(generate.cluster),
    pod=generate.drawn(generate.to_place),
    settings=generate.drawn(generate.settings),
)
def test_decisions_equal_the_oracles(cluster: ClusterState, pod: PendingPod, settings: oracle.Settings) -> None:
    compare(cluster, pod, settings)


@pytest.mark.parametrize("batch", range(8))
def test_decisions_equal_the_oracles_on_many_clusters(batch: int) -> None:
    for seed in range(batch * SEEDS_A_TEST, (batch + 1) * SEEDS_A_TEST):
        source = generate.seeded(seed)
        compare(generate.cluster(source), generate.to_place(source), generate.settings(source))


def test_the_many_clusters_give_every_reason_and_tell_nodes_apart_by_every_score() -> None:
    """Otherwise agreement would say little."""
    seen: set[str] = set()
    apart: set[str] = set()
    for seed in range(8 * SEEDS_A_TEST):
        source = generate.seeded(seed)
        decision = compare(generate.cluster(source), generate.to_place(source), generate.settings(source))
        seen |= set(explain.reasons(decision))
        apart |= {name for name, scores in decision.scores.items() if len(set(scores.tolist())) > 1}
    assert apart == set(dict(registry.SCORERS)) - {"VolumeBinding"}  # which has many clusters of its own
    assert seen >= {
        "node(s) were unschedulable",
        "node(s) had untolerated taint(s)",
        "node(s) didn't match Pod's node affinity/selector",
        "node(s) didn't match scheduler-enforced node affinity",
        "node(s) didn't satisfy plugin(s) [NodeAffinity]",
        "node(s) didn't satisfy plugin(s) [NodeName]",
        "node(s) didn't have free ports for the requested pod ports",
        "Node does not have GPU",
        "Insufficient nvidia.com/gpu",
        "node(s) didn't match GPU model",
        "node(s) had no known GPU model",
        "node(s) had no known GPU memory",
        "Insufficient GPU memory",
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient example.com/nic",
        "node(s) didn't match pod affinity rules",
        "node(s) didn't match pod anti-affinity rules",
        "node(s) didn't satisfy existing pods anti-affinity rules",
        "node(s) didn't match pod topology spread constraints",
        "node(s) didn't match pod topology spread constraints (missing required label)",
    }


@UNHURRIED
@given(cluster=generate.drawn(generate.cluster), pods=st.lists(generate.drawn(generate.pod), min_size=2, max_size=4))
def test_what_one_decision_remembers_does_not_colour_the_next(cluster: ClusterState, pods: list[PendingPod]) -> None:
    for pod in (*pods, *pods):
        compare(cluster, pod, oracle.Settings())


@pytest.mark.parametrize("seed", range(40))
def test_decisions_stay_equal_while_the_cluster_fills_and_nodes_change(seed: int) -> None:
    source = generate.seeded(seed)
    cluster = generate.cluster(source)
    for index in range(12):
        pod = generate.pod(source, f"next-{index}")
        decision = compare(cluster, pod, oracle.Settings())
        if decision.node is not None:
            cluster.assume(pod, decision.node)
        if source.seldom():
            cluster.set_node(generate.node(source, source.of(generate.NODE_NAMES)))
    oracle_state.check(cluster)
