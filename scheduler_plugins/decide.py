"""The decision for one pod: every filter on every node, scores of those that fit, the best total."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from scheduler_plugins import narrowing
from scheduler_plugins.framework import (
    FITS,
    Codes,
    Decision,
    Filter,
    Judged,
    PluginError,
    Profile,
    Rejection,
    Scorer,
    Scores,
    code_type,
)

RawScores: TypeAlias = Callable[[Scorer, Rows], Scores | None]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What the filters said of every node."""

    pod: PendingPod
    snapshot: Snapshot
    profile: Profile
    codes: Codes  # [node] 0 fits, k was rejected by table[k - 1]
    table: tuple[Rejection, ...]


def unmarked() -> None:
    """Take no note of it."""


def decide(
    pod: PendingPod,
    snapshot: Snapshot,
    profile: Profile,
    held: Iterable[Judged] = (),
    judged: Callable[[], None] = unmarked,
) -> Decision:
    """Choose a node for the pod, or say of every node why not.

    `held` says where others that wait leave no room for it. A node that it is nominated to is taken if it fits, else
    ties go to the first row. A single feasible node is scored like any other, so that it can be explained. Raises
    PluginError where a plugin cannot judge the pod: that is no verdict. `judged` is told when the filters are done.
    """
    refusal = narrowing.refusal(pod, snapshot, profile.filters) if len(snapshot) else None
    if refusal is not None:
        judged()
        return _refused(pod, snapshot, profile, refusal)
    codes, table = combine(len(snapshot), _judge(pod, snapshot, profile.filters, held))
    judged()
    found = Found(pod, snapshot, profile, codes, table)
    return choose(found, lambda scorer, rows: scorer.run(pod, snapshot, rows))


def choose(found: Found, raw: RawScores) -> Decision:
    """Take the best of the nodes that fit, given each scorer's raw scores of them."""
    rows: Rows = np.flatnonzero(found.codes == FITS)
    scores = _scores(found.profile, rows, raw) if len(rows) else {}
    total = weigh(found.profile, scores, len(rows))
    best = _best(found, rows, total) if len(rows) else None
    pod, snapshot, profile, codes, table = found.pod, found.snapshot, found.profile, found.codes, found.table
    return Decision(pod, snapshot, profile, codes, table, rows, scores, total, best)


def _best(found: Found, rows: Rows, total: Scores) -> int:
    """Return the place of the node to take."""
    nominated = found.snapshot.nodes.rows.get(found.pod.pod.status.nominated_node_name)
    if nominated is not None and found.codes[nominated] == FITS:
        return int(np.searchsorted(rows, nominated))
    return int(total.argmax())


def _scores(profile: Profile, rows: Rows, raw: RawScores) -> dict[str, Scores]:
    """Score the feasible rows. A single one needs no score to win, so one that cannot be given stops nothing."""
    try:
        return score(profile, rows, raw)
    except PluginError:
        if len(rows) > 1:
            raise
        return {}


def score(profile: Profile, rows: Rows, raw: RawScores) -> dict[str, Scores]:
    """Return each scorer's normalised scores of the feasible rows; one that skips the pod is left out."""
    scores = {}
    for scorer in profile.scorers:
        given = raw(scorer, rows)
        if given is not None:
            scores[scorer.name] = given if scorer.normalise is None else scorer.normalise(given)
    return scores


def weigh(profile: Profile, scores: dict[str, Scores], length: int) -> Scores:
    """Add the scores up, each times its scorer's weight."""
    total: Scores = np.zeros(length, np.int64)
    for scorer in profile.scorers:
        if scorer.name in scores:
            total += scores[scorer.name] * scorer.weight
    return total


def _refused(pod: PendingPod, snapshot: Snapshot, profile: Profile, why: Rejection) -> Decision:
    nowhere: Rows = np.zeros(0, np.intp)
    codes = np.ones(len(snapshot), np.uint8)
    return Decision(pod, snapshot, profile, codes, (why,), nowhere, {}, np.zeros(0, np.int64), None, refused=True)


def _judge(pod: PendingPod, snapshot: Snapshot, filters: Iterable[Filter], held: Iterable[Judged]) -> list[Judged]:
    """Return the verdicts in the order in which they speak: nodes left out, those held, then profile order.

    A plugin that fails matters only where a node is left for it to judge.
    """
    left = narrowing.narrowed(pod, filters)
    narrowed = None if left is None else left.verdict(snapshot)
    judged: list[Judged] = list(held) if left is None or narrowed is None else [(left.plugins, narrowed), *held]
    for plugin in filters:
        try:
            verdict = None if plugin.run is None else plugin.run(pod, snapshot)
        except PluginError:
            if _any_left(judged, len(snapshot)):
                raise
            break
        if verdict is not None:
            judged.append(((plugin.name,), verdict))
    return judged


def _any_left(judged: list[Judged], nodes: int) -> bool:
    """Whether there is a node that no verdict so far rejects."""
    left = np.ones(nodes, np.bool_)
    for _, verdict in judged:
        left &= verdict.codes == FITS
    return bool(left.any())


def combine(nodes: int, judged: list[Judged]) -> tuple[Codes, tuple[Rejection, ...]]:
    """Let the first verdict that rejects a node speak for it, with codes numbered through all tables."""
    table = tuple(
        Rejection(first, reasons, tuple(others)) for (first, *others), verdict in judged for reasons in verdict.table
    )
    codes: Codes = np.zeros(nodes, code_type(len(table)))
    offset = len(table)
    for _, verdict in reversed(judged):
        offset -= len(verdict.table)
        # An earlier plugin overwrites a later one.
        np.putmask(codes, verdict.codes != FITS, verdict.codes + codes.dtype.type(offset))
    return codes, table
