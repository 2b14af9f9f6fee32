"""A node where others wait takes a pod only if it fits with and without them; its own nomination is tried first."""

from dataclasses import replace

import msgspec
from hypothesis import given

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Supposed
from cluster_model.state import ClusterState
from scheduler_plugins import nominated, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, Profile, Sampling
from scheduler_plugins.preemption import preempt
from tests import build, generate, oracle_view
from tests.build import stored
from tests.build_storage import claim, using, volume
from tests.generate_source import Source
from tests.oracle_affinity import Affinity
from tests.oracle_labels import AROUND
from tests.unhurried import UNHURRIED

PROFILE = registry.profile()
HOSTNAME = "kubernetes.io/hostname"


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
    asked = without_skipped(pod, state)
    for name in state.snapshot().names:
        expected = crowded(state, pod, name, [one for one, node in places if node == name], asked)
        assert found.rejection(name) == (expected or plain.rejection(name))
    return len(found.rows) < len(plain.rows)


def without_skipped(pod: PendingPod, state: ClusterState) -> Profile:
    """kube-scheduler does not come back to a plugin that had nothing to say of the cluster as it is."""
    places = [view.place for view in oracle_view.views(state)]
    if not Affinity(pod, places, AROUND, {}).skips():
        return PROFILE
    return replace(PROFILE, filters=tuple(one for one in PROFILE.filters if one.name != "InterPodAffinity"))


def crowded(state: ClusterState, pod: PendingPod, name: str, waiting: list[PendingPod], asked: Profile) -> object:
    holders = [one for one in waiting if one.pod.spec.priority >= 5]
    for one in holders:
        state.assume(one, name)
    # What is supposed is told apart from what is there.
    there = replace(state.snapshot(), supposed=tuple(Supposed(one, name, 1) for one in holders))
    found = decide(pod, there, asked).rejection(name) if holders else None
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


def apart(name: str, node: str = "") -> PendingPod:
    """Build a pod that is to be alone on its node."""
    term = objects.PodAffinityTerm(topology_key=HOSTNAME, label_selector=objects.LabelSelector())
    alone = objects.PodAffinity(required=(term,))
    return build.pod(name, node=node, affinity=objects.Affinity(pod_anti_affinity=alone), priority=5)


def separate() -> ClusterState:
    state = build.state(*(build.node(name, gpus=2, labels={HOSTNAME: name}) for name in ("n1", "n2", "n3")))
    state.nominations.set(apart("w"), "n1")
    return state


def test_one_that_waits_to_be_alone_keeps_nobody_off_as_long_as_nobody_asks_for_that() -> None:
    """kube-scheduler asks InterPodAffinity once whether it has a say; those who wait are not there then."""
    assert judged(build.pod("p", gpu=1, priority=5), separate()).node == "n1"


def test_one_that_waits_to_be_alone_keeps_others_off_once_one_that_is_there_does() -> None:
    state = separate()
    state.set_pod(apart("there", "n3"))

    found = judged(build.pod("p", gpu=1, priority=5), state)

    assert found.node == "n2"
    assert [found.rejection(name) is not None for name in ("n1", "n2", "n3")] == [True, False, True]


def test_room_is_made_where_one_waits_to_be_alone_as_long_as_nobody_asks_for_that() -> None:
    state = separate()
    for name in ("n1", "n2", "n3"):
        state.set_pod(build.pod(f"weak-{name}", gpu=2, node=name, priority=int(name != "n1")))
    profile = replace(PROFILE, preemption=Sampling())

    found = preempt(decide(build.pod("p", gpu=1, priority=5), state.snapshot(), profile), state, lambda _: 0)

    assert found.chosen is not None
    assert found.chosen.node == "n1"


def test_a_pod_that_is_refused_before_nodes_are_judged_is_not_judged_by_those_who_wait() -> None:
    """NodeVolumeLimits cannot judge another pod's claim; VolumeBinding has refused the pod before."""
    state = stored(separate(), claim("p-data"))
    volume = objects.Volume(name="data", ephemeral={})

    found = judged(build.pod("p", priority=5, volumes=(volume,)), state)

    assert (found.refused, found.rejectors) == (True, frozenset({"VolumeBinding"}))


def waiting_with(*spare: PendingPod) -> ClusterState:
    """Let a pod wait for n1 with the claim that is for one pod."""
    state = stored(separate(), claim("own", on="volume", modes=("ReadWriteOncePod",)), volume())
    for one in spare:
        state.set_pod(one)
    state.nominations.set(build.pod("w", priority=5, volumes=using("own")), "n1")
    return state


def test_one_that_waits_with_the_claim_for_one_pod_does_not_use_it_yet() -> None:
    found = judged(build.pod("p", priority=5, volumes=using("own")), waiting_with())

    assert found.node == "n1"


def test_it_does_where_kube_scheduler_looks_at_claims_because_the_pod_names_a_disk() -> None:
    disk = objects.Volume(name="d", gce_persistent_disk=objects.Disk(pd_name="x"))

    found = judged(build.pod("p", priority=5, volumes=(*using("own"), disk)), waiting_with())

    assert found.rejection("n1") is not None


def even(count: int, selector: objects.LabelSelector) -> PendingPod:
    constraint = objects.TopologySpreadConstraint(
        max_skew=count, topology_key=HOSTNAME, when_unsatisfiable="DoNotSchedule", label_selector=selector
    )
    return build.pod("p", priority=5, topology_spread_constraints=(constraint,))


def test_a_selector_that_matches_every_pod_counts_those_who_wait_alone() -> None:
    """It counts no pod that is there, which is kube-scheduler's rule, and takes the other way round here."""
    state = build.state(*(build.node(name, labels={HOSTNAME: name}) for name in ("n1", "n2")))
    state.set_pod(build.pod("there", node="n2"))
    state.nominations.set(build.pod("w", priority=5), "n1")
    state.nominations.set(build.pod("other", priority=5, meta={"namespace": "other"}), "n2")

    every = objects.LabelSelector()

    assert [judged(even(1, every), state).rejection(name) is not None for name in ("n1", "n2")] == [True, False]
    assert judged(even(2, every), state).node == "n1"
