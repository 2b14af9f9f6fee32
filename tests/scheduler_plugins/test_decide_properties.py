"""decide() and the plain per-node oracle agree on every node's reasons, every score, every total and the sentence."""

from hypothesis import given
from hypothesis import strategies as st

from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from scheduler_plugins import explain, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, Rejection
from tests import generate, oracle


def reasons(decision: Decision) -> dict[str, tuple[str, list[oracle.Said]]]:
    found = ((name, decision.rejection(name)) for name in decision.snapshot.names)
    return {name: (rejection.plugin, told(rejection)) for name, rejection in found if rejection is not None}


def told(rejection: Rejection) -> list[oracle.Said]:
    return [(reason.text, reason.preemption_may_help) for reason in rejection.reasons]


@given(cluster=generate.clusters(), pod=generate.pods(), settings=generate.settings)
def test_decisions_equal_the_oracles(cluster: ClusterState, pod: PendingPod, settings: oracle.Settings) -> None:
    expected = oracle.decide(pod, oracle.views(cluster), settings)

    decision = decide(pod, cluster.snapshot(), registry.profile(args=settings.as_args()))

    fitting = [decision.snapshot.names[row] for row in decision.rows]
    assert ({} if decision.refused else reasons(decision)) == expected.reasons
    assert dict(zip(fitting, decision.total.tolist(), strict=True)) == expected.total
    assert {
        name: dict(zip(fitting, scores.tolist(), strict=True)) for name, scores in decision.scores.items()
    } == expected.scores
    assert explain.sentence(decision) == expected.sentence
    assert decision.fits == bool(expected.total)
    assert decision.node is None or expected.total[decision.node] == max(expected.total.values())


@given(cluster=generate.clusters(), pods=st.lists(generate.pods(), min_size=2, max_size=4))
def test_what_one_decision_remembers_does_not_colour_the_next(cluster: ClusterState, pods: list[PendingPod]) -> None:
    snapshot, profile = cluster.snapshot(), registry.profile()
    for pod in pods:
        decide(pod, snapshot, profile)

    expected = [oracle.decide(pod, oracle.views(cluster)).total for pod in pods]
    assert [totals(decide(pod, snapshot, profile)) for pod in pods] == expected


def totals(decision: Decision) -> dict[str, int]:
    fitting = [decision.snapshot.names[row] for row in decision.rows]
    return dict(zip(fitting, decision.total.tolist(), strict=True))
