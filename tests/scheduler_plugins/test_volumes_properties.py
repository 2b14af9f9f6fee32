"""The plugins of volumes and their plain twins agree on every node's reasons and every score."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given

from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from scheduler_plugins import explain, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, Profile
from tests import build, generate, generate_volumes, oracle, oracle_binding, oracle_view, oracle_volumes
from tests.generate_source import Source

PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")
SHAPES = ([(0, 10), (100, 0)], [(0, 0), (100, 10)], [(10, 3), (35, 10), (90, 1)], [(50, 5)])
SEEDS_A_TEST = 400
NODES = tuple(f"n{index}" for index in range(5))


def cluster(source: Source) -> ClusterState:
    """Make nodes in zones, storage, and pods that use some of it."""
    found = build.state()
    for name in source.some(NODES):
        keys = source.some((generate_volumes.ZONE, generate_volumes.BETA_ZONE, generate_volumes.REGION))
        found.set_node(build.node(name, labels={key: source.of("ab") for key in keys}))
    build.stored(found, *generate_volumes.storage(source, NODES))
    for index in range(source.of(range(6))):
        found.set_pod(pod(source, f"running-{index}", source.of((*NODES, "elsewhere"))))
    return found


def pod(source: Source, name: str = "pending", on: str = "") -> PendingPod:
    return build.pod(name, node=on, phase="Running" if on else "Pending", volumes=generate_volumes.volumes(source, 1))


def compare(
    state: ClusterState,
    wanted: PendingPod,
    shape: list[tuple[int, int]],
    change: Callable[[Profile], Profile] = lambda profile: profile,
) -> Decision:
    """Decide in both ways, assert that they agree, and return the decision."""
    points = [{"utilization": at, "score": score} for at, score in shape]
    args = {"VolumeBinding": {"shape": points}}
    profile = change(registry.profile("s", PLUGINS, (("VolumeBinding", 1),), args))
    decision = decide(wanted, state.snapshot(), profile)
    views = oracle_view.views(state)
    twins = oracle.volumes(wanted, views)
    twins.shape = shape
    if views and twins.refusals():
        assert decision.refused
        assert explain.sentence(decision).startswith(f"0/{len(views)} nodes are available: {twins.refusals()[0]}.")
        return decision
    expected = {view.name: first_rejection(twins, view) for view in views}
    assert {name: rejection(decision, name) for name in expected} == expected
    fitting = [decision.snapshot.names[row] for row in decision.rows]
    places = [view.place for view in views if expected[view.name] is None]
    scores = decision.scores.get("VolumeBinding")
    assert dict(zip(fitting, () if scores is None else scores.tolist(), strict=True)) == twins.bound_scores(places)
    return decision


def first_rejection(twins: oracle_volumes.Volumes, view: oracle_view.View) -> tuple[str, list[oracle_view.Said]] | None:
    for name, judge in oracle_volumes.judges(twins).items():
        said = judge.rejects(view.place)
        if said:
            return name, said
    return None


def rejection(decision: Decision, node: str) -> tuple[str, list[oracle_view.Said]] | None:
    found = decision.rejection(node)
    if found is None:
        return None
    return found.plugin, [(reason.text, reason.preemption_may_help) for reason in found.reasons]


@given(
    state=generate.drawn(cluster),
    wanted=generate.drawn(pod),
    shape=generate.drawn(lambda source: source.of(SHAPES)),
)
def test_volumes_are_judged_as_the_twins_judge_them(
    state: ClusterState, wanted: PendingPod, shape: list[tuple[int, int]]
) -> None:
    compare(state, wanted, shape)


@pytest.mark.parametrize("batch", range(5))
def test_volumes_are_judged_as_the_twins_judge_them_on_many_clusters(batch: int) -> None:
    for seed in range(batch * SEEDS_A_TEST, (batch + 1) * SEEDS_A_TEST):
        source = generate.seeded(seed)
        compare(cluster(source), pod(source), source.of(SHAPES))


def test_the_many_clusters_give_every_reason_and_tell_nodes_apart() -> None:
    """Otherwise agreement would say little."""
    seen: Counter[str] = Counter()
    for seed in range(3 * SEEDS_A_TEST):
        source = generate.seeded(seed)
        decision = compare(cluster(source), pod(source), source.of(SHAPES))
        seen.update(explain.reasons(decision).keys())
        scores = decision.scores.get("VolumeBinding")
        seen["apart"] += scores is not None and len(set(scores.tolist())) > 1
    assert seen["apart"] > 10
    assert set(seen) >= {
        oracle_volumes.NO_DISK,
        oracle_volumes.IN_USE,
        oracle_volumes.TOO_MANY,
        oracle_volumes.ELSEWHERE,
        oracle_binding.CONFLICT,
        oracle_binding.UNMATCHED,
        oracle_binding.FULL,
        "csi.example.com CSI driver is not installed on the node",
        "pod has unbound immediate PersistentVolumeClaims",
    }
