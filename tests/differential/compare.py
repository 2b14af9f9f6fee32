"""Decides a case with our plugins and says where the decision differs from kube-scheduler's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from cluster_model.storage import StorageState
from scheduler_plugins import explain, nominated, pod_topology_spread, preemption
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, PluginError, Rejection
from tests.differential import profiles
from tests.differential.answers import FrameworkAnswer, Status, Stored
from tests.differential.framework import Case

HELPABLE, HOPELESS = "Unschedulable", "UnschedulableAndUnresolvable"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that was said differently."""

    what: str
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.what}: kube-scheduler {self.theirs!r}, we {self.ours!r}"


def ours(case: Case, answer: FrameworkAnswer) -> Decision:
    """Decide on the objects as the API server stores them."""
    stored = answer.objects()
    state = ClusterState()
    for node in stored.nodes:
        state.set_node(node)
    for namespace in stored.namespaces:
        state.set_namespace(namespace)
    for owner in stored.owners():
        state.set_owner(owner)
    set_storage(stored, state.storage)
    for pod in map(PendingPod.read, stored.pods):
        state.set_pod(pod)
        if not pod.pod.spec.node_name:
            state.nominations.set(pod, pod.pod.status.nominated_node_name)
    pod, profile = PendingPod.read(stored.pod), profiles.ours(case.get("config"))
    return decide(pod, state.snapshot(), profile, nominated.judge(pod, state, profile))


def set_storage(stored: Stored, storage: StorageState) -> None:
    """Tell the storage of a case."""
    for volume in stored.persistent_volumes:
        storage.set_volume(volume)
    for claim in stored.persistent_volume_claims:
        storage.set_claim(claim)
    for found in stored.storage_classes:
        storage.set_class(found)
    for node in stored.csi_nodes:
        storage.set_csi_node(node)
    for driver in stored.csi_drivers:
        storage.set_driver(driver)
    for capacity in stored.csi_storage_capacities:
        storage.set_capacity(capacity)
    for attachment in stored.volume_attachments:
        storage.set_attachment(attachment)


def differences(case: Case, answer: FrameworkAnswer) -> tuple[Difference, ...]:
    """Return all that differs, most telling first."""
    if answer.error:
        return (Difference("case", answer.error, ""),)
    try:
        decision = ours(case, answer)
    except PluginError as failed:
        return tuple(_unequal("error", _error(answer), str(failed)))
    return tuple(_differences(answer, decision))


def _error(theirs: FrameworkAnswer) -> str:
    return theirs.message if theirs.reason == "SchedulerError" else ""


def _differences(theirs: FrameworkAnswer, decision: Decision) -> Iterator[Difference]:
    said = {name: decision.rejection(name) for name in decision.snapshot.names}
    for name, rejection in said.items():
        yield from _verdicts(name, theirs.rejected.get(name), rejection)
    yield from _unequal("error", _error(theirs), "")
    if theirs.score_error and decision.scores:
        yield Difference("error", theirs.score_error, "")
    elif decision.fits and not theirs.score_error:
        yield from _scores(theirs, decision)
    yield from _unequal("sentence", _sentence(theirs), explain.sentence(decision))
    if theirs.post_filter is not None:
        ends_early = theirs.post_filter.suffix == preemption.OUT_OF_REACH
        yield from _unequal("ending", ends_early, preemption.is_out_of_reach(decision))
    yield from _chosen(theirs, decision)


def _verdicts(name: str, theirs: Status | None, found: Rejection | None) -> Iterator[Difference]:
    """Compare one node. NodeResourcesFit lists what is short in map order, and the framework speaks without a name."""
    if theirs is None or found is None:
        yield from _unequal(f"verdict of {name}", theirs and theirs.reasons, found and _texts(found))
        return
    yield from _unequal(f"reasons of {name}", sorted(theirs.reasons), sorted(_texts(found)))
    yield from _unequal(f"code of {name}", theirs.code, _code(found))
    if theirs.plugin:
        yield from _unequal(f"plugin of {name}", theirs.plugin, found.plugin)


def _scores(theirs: FrameworkAnswer, decision: Decision) -> Iterator[Difference]:
    """Compare normalised scores and totals; scores of plugins that we do not have are taken off their totals."""
    names = [decision.snapshot.names[row] for row in decision.rows]
    yield from _raw_scores(theirs, decision, names)
    foreign = dict.fromkeys(names, 0)
    for plugin in theirs.scores:
        if plugin not in profiles.WEIGHTS:
            for name, score in theirs.normalised(plugin).items():
                foreign[name] = foreign.get(name, 0) + score * theirs.weights[plugin]
    for plugin in profiles.WEIGHTS:
        found = decision.scores.get(plugin)
        shares = {} if found is None else dict(zip(names, found.tolist(), strict=True))
        yield from _unequal(f"scores of {plugin}", theirs.normalised(plugin), shares)
    totals = {name: total - foreign.get(name, 0) for name, total in theirs.totals.items()}
    yield from _unequal("totals", totals, dict(zip(names, decision.total.tolist(), strict=True)))


def _raw_scores(theirs: FrameworkAnswer, decision: Decision, names: list[str]) -> Iterator[Difference]:
    """Compare the scores before they are normalised. A node that spreading ignores has one below 0 with us."""
    for scorer in decision.profile.scorers:
        given = scorer.run(decision.pod, decision.snapshot, decision.rows)
        seen = given if given is None or scorer.name != pod_topology_spread.NAME else given.clip(min=0)
        found = {} if seen is None else dict(zip(names, seen.tolist(), strict=True))
        yield from _unequal(f"raw scores of {scorer.name}", theirs.raw(scorer.name), found)


def _sentence(theirs: FrameworkAnswer) -> str:
    """Take what the PostFilter plugins added off the end: preemption has cases of its own."""
    suffix = theirs.post_filter.suffix if theirs.post_filter else ""
    return theirs.message.removesuffix(f" {suffix}") if suffix else theirs.message


def _chosen(theirs: FrameworkAnswer, decision: Decision) -> Iterator[Difference]:
    """Ask that either chose a node that is best for both. Without scores the scheduler takes the first that fits."""
    if not theirs.node or decision.node is None:
        yield from _unequal("node", theirs.node, decision.node or "")
    elif theirs.scores:
        best = max(theirs.totals.values())
        if theirs.totals.get(theirs.node) != best or theirs.totals.get(decision.node) != best:
            yield Difference("node", theirs.node, decision.node)


def _unequal(what: str, theirs: Any, found: Any) -> Iterator[Difference]:
    if theirs != found:
        yield Difference(what, theirs, found)


def _texts(found: Rejection) -> tuple[str, ...]:
    return tuple(reason.text for reason in found.reasons)


def _code(found: Rejection) -> str:
    """One reason that eviction does not cure makes the whole verdict hopeless."""
    return HELPABLE if all(reason.preemption_may_help for reason in found.reasons) else HOPELESS
