"""The decision for one pod: every filter on every node, scores of those that fit, the best total."""

from collections.abc import Iterable
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
    PluginError,
    Profile,
    Rejection,
    Scores,
    Verdict,
    code_type,
)

Judged: TypeAlias = tuple[tuple[str, ...], Verdict]  # the names of the plugins, their verdict


def decide(pod: PendingPod, snapshot: Snapshot, profile: Profile) -> Decision:
    """Choose a node for the pod, or say of every node why not.

    Ties go to the first row. A single feasible node is scored like any other, so that it can be explained. Raises
    PluginError where a plugin cannot judge the pod: that is no verdict.
    """
    refusal = narrowing.refusal(pod, snapshot, profile.filters) if len(snapshot) else None
    if refusal is not None:
        return _refused(pod, snapshot, profile, refusal)
    codes, table = _combine(len(snapshot), _judge(pod, snapshot, profile.filters))
    rows: Rows = np.flatnonzero(codes == FITS)
    if not len(rows):
        return Decision(pod, snapshot, profile, codes, table, rows, {}, np.zeros(0, np.int64), None)
    scores = _scores(pod, snapshot, profile, rows)
    total = weigh(profile, scores, len(rows))
    return Decision(pod, snapshot, profile, codes, table, rows, scores, total, int(total.argmax()))


def _scores(pod: PendingPod, snapshot: Snapshot, profile: Profile, rows: Rows) -> dict[str, Scores]:
    """Score the feasible rows. A single one needs no score to win, so one that cannot be given stops nothing."""
    try:
        return score(pod, snapshot, profile, rows)
    except PluginError:
        if len(rows) > 1:
            raise
        return {}


def score(pod: PendingPod, snapshot: Snapshot, profile: Profile, rows: Rows) -> dict[str, Scores]:
    """Return each scorer's normalised scores of the feasible rows; one that skips the pod is left out."""
    scores = {}
    for scorer in profile.scorers:
        raw = scorer.run(pod, snapshot, rows)
        if raw is not None:
            scores[scorer.name] = raw if scorer.normalise is None else scorer.normalise(raw)
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


def _judge(pod: PendingPod, snapshot: Snapshot, filters: Iterable[Filter]) -> list[Judged]:
    """Return the verdicts in the order in which they speak: nodes left out first, then profile order."""
    left = narrowing.narrowed(pod, filters)
    narrowed = [] if left is None else [(left.plugins, left.verdict(snapshot))]
    judged = [((plugin.name,), plugin.run(pod, snapshot)) for plugin in filters if plugin.run is not None]
    return [(names, verdict) for names, verdict in (*narrowed, *judged) if verdict is not None]


def _combine(nodes: int, judged: list[Judged]) -> tuple[Codes, tuple[Rejection, ...]]:
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
