"""Preempts in a case with our plugin and says where that differs from kube-scheduler's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from cluster_model.budgets import PodDisruptionBudget
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from scheduler_plugins import nominated
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, Sampling
from scheduler_plugins.preemption import Preemption, preempt
from scheduler_plugins.victims import Candidate
from tests.differential import profiles
from tests.differential.answers import FrameworkAnswer, PostFilter, Stored
from tests.differential.compare import Difference, set_storage


class Budgets(msgspec.Struct, frozen=True, rename="camel"):
    """The budgets among the objects of a case."""

    pod_disruption_budgets: tuple[PodDisruptionBudget, ...] = ()


def ours(answer: FrameworkAnswer) -> tuple[Decision, Preemption | None]:
    """Decide on the objects as the API server stores them, and preempt where the pod fits nowhere."""
    stored = answer.objects()
    state = _state(stored, msgspec.json.decode(answer.stored, type=Budgets))
    profile = replace(profiles.ours(None), preemption=Sampling())
    pod = PendingPod.read(stored.pod)
    decision = decide(pod, state.snapshot(), profile, nominated.judge(pod, state, profile))
    return decision, None if decision.fits else preempt(decision, state, lambda _: 0)


def differences(answer: FrameworkAnswer) -> tuple[Difference, ...]:
    """Return all that differs, most telling first."""
    if answer.error or answer.refused:
        return (Difference("case", answer.error or answer.refused, ""),)
    return tuple(_differences(answer, *ours(answer)))


def _state(stored: Stored, budgets: Budgets) -> ClusterState:
    state = ClusterState()
    for node in stored.nodes:
        state.set_node(node)
    set_storage(stored, state.storage)
    for pod in stored.pods:
        state.set_pod(PendingPod.read(pod))
        state.nominations.set(PendingPod.read(pod), "" if pod.spec.node_name else pod.status.nominated_node_name)
    for budget in budgets.pod_disruption_budgets:
        state.budgets.set(budget)
    return state


def _differences(theirs: FrameworkAnswer, decision: Decision, found: Preemption | None) -> Iterator[Difference]:
    if theirs.post_filter is None or found is None:
        yield from _unequal("fits", theirs.post_filter is None, decision.fits)
        return
    yield from _candidates(theirs.post_filter, found)
    vain = {name: sorted(status.reasons) for name, status in theirs.post_filter.hopeless.items()}
    said = {name: sorted(reason.text for reason in why.reasons) for name, why in found.tried_in_vain.items()}
    yield from _unequal("tried in vain", vain, said)
    yield from _unequal("clears", theirs.post_filter.clears, found.clears)
    yield from _chosen(theirs.post_filter, found)


def _candidates(theirs: PostFilter, found: Preemption) -> Iterator[Difference]:
    expected = {name: (one.victims, one.pdb_violations) for name, one in theirs.candidates.items()}
    yield from _unequal("candidates", expected, {one.node: (_names(one), one.violations) for one in found.candidates})


def _chosen(theirs: PostFilter, found: Preemption) -> Iterator[Difference]:
    """Ask for the same node, or for one that nothing tells apart from it; kube-scheduler takes any of these."""
    if not theirs.nominated or found.chosen is None:
        yield from _unequal("node", theirs.nominated, found.chosen.node if found.chosen else "")
        yield from _unequal("text", theirs.suffix, found.suffix)
        return
    same = {one.node: (one.preference(), one.started()) for one in found.candidates}
    yield from _unequal("preference", same.get(theirs.nominated), same[found.chosen.node])
    if theirs.nominated == found.chosen.node:
        yield from _unequal("victims", theirs.victims, _names(found.chosen))
        yield from _unequal("text", theirs.suffix, found.suffix)


def _names(candidate: Candidate) -> tuple[str, ...]:
    return tuple(f"{one.pod.metadata.namespace}/{one.pod.metadata.name}" for one in candidate.victims)


def _unequal(what: str, theirs: object, found: object) -> Iterator[Difference]:
    if theirs != found:
        yield Difference(what, theirs, found)
