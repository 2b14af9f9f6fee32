"""Users' plugins as the decision calls them: what they raise or return wrongly fails the pod's attempt, nothing else.

The texts are kube-scheduler's. Our own plugins are not guarded: they are tested, and the hot path pays for no wrapper.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from cluster_model.columns import Amounts
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.verdict import Reason
from scheduler_plugins.framework import MAX_SCORE, Filter, PluginError, Scorer, Scores, Verdict, code_type
from scheduler_plugins.interfaces import FilterPlugin, ScorePlugin

P = ParamSpec("P")
R = TypeVar("R")

WIDEST = 2  # bytes of a code
# SystemExit is no Exception, yet a plugin must not end the process.
RAISED = (Exception, SystemExit)


def guarded(doing: str, run: Callable[P, R]) -> Callable[P, R]:
    """Return the same call, of which whatever is raised becomes a PluginError that says what was done."""

    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return run(*args, **kwargs)
        except RAISED as error:
            raise broken(doing, error) from error

    return asked


def broken(doing: str, error: BaseException) -> PluginError:
    """Say what failed while something was done; a PluginError's words are taken as they are."""
    told = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
    return PluginError(f"{doing}: {told}")


def as_filter(name: str, plugin: FilterPlugin) -> Filter:
    """Return a user's filter as the decision calls it."""
    before = f'running PreFilter plugin "{name}"'

    def run(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
        return _verdict(plugin.filter(pod, snapshot), len(snapshot))

    return Filter(
        name,
        guarded(f'running "{name}" filter plugin', run),
        guarded(before, plugin.refuse) if _defines(plugin, FilterPlugin, "refuse") else None,
        guarded(before, plugin.narrow) if _defines(plugin, FilterPlugin, "narrow") else None,
        row_local=plugin.filters_row_by_row,
    )


def as_scorer(name: str, weight: int, plugin: ScorePlugin) -> Scorer:
    """Return a user's scorer as the decision calls it; its scores are checked, normalised or not."""
    normalise = guarded(f'running Normalize on Score plugins: plugin "{name}" failed with', plugin.normalise)
    run = guarded(f'running Score plugins: plugin "{name}" failed with', plugin.score)

    def scored(pod: PendingPod, snapshot: Snapshot, rows: Rows) -> Scores | None:
        given = run(pod, snapshot, rows)
        return None if given is None else _numbers(name, given, len(rows))

    def normalised(raw: Scores) -> Scores:
        return _in_range(name, _numbers(name, normalise(raw), len(raw)))

    return Scorer(name, weight, scored, normalised, row_local=plugin.scores_row_by_row)


def _defines(plugin: object, base: type, method: str) -> bool:
    return getattr(type(plugin), method) is not getattr(base, method)


def _verdict(found: Verdict | None, nodes: int) -> Verdict | None:
    if found is None:
        return None
    if not isinstance(found, Verdict):
        raise TypeError(f"must return a Verdict or None, not {type(found).__name__}")
    codes = found.codes
    if codes.dtype.kind != "u" or codes.dtype.itemsize > WIDEST or codes.shape != (nodes,):
        raise TypeError(f"codes must be uint8 or uint16 of shape ({nodes},), not {_form(codes)}")
    if int(codes.max(initial=0)) > len(found.table):
        raise ValueError(f"code {int(codes.max())} has no reasons: the table has {len(found.table)}")
    if not all(_are_reasons(entry) for entry in found.table):
        raise TypeError("each entry of the table must be a tuple of one Reason or more")
    return Verdict(codes.astype(code_type(len(found.table)), copy=False), tuple(found.table))


def _are_reasons(entry: object) -> bool:
    return isinstance(entry, tuple) and bool(entry) and all(isinstance(one, Reason) for one in entry)


def _numbers(name: str, scores: Scores, nodes: int) -> Amounts:
    if not isinstance(scores, np.ndarray) or scores.dtype.kind not in "iu" or scores.shape != (nodes,):
        wanted = f"it should be whole numbers of shape ({nodes},)"
        raise PluginError(
            f'running Score plugins: plugin "{name}" returns an invalid score array {_form(scores)}, {wanted}'
        )
    return scores.astype(np.int64, copy=False)


def _in_range(name: str, scores: Scores) -> Scores:
    wrong = (scores < 0) | (scores > MAX_SCORE)
    if wrong.any():
        said = f"invalid score {scores[wrong][0]}, it should in the range of [0, {MAX_SCORE}] after normalizing"
        raise PluginError(f'applying score defaultWeights on Score plugins: plugin "{name}" returns an {said}')
    return scores


def _form(found: object) -> str:
    if isinstance(found, np.ndarray):
        return f"{found.dtype} of shape {found.shape}"
    return type(found).__name__
