"""Decides what a real cluster holds with our plugins and says where kube-scheduler did something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
import yaml

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from gpu_scheduler.config import parse
from gpu_scheduler.profiles import KNOWN, build
from gpu_scheduler.surroundings import COLLECTIONS
from kube_client import event_bodies
from scheduler_plugins import explain, nominated, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, PluginError, Profile
from scheduler_plugins.preemption import Preemption, preempt
from scheduler_plugins.victims import Candidate
from tests.control_plane.api import Api, Json
from tests.differential import profiles
from tests.differential.compare import Difference
from tests.differential.documents import CONFIG, Document
from tests.differential.stage import Outcome

T = TypeVar("T")


class Items(msgspec.Struct, Generic[T], frozen=True):
    """A list as the API server sends it."""

    items: tuple[T, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """What may become of a pod: any of the best nodes, or any of the texts that say the same."""

    nodes: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


def read(api: Api, but: str) -> ClusterState:
    """Read the cluster as our process does, all but the pod of that uid."""
    state = ClusterState()
    for node in _listed(api, "/api/v1/nodes", objects.Node):
        state.set_node(node)
    for collection in COLLECTIONS.values():
        for found in _listed(api, collection.resource.path, collection.resource.kind):
            collection.told(state, found)
    for pod in _listed(api, "/api/v1/pods", objects.Pod):
        if pod.metadata.uid != but:
            _take(state, PendingPod.read(pod))
    return state


def expected(state: ClusterState, let_go: Json, profile: Profile) -> Expected:
    """Decide with our plugins."""
    pod = PendingPod.read(msgspec.convert(let_go, objects.Pod))
    try:
        decision = decide(pod, state.snapshot(), profile, nominated.judge(pod, state, profile))
    except PluginError as failed:
        return Expected(texts=frozenset({event_bodies.cut(str(failed))}))
    if decision.fits and decision.node == pod.pod.status.nominated_node_name:
        return Expected(nodes=frozenset({decision.node}))  # it is tried first
    if decision.fits:
        names = (decision.snapshot.names[row] for row in decision.rows[decision.total == decision.total.max()])
        return Expected(nodes=frozenset(names))
    sentence = explain.sentence(decision)
    return Expected(texts=frozenset(event_bodies.cut(sentence + ending) for ending in _endings(decision, state)))


def differences(outcome: Outcome, wanted: Expected) -> tuple[Difference, ...]:
    """Return what differs."""
    return tuple(_differences(outcome, wanted))


def _differences(outcome: Outcome, wanted: Expected) -> Iterator[Difference]:
    if bool(outcome.node) != bool(wanted.nodes):
        yield Difference("placed", outcome.node or outcome.text, sorted(wanted.nodes or wanted.texts))
    elif outcome.node and outcome.node not in wanted.nodes:
        yield Difference("node", outcome.node, sorted(wanted.nodes))
    elif not outcome.node and outcome.text not in wanted.texts:
        yield Difference("text", outcome.text, sorted(wanted.texts))


def read_profile(written: Document) -> Profile:
    """Build our profile from the configuration that kube-scheduler reads, without the plugins that it does not have."""
    mine = dict(written)
    if "plugins" not in written:
        ours_alone = [name for name, _ in registry.DEFAULTS if name in profiles.OURS_ALONE]
        mine["plugins"] = {"multiPoint": {"disabled": [{"name": name} for name in ours_alone]}}
    text = yaml.safe_dump({**CONFIG, "profiles": [mine]})
    return build(parse(text, KNOWN, "kube-system").profiles)[written["schedulerName"]]


def _endings(decision: Decision, state: ClusterState) -> Iterator[str]:
    """Yield what preemption may add: kube-scheduler takes any of the nodes that nothing tells apart."""
    if decision.profile.preemption is None or not len(decision.snapshot):
        yield ""
        return
    found = preempt(decision, state, lambda _: 0)
    yield f" {found.suffix}"
    if found.chosen is not None:
        yield from (f" {_instead(found, other)}" for other in _equals(found.chosen, found.candidates))


def _equals(chosen: Candidate, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    return (one for one in candidates if (one.preference(), one.started()) == (chosen.preference(), chosen.started()))


def _instead(found: Preemption, other: Candidate) -> str:
    return found.suffix.replace(_room(found.chosen), _room(other)) if found.chosen is not None else found.suffix


def _room(candidate: Candidate) -> str:
    return f"node {candidate.node}, preempting {len(candidate.victims)} victims"


def _take(state: ClusterState, pod: PendingPod) -> None:
    state.set_pod(pod)
    if not pod.pod.spec.node_name:
        state.nominations.set(pod, pod.pod.status.nominated_node_name)


def _listed(api: Api, path: str, kind: type[T]) -> tuple[T, ...]:
    return msgspec.json.decode(api.text(path), type=Items[kind]).items  # type: ignore[valid-type]
