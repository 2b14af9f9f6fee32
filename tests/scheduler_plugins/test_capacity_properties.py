"""SpotScheduler, AZScheduler and NodeLessPods agree with their plain twins on every node, whatever the cluster."""

import pytest
from hypothesis import given

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from scheduler_plugins import registry, reuse
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, Profile
from tests import build, generate, generate_terms, oracle_capacity, oracle_view
from tests.generate_source import Source
from tests.unhurried import UNHURRIED

MORE = ("example.com/pool=cheap",)
MARKS = (*oracle_capacity.SPOT_MARKS, *MORE, "karpenter.sh/capacity-type=on-demand", "other=spot")
ZONE_KEYS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "topology.k8s.aws/zone-id")
NAMES = ("SpotScheduler", "AZScheduler", "NodeLessPods")
PROFILE = registry.profile(
    filters=("SpotScheduler", "NodeLessPods"),
    scorers=tuple((name, weight) for name, weight in zip(NAMES, (5, 3, 1), strict=True)),
    args={"SpotScheduler": {"spotMarks": list(MORE)}},
)
WORDS = ("spot", "on-demand", "any", None, None, None)


def mark(source: Source) -> tuple[str, str]:
    key, _, value = source.of(MARKS).partition("=")
    return key, value


def node(source: Source, name: str) -> objects.Node:
    labels = dict(source.several(lambda: mark(source), 1))
    labels |= {key: source.of(("a", "b", "c")) for key in ZONE_KEYS if source.seldom(3)}
    taints = [objects.Taint(*mark(source), effect=source.of(generate.EFFECTS)) for _ in range(source.seldom(3))]
    return build.node(
        name, labels=labels, taints=tuple(taints), allocatable={"pods": source.of(("0", "1", "3", "110"))}
    )


def toleration(source: Source) -> objects.Toleration:
    key, value = mark(source)
    effect, operator = source.of(("", *generate.EFFECTS)), source.of(("", "Equal", "Exists", "Gt"))
    return objects.Toleration(key="" if source.seldom(5) else key, operator=operator, value=value, effect=effect)


def pod(source: Source, name: str = "subject", on: str = "") -> PendingPod:
    word = source.of(WORDS)
    return build.pod(
        name,
        node=on,
        phase="Running" if on else "Pending",
        annotations={} if word is None else {"scheduling.gpu/capacity": word},
        tolerations=source.several(lambda: toleration(source), 2),
        meta=generate_terms.meta(source) | {"owner_references": source.several(lambda: owner(source), 1)},
    )


def owner(source: Source) -> objects.OwnerReference:
    return objects.OwnerReference(uid=source.of(("one", "two")), controller=not source.seldom(5))


def cluster(source: Source) -> ClusterState:
    found = ClusterState()
    for name in generate.NODE_NAMES[: source.of(range(1, 6))]:
        found.set_node(node(source, name))
    for index in range(source.of((0, 1, 3, 9))):
        found.set_pod(pod(source, f"held-{index}", source.of(generate.NODE_NAMES)))
    return found


def compare(found: ClusterState, asking: PendingPod, profile: Profile = PROFILE) -> Decision:
    """Decide, assert that every node's reasons and scores are the twins', and return the decision."""
    decision, views = decide(asking, found.snapshot(), profile), oracle_view.views(found)
    wrong = {view.name: rejects(asking, view) for view in views}
    fitting = [name for name in decision.snapshot.names if not wrong[name]]
    assert {name: told(decision, name) for name in decision.snapshot.names} == wrong
    expected = {name: by_node for name, by_node in scored(asking, views, fitting).items() if by_node and fitting}
    scores = {
        name: dict(zip(fitting, column.tolist(), strict=True)) for name, column in decision.scores.items() if fitting
    }
    assert scores == expected
    return decision


def rejects(asking: PendingPod, view: oracle_view.View) -> list[oracle_view.Said]:
    return oracle_capacity.spot_rejects(asking, view, MORE) or oracle_capacity.too_many_pods(view)


def scored(asking: PendingPod, views: list[oracle_view.View], fitting: list[str]) -> dict[str, dict[str, int] | None]:
    chosen = [view for view in views if view.name in fitting]
    spot = {view.name: oracle_capacity.spot_score(asking, view, MORE) for view in chosen}
    return {
        "SpotScheduler": {name: score for name, score in spot.items() if score is not None},
        "AZScheduler": oracle_capacity.zone_scores(asking, views, fitting, ZONE_KEYS),
        "NodeLessPods": {view.name: oracle_capacity.less_pods_score(view) for view in chosen},
    }


def told(decision: Decision, name: str) -> list[oracle_view.Said]:
    rejection = decision.rejection(name)
    return [] if rejection is None else [(one.text, one.preemption_may_help) for one in rejection.reasons]


@UNHURRIED
@given(found=generate.drawn(cluster), asking=generate.drawn(pod))
def test_reasons_and_scores_are_the_twins(found: ClusterState, asking: PendingPod) -> None:
    compare(found, asking)


def test_many_clusters_agree_and_every_rule_finds_something_to_say() -> None:
    said: set[str] = set()
    apart: set[str] = set()
    for seed in range(1500):
        source = generate.seeded(seed)
        found, asking = cluster(source), pod(source)
        decision = compare(found, asking)
        said |= {text for name in decision.snapshot.names for text, _ in told(decision, name)}
        apart |= {name for name, scores in decision.scores.items() if len(set(scores.tolist())) > 1}

    assert said == {"Too many pods", oracle_capacity.OTHER_CAPACITY}
    assert apart == set(NAMES)


@pytest.mark.parametrize("seed", range(40))
def test_equal_pods_share_what_is_remembered_and_get_the_same(seed: int) -> None:
    source = generate.seeded(seed)
    found, memory = cluster(source), reuse.Memory(PROFILE)
    shapes = [seed * 1000 + number for number in range(3)]
    for index in range(20):
        asking = pod(generate.seeded(source.of(shapes)), f"next-{index}")
        decision, full = memory.decide(asking, found.snapshot()), compare(found, asking)
        assert (decision.node, decision.total.tolist()) == (full.node, full.total.tolist())
        assert {name: told(decision, name) for name in decision.snapshot.names} == {
            name: told(full, name) for name in full.snapshot.names
        }
        if decision.node is not None:
            found.assume(asking, decision.node)
        if source.seldom():
            found.set_node(node(source, source.of(generate.NODE_NAMES)))
