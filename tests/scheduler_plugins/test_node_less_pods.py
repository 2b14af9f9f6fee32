"""NodeLessPods: it counts pods, and nothing else."""

from scheduler_plugins import registry
from scheduler_plugins.decide import decide
from tests.build import node, pod, said, snapshot

PROFILE = registry.profile(filters=("NodeLessPods",), scorers=(("NodeLessPods", 1),))


def test_the_score_is_a_hundred_less_the_pods_on_the_node_and_never_below_nothing() -> None:
    roomy = {"pods": "500"}
    held = [pod(f"s{number}", node="some", phase="Running") for number in range(3)]
    held += [pod(f"m{number}", node="many", phase="Running") for number in range(130)]
    nodes = [node(name, allocatable=roomy) for name in ("none", "some", "many")]

    decision = decide(pod(), snapshot(*nodes, pods=held), PROFILE)
    assert decision.scores["NodeLessPods"].tolist() == [100, 97, 0]


def test_a_node_with_as_many_pods_as_it_takes_is_left_out_and_eviction_may_help() -> None:
    held = [pod("p", node="full", phase="Running"), pod("done", node="free", phase="Succeeded")]
    nodes = [node(name, allocatable={"pods": "1"}) for name in ("full", "free")]
    decision = decide(pod(), snapshot(*nodes, pods=held), PROFILE)

    assert said(decision) == {"full": "Too many pods", "free": "fits"}
    rejection = decision.rejection("full")
    assert rejection is not None
    assert rejection.reasons[0].preemption_may_help


def test_what_the_pod_asks_for_is_not_looked_at() -> None:
    assert decide(pod(gpu=99, requests={"cpu": "900"}), snapshot(node()), PROFILE).fits


def test_the_plugins_that_are_named_are_not_among_the_defaults() -> None:
    named = {"SpotScheduler", "AZScheduler", "NodeLessPods"}

    assert not named & dict(registry.DEFAULTS).keys()
    assert not named & {one.name for one in registry.profile().filters}
    assert not named & {one.name for one in registry.profile().scorers}
    assert {name: registry.PLUGINS[name].weight for name in named} == {
        "SpotScheduler": 5,
        "AZScheduler": 3,
        "NodeLessPods": 1,
    }
