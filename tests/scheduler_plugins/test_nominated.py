"""A node where others wait takes a pod only if it fits with and without them; its own nomination is tried first."""

import msgspec
from hypothesis import given

from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from scheduler_plugins import nominated, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision
from tests import build, generate
from tests.generate_source import Source
from tests.unhurried import UNHURRIED

PROFILE = registry.profile()


def ranked(pod: PendingPod, priority: int) -> PendingPod:
    return PendingPod.read(
        msgspec.structs.replace(pod.pod, spec=msgspec.structs.replace(pod.pod.spec, priority=priority))
    )


def judged(pod: PendingPod, state: ClusterState) -> Decision:
    return decide(pod, state.snapshot(), PROFILE, nominated.judge(pod, state, PROFILE))


def compare(source: Source) -> bool:
    """Compare with clusters where those who wait for one node have got it; tell whether they made a difference."""
    state, pod = generate.cluster(source), ranked(generate.pod(source), 5)
    waiting = [ranked(generate.pod(source, f"w{number}"), source.of((4, 5, 6))) for number in range(3)]
    known = (*state.snapshot().names, "elsewhere")
    places = [(one, source.of(known)) for one in waiting]
    for one, node in places:
        state.nominations.set(one, node)
    found, plain = judged(pod, state), decide(pod, state.snapshot(), PROFILE)
    if plain.refused:
        return False
    for name in state.snapshot().names:
        expected = crowded(state, pod, name, [one for one, node in places if node == name])
        assert found.rejection(name) == (expected or plain.rejection(name))
    return len(found.rows) < len(plain.rows)


def crowded(state: ClusterState, pod: PendingPod, name: str, waiting: list[PendingPod]) -> object:
    holders = [one for one in waiting if one.pod.spec.priority >= 5]
    for one in holders:
        state.assume(one, name)
    found = decide(pod, state.snapshot(), PROFILE).rejection(name) if holders else None
    for one in holders:
        state.forget(one.pod.metadata.uid)
    return found


@UNHURRIED
@given(told=generate.drawn(compare))
def test_held_room_equals_the_twins(told: bool) -> None:
    assert told in (True, False)  # compared while it was drawn


def test_held_room_equals_the_twins_in_many_clusters() -> None:
    assert sum(compare(generate.seeded(seed)) for seed in range(300)) > 10


def cluster() -> ClusterState:
    return build.state(build.node("n1", gpus=1), build.node("n2", gpus=1))


def test_room_is_held_for_one_of_the_same_priority() -> None:
    state = cluster()
    state.nominations.set(build.pod("w", gpu=1, priority=5), "n1")

    found = judged(build.pod("p", gpu=1, priority=5), state)

    assert (found.node, found.rejectors) == ("n2", frozenset({"GPUTopologyPlugin"}))


def test_room_is_not_held_against_a_more_important_pod() -> None:
    state = cluster()
    state.nominations.set(build.pod("w", gpu=1, priority=5), "n1")
    assert judged(build.pod("p", gpu=1, priority=6), state).node == "n1"


def test_own_nomination_is_taken_before_a_better_node() -> None:
    pod = build.raw_pod("p", gpu=1)
    status = msgspec.structs.replace(pod.status, nominated_node_name="n2")
    assert judged(PendingPod.read(msgspec.structs.replace(pod, status=status)), cluster()).node == "n2"


def test_own_nomination_that_does_not_fit_is_passed_over() -> None:
    pod = build.raw_pod("p", gpu=1)
    status = msgspec.structs.replace(pod.status, nominated_node_name="gone")
    assert judged(PendingPod.read(msgspec.structs.replace(pod, status=status)), cluster()).node == "n1"
