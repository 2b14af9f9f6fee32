"""Preemption finds what a plain search finds that builds the cluster anew for each question, and says it in words."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import msgspec
import pytest
from hypothesis import given

from cluster_model import objects
from cluster_model.budgets import PodDisruptionBudget
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from cluster_model.verdict import BadRequest
from scheduler_plugins import plugin_args, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Sampling
from scheduler_plugins.preemption import Preemption, PreemptionArgs, preempt
from tests import build, generate
from tests.build_storage import using
from tests.generate_source import Source
from tests.unhurried import UNHURRIED

PROFILE = replace(registry.profile(), preemption=Sampling())
APPS = ("web", "batch")


@dataclass(frozen=True)
class Scene:
    """A cluster from which it can be built anew."""

    nodes: tuple[objects.Node, ...]
    pods: tuple[PendingPod, ...]
    pod: PendingPod
    allowed: tuple[tuple[str, int], ...] = ()  # application, disruptions
    waiting: tuple[tuple[PendingPod, str], ...] = ()

    def state(self, without: Iterable[str] = (), waiting: bool = True) -> ClusterState:
        gone = frozenset(without)
        made = build.state(*self.nodes, pods=[one for one in self.pods if uid(one) not in gone])
        for app, allowed in self.allowed:
            made.budgets.set(budget(app, allowed))
        for one, node in self.waiting if waiting else ():
            made.nominations.set(one, node)
        return made

    def preempt(self, offset: Callable[[int], int] = lambda _: 0, least: int = 100) -> Preemption:
        state = self.state()
        profile = replace(PROFILE, preemption=Sampling(0, least))
        return preempt(decide(self.pod, state.snapshot(), profile), state, offset)


def uid(pod: PendingPod) -> str:
    return pod.pod.metadata.uid


def budget(app: str, allowed: int) -> PodDisruptionBudget:
    body = {"metadata": {"name": app, "namespace": "default"}, "spec": {"selector": {"matchLabels": {"app": app}}}}
    return msgspec.convert(body | {"status": {"disruptionsAllowed": allowed}}, PodDisruptionBudget)


def important(pod: PendingPod, source: Source, number: int) -> PendingPod:
    """Give a pod a priority, an application, and a start of its own."""
    raw, started = pod.pod, "" if source.seldom() else f"2026-01-01T00:00:{number:02}Z"
    meta = msgspec.structs.replace(raw.metadata, labels={"app": source.of(APPS)} if source.seldom(2) else {})
    spec = msgspec.structs.replace(raw.spec, priority=source.of((0, 1, 5)))
    status = msgspec.structs.replace(raw.status, start_time=started)
    return PendingPod.read(msgspec.structs.replace(raw, metadata=meta, spec=spec, status=status))


def node(name: str, gpus: int = 1, **more: str) -> objects.Node:
    return build.node(name, gpus=gpus, allocatable={"cpu": "8", "memory": "32Gi", "pods": "110", **more})


def scene(source: Source) -> Scene:
    named = generate.NODE_NAMES[: source.of((1, 2, 3))]
    nodes = tuple(generate.node(source, name) if source.seldom() else node(name, source.of((1, 2))) for name in named)
    names = [node.metadata.name for node in nodes]
    pods = [important(generate.pod(source, f"r{n}", source.of(names)), source, n) for n in range(source.of((3, 6, 9)))]
    plain = build.pod("pending", gpu=source.of((0, 1, 2)), requests={"cpu": source.of(("1", "5", "8"))})
    pod = important(plain if not source.seldom() else generate.pod(source), source, 0)
    allowed = tuple((app, source.of((0, 1))) for app in APPS if source.seldom(2))
    waiting = [important(generate.pod(source, "w"), source, 0)] if source.seldom() else []
    return Scene(nodes, tuple(pods), pod, allowed, tuple((one, source.of(names)) for one in waiting))


def fits(found: Scene, name: str, gone: Iterable[str]) -> bool:
    """Ask clusters built anew; those that wait on the node and are as important are bound there in one of them."""
    clusters = [found.state(gone)]
    holders = [one for one, node in found.waiting if node == name and one.pod.spec.priority >= priority(found.pod)]
    if holders:
        clusters.append(found.state(gone))
        for one in holders:
            clusters[-1].assume(one, name)
    judged = replace(PROFILE, filters=tuple(replace(one, refuse=None, narrow=None) for one in PROFILE.filters))
    verdicts = [decide(found.pod, cluster.snapshot(), judged).rejection(name) for cluster in clusters]
    return not any(verdicts)


def priority(pod: PendingPod) -> int:
    return pod.pod.spec.priority


def twin(found: Scene, name: str) -> tuple[list[str], int] | None:
    """Search one node as the rules are written: all go, those beyond their budget come back first, then the others."""
    there = [one for one in found.pods if one.pod.spec.node_name == name and priority(one) < priority(found.pod)]
    gone = {uid(one) for one in there}
    if not there or not fits(found, name, gone):
        return None
    there.sort(key=uid)
    there.sort(key=lambda one: one.pod.status.start_time or "9999")
    there.sort(key=priority, reverse=True)
    left, beyond = dict(found.allowed), set()
    for one in there:
        app = one.pod.metadata.labels.get("app", "") if one.pod.metadata.namespace == "default" else ""
        left[app] = left.get(app, 99) - 1
        if left[app] < 0:
            beyond.add(uid(one))
    for one in [*(one for one in there if uid(one) in beyond), *(one for one in there if uid(one) not in beyond)]:
        if fits(found, name, gone - {uid(one)}):
            gone.remove(uid(one))
    return [uid(one) for one in there if uid(one) in gone], len(beyond & gone)


def compare(found: Scene) -> str:
    state = found.state()
    before = state.snapshot()
    decision = decide(found.pod, before, PROFILE)
    if decision.fits or found.pod.pod.spec.priority == 0:
        return "nothing"
    made = preempt(decision, state, lambda _: 0)
    assert state.snapshot() is before
    rejections = {name: decision.rejection(name) for name in decision.snapshot.names}
    helpable = [name for name, why in rejections.items() if why and all(one.preemption_may_help for one in why.reasons)]
    expected = {name: twin(found, name) for name in helpable}
    assert {one.node: ([uid(victim) for victim in one.victims], one.violations) for one in made.candidates} == {
        name: said for name, said in expected.items() if said is not None
    }
    return "chosen" if made.chosen else "none"


@UNHURRIED
@given(found=generate.drawn(scene))
def test_candidates_equal_the_twins(found: Scene) -> None:
    compare(found)


def test_candidates_equal_the_twins_in_many_clusters() -> None:
    outcomes = [compare(scene(generate.seeded(seed))) for seed in range(600)]
    assert min(outcomes.count("chosen"), outcomes.count("none")) > 30


def running(name: str, on: str, rank: int = 0, gpu: int = 1, started: str = "2026-01-01T00:00:00Z") -> PendingPod:
    raw = build.raw_pod(name, gpu=gpu, node=on, phase="Running", priority=rank)
    return PendingPod.read(msgspec.structs.replace(raw, status=msgspec.structs.replace(raw.status, start_time=started)))


def wanting(rank: int = 10, gpu: int = 1, **spec: object) -> PendingPod:
    return build.pod("p", gpu=gpu, priority=rank, **spec)


def test_room_is_made_where_the_victim_is_least_important() -> None:
    found = Scene((node("n1"), node("n2")), (running("a", "n1", 5), running("b", "n2", 1)), wanting()).preempt()

    assert found.suffix == "preemption: found a potential placement for pod on node n2, preempting 1 victims"
    assert found.chosen is not None
    assert [one.pod.metadata.name for one in found.chosen.victims] == ["b"]


@pytest.mark.parametrize(
    ("pods", "chosen"),
    [
        ((running("a", "n1", 1), running("b", "n2", 0), running("c", "n2", 0)), "n2"),
        ((running("a", "n1", 1), running("b", "n2", 1), running("c", "n2", 0)), "n1"),
        ((running("a", "n1", -5), running("b", "n2", -5), running("c", "n2", -5)), "n1"),
        ((running("a", "n1", gpu=2), running("b", "n2", gpu=2, started="2026-01-02T00:00:00Z")), "n2"),
        ((running("a", "n1", gpu=2), running("b", "n2", gpu=2, started="")), "n2"),
    ],
    ids=["lowest top", "least in sum", "fewest though negative", "latest start", "not started yet"],
)
def test_node_is_chosen_by(pods: tuple[PendingPod, ...], chosen: str) -> None:
    found = Scene((node("n1", 2), node("n2", 2)), pods, wanting(gpu=2)).preempt()
    assert found.chosen is not None
    assert found.chosen.node == chosen


def test_a_budget_outweighs_priority() -> None:
    protected = PendingPod.read(
        msgspec.structs.replace(
            running("a", "n1").pod,
            metadata=msgspec.structs.replace(running("a", "n1").pod.metadata, labels={"app": "web"}),
        )
    )
    found = Scene((node("n1"), node("n2")), (protected, running("b", "n2", 9)), wanting(), (("web", 0),)).preempt()
    assert found.chosen is not None
    assert (found.chosen.node, found.chosen.violations) == ("n2", 0)


def test_equals_evict_nobody() -> None:
    found = Scene((node("n1"), build.node("cpu")), (running("a", "n1", 10),), wanting()).preempt()
    assert found.suffix == (
        "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )
    assert found.clears


def test_polite_pod_evicts_nobody() -> None:
    pod = wanting(preemption_policy="Never")
    found = Scene((node("n1"),), (running("a", "n1"),), pod).preempt()
    assert (found.message, found.clears) == ("not eligible due to preemptionPolicy=Never.", False)


@pytest.mark.parametrize(("devices", "suffix"), [(True, "not found"), (False, None)])
def test_pod_refused_before_nodes_are_judged_is_looked_after_by_nobody(devices: bool, suffix: str | None) -> None:
    """In kube-scheduler the plugin for devices fails then, and preemption has no turn; unless that plugin is off."""
    state = build.state(node("n1"), pods=[running("a", "n1")])
    profile = replace(PROFILE, asks_for_devices=devices)
    decision = decide(wanting(volumes=using("absent")), state.snapshot(), profile)
    found = preempt(decision, state, lambda _: 0)

    helpless = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    assert (found.suffix, found.clears, found.chosen) == (suffix or helpless, suffix is None, None)


def test_pod_waits_for_the_victims_it_has() -> None:
    """One on its way out by another hand does not stop it."""
    condition = objects.PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    victim = running("a", "n1").pod
    meta = msgspec.structs.replace(victim.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    status = msgspec.structs.replace(victim.status, conditions=(condition,))
    going = msgspec.structs.replace(victim, metadata=meta, status=status)
    pod = wanting()
    waits = Scene((node("n1"),), (PendingPod.read(going),), pod, waiting=((pod, "n1"),))
    deleted = msgspec.structs.replace(going, status=victim.status)
    goes_on = replace(waits, pods=(PendingPod.read(deleted),))

    assert waits.preempt().message == "not eligible due to a terminating pod on the nominated node."
    assert goes_on.preempt().chosen is not None


def test_enough_candidates_end_the_search() -> None:
    """It starts where it is told to and goes on until one violates no budget."""
    nodes = tuple(node(f"n{place}") for place in range(5))
    found = Scene(nodes, tuple(running(f"r{place}", f"n{place}") for place in range(5)), wanting())
    assert [one.node for one in found.preempt(lambda _: 3, least=3).candidates] == ["n3", "n4", "n0"]


@pytest.mark.parametrize(
    "args",
    [
        {"minCandidateNodesPercentage": 101},
        {"minCandidateNodesAbsolute": -1},
        {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
    ],
)
def test_args_out_of_range_are_refused(args: dict[str, int]) -> None:
    with pytest.raises(BadRequest, match="minCandidateNodes"):
        plugin_args.decode(PreemptionArgs, args, "args")
