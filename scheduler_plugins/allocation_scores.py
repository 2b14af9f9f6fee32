"""NodeResourcesFit, the scores: emptiest first, fullest first, or along a line. Integers as in kube-scheduler."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from cluster_model.columns import Amounts, Shares
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from scheduler_plugins import allocation, fit_args
from scheduler_plugins.allocation import Filling
from scheduler_plugins.fit_args import FitArgs, Ratio
from scheduler_plugins.framework import MAX_SCORE, Scores


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows, args: FitArgs) -> Scores:
    """Score how full the nodes would be, by the configured strategy."""
    strategy = args.scoring_strategy
    fillings = allocation.with_defaults(pod, snapshot, rows, fit_args.weights(strategy.resources))
    if strategy.requested_to_capacity_ratio is not None:
        return _along(strategy.requested_to_capacity_ratio, fillings, len(rows))
    worth = _free if strategy.type == fit_args.LEAST else _used
    return _mean([(filling, worth(filling)) for filling in fillings], len(rows))


def _free(filling: Filling) -> Scores:
    free: Scores = np.maximum(filling.capacity - filling.after, 0) * MAX_SCORE // filling.capacity
    return free


def _used(filling: Filling) -> Scores:
    used: Scores = np.minimum(filling.after, filling.capacity) * MAX_SCORE // filling.capacity
    return used


def _mean(scored: Iterable[tuple[Filling, Scores]], length: int) -> Scores:
    """Return the weighted mean over the resources that a node has, cut to an integer; 0 where it has none."""
    total: Amounts = np.zeros(length, np.int64)
    weights: Amounts | int = 0
    for filling, scores in scored:
        weight = filling.weight if filling.present is None else filling.weight * filling.present
        total += scores * weight
        weights = weights + weight
    return total // np.maximum(weights, 1)


def _along(ratio: Ratio, fillings: Iterable[Filling], length: int) -> Scores:
    """Look the share in use up on the line; a resource worth 0 there counts neither as score nor as weight."""
    line = np.array([worth(share, ratio) for share in range(MAX_SCORE + 1)], np.int64)
    total: Amounts = np.zeros(length, np.int64)
    weights: Amounts = np.zeros(length, np.int64)
    for filling in fillings:
        scores = line.take(_used(filling))
        counts = scores > 0 if filling.present is None else (scores > 0) & filling.present
        total += np.where(counts, scores * filling.weight, 0)
        weights += np.where(counts, filling.weight, 0)
    return rounded(total / np.maximum(weights, 1))


def worth(share: int, ratio: Ratio) -> int:
    """Interpolate between the points around a share, towards zero as Go divides; flat outside."""
    points = [(point.utilization, point.score * (MAX_SCORE // fit_args.MAX_SHAPE_SCORE)) for point in ratio.shape]
    for (left, low), (right, high) in pairwise(points):
        if left < share <= right:
            return low + int((high - low) * (share - left) / (right - left))
    return points[0][1] if share <= points[0][0] else points[-1][1]


def rounded(means: Shares) -> Scores:
    """Round halves up, as Go does with what is not negative."""
    whole = np.floor(means)
    return (whole + (means - whole >= 0.5)).astype(np.int64)
