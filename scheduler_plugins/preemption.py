"""DefaultPreemption: make room for a pod that fits nowhere by ending less important ones, as few as possible.

Says on which node room can be made, who has to go, and kube-scheduler's words; evicts nobody. What would be is asked
of the cluster's state, which stays as it is.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from cluster_model import objects
from cluster_model.budgets import Budget
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from cluster_model.verdict import Problem, Reason
from scheduler_plugins import explain, unsupported
from scheduler_plugins.framework import Decision, Profile, Rejection, Sampling
from scheduler_plugins.plugin_args import Args
from scheduler_plugins.trial import Trial
from scheduler_plugins.victims import NAME as NAME
from scheduler_plugins.victims import NO_VICTIMS, Candidate, NothingToEvict, best, lower, select

OUT_OF_REACH = "not found"  # of what kube-scheduler's DynamicResources looks for, when it was not asked before
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
USELESS = Reason("Preemption is not helpful for scheduling", frozenset())
DISRUPTION_TARGET, BY_SCHEDULER = "DisruptionTarget", "PreemptionByScheduler"

Offset = Callable[[int], int]  # the place from which so many nodes are tried


class PreemptionArgs(Args, frozen=True):
    """How many nodes are tried, as a share of those where eviction may help and as a number."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what is out of range; at least one of the two must ask for a node."""
        percentage, least = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        if not 0 <= percentage <= 100:
            yield Problem(f"{path}.minCandidateNodesPercentage", percentage, "not in valid range [0, 100]")
        if least < 0:
            yield Problem(f"{path}.minCandidateNodesAbsolute", least, "not in valid range [0, inf)")
        if percentage == 0 and least == 0:
            yield Problem(path, "0", "minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be 0")


def sampling(args: PreemptionArgs) -> Sampling:
    """Bind the args of a profile that preempts."""
    return Sampling(args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute)


@dataclass(frozen=True, slots=True)
class Preemption:
    """What preemption can do for a pod, and what it says of it."""

    message: str
    label: str = "preemption: "  # whose message it is
    chosen: Candidate | None = None
    clears: bool = False  # an earlier nomination of the pod holds no more
    candidates: tuple[Candidate, ...] = ()
    tried_in_vain: dict[str, Rejection] = field(default_factory=dict)  # by node name

    @property
    def suffix(self) -> str:
        """What the sentence about the pod ends in."""
        return f"{self.label}{self.message}"


def preempt(decision: Decision, state: ClusterState, offset: Offset) -> Preemption:
    """Look for a node where evicting pods of lower priority lets the pod in that was just rejected everywhere.

    The state must be as it was when the decision was made, and the profile one that preempts.
    """
    if is_out_of_reach(decision):
        return Preemption(OUT_OF_REACH, label="")
    why_not = _ineligible(decision, state)
    if why_not:
        return Preemption(why_not)
    names = [decision.snapshot.names[row] for row in np.flatnonzero(_helpable(decision))]
    try:
        candidates, vain = _dry_run(decision, state, names, offset)
    except NothingToEvict as contradiction:
        return Preemption(str(contradiction))
    if not candidates:
        return Preemption(_nowhere(decision, vain), clears=True, tried_in_vain=vain)
    chosen = best(candidates)
    found = f"found a potential placement for pod on node {chosen.node}, preempting {len(chosen.victims)} victims"
    return Preemption(found, chosen=chosen, candidates=tuple(candidates), tried_in_vain=vain)


def is_out_of_reach(decision: Decision) -> bool:
    """Say whether kube-scheduler would not come to preempt a pod that was refused before nodes were judged.

    What frees devices comes first there, and fails if it was not asked before the refusal that ended all questions.
    """
    if not decision.refused or not decision.profile.asks_for_devices:
        return False
    why = decision.table[0]
    ends_all = not all(reason.preemption_may_help for reason in why.reasons)
    return ends_all and why.plugin != unsupported.NAME


def is_going(pod: objects.Pod) -> bool:
    """Say whether a pod is on its way out because a scheduler evicted it."""
    if not pod.metadata.deletion_timestamp:
        return False
    target = next((one for one in pod.status.conditions if one.type == DISRUPTION_TARGET), None)
    return target is not None and (target.status, target.reason) == ("True", BY_SCHEDULER)


def _ineligible(decision: Decision, state: ClusterState) -> str:
    pod = decision.pod.pod
    if pod.spec.preemption_policy == "Never":
        return NEVER
    nominated = _nominated(decision.pod, state)
    row = decision.snapshot.nodes.rows.get(nominated)
    if row is None or not _helpable(decision)[row]:
        return ""
    there = (held.pod for held in lower(decision.pod, state.pods_on(nominated)))
    return TERMINATING if any(is_going(one) or one.metadata.uid in state.evicting for one in there) else ""


def _nominated(pod: PendingPod, state: ClusterState) -> str:
    return state.nominations.node(pod.pod.metadata.uid) or pod.pod.status.nominated_node_name


def _helpable(decision: Decision) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Return on which nodes each reason is one that evicting pods may cure."""
    helps = [all(reason.preemption_may_help for reason in found.reasons) for found in decision.table]
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.array([False, *helps], np.bool_)[decision.codes]
    return found


def _dry_run(
    decision: Decision, state: ClusterState, names: list[str], offset: Offset
) -> tuple[list[Candidate], dict[str, Rejection]]:
    """Try nodes in turn until enough candidates are found and one of them violates no budget."""
    if not names:
        return [], {}
    wanted, start = _wanted(decision.profile, len(names)), offset(len(names))
    protected = state.budgets.all()
    candidates: list[Candidate] = []
    vain: dict[str, Rejection] = {}
    for name in (*names[start:], *names[:start]):
        found = _try(decision, state, name, protected)
        if isinstance(found, Rejection):
            vain[name] = found
            continue
        candidates.append(found)
        if len(candidates) >= wanted and any(not candidate.violations for candidate in candidates):
            break
    return candidates, vain


def _try(decision: Decision, state: ClusterState, name: str, protected: tuple[Budget, ...]) -> Candidate | Rejection:
    weakest = state.weakest(name)
    if weakest is None or weakest >= decision.pod.pod.spec.priority:
        return NO_VICTIMS
    evictable = lower(decision.pod, state.pods_on(name))
    return select(Trial.on(decision.pod, state, decision.profile, name), evictable, protected)


def _wanted(profile: Profile, nodes: int) -> int:
    sampling = profile.preemption or Sampling()
    return min(nodes, max(nodes * sampling.percentage // 100, sampling.least))


def _nowhere(decision: Decision, vain: dict[str, Rejection]) -> str:
    nodes = len(decision.snapshot)
    counted = Counter(reason.text for rejection in vain.values() for reason in rejection.reasons)
    untried = nodes - len(vain)
    if untried:
        counted[USELESS.text] += untried
    return explain.counted(nodes, counted)
