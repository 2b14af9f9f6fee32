"""NodeResourcesBalancedAllocation: prefer the nodes whose resources the pod brings closer to being equally full."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cluster_model.columns import Amounts, Shares
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from scheduler_plugins import allocation, fit_args
from scheduler_plugins.allocation import Filling
from scheduler_plugins.fit_args import BalancedArgs
from scheduler_plugins.framework import MAX_SCORE, Scores

HALF = MAX_SCORE // 2

Grid: TypeAlias = NDArray[np.float64]  # [resource, feasible node]


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows, args: BalancedArgs) -> Scores | None:
    """Score 75 where the pod changes no balance, up to 100 where it mends it, down to 50 where it spoils it."""
    weights = fit_args.weights(args.resources)
    if not any(pod.request.resources.get(resource) for resource in weights):
        return None
    fillings = allocation.as_requested(pod, snapshot, rows, weights)
    after = _evenness(fillings, [filling.after for filling in fillings])
    before = _evenness(fillings, [filling.before for filling in fillings])
    return HALF + (HALF + after - before) // 2


def _evenness(fillings: list[Filling], amounts: list[Amounts]) -> Scores:
    """Return 100 for resources filled alike, less by the standard deviation of the shares in use."""
    shares = [_share(filling, amount) for filling, amount in zip(fillings, amounts, strict=True)]
    if len(fillings) == 2 and all(filling.present is None for filling in fillings):
        deviation: Shares = np.abs((shares[0] - shares[1]) / 2)
    else:
        deviation = _deviation(fillings, shares)
    return ((1 - deviation) * MAX_SCORE).astype(np.int64)


def _share(filling: Filling, amount: Amounts) -> Shares:
    share: Shares = np.minimum(amount / filling.capacity, 1.0)
    return share


def _deviation(fillings: list[Filling], shares: list[Shares]) -> Shares:
    """Take each node's own resources: half the difference of two, the population's sigma of more, 0 of one.

    Sums run in the order of the resources, as kube-scheduler's do, so that floats are equal to the last bit.
    """
    nodes = len(shares[0])
    here = [np.ones(nodes, np.bool_) if filling.present is None else filling.present for filling in fillings]
    count = np.sum(here, axis=0)
    total, squares, first, last = (np.zeros(nodes) for _ in range(4))
    for share, present in zip(shares, here, strict=True):
        total += np.where(present, share, 0.0)
    mean = total / np.maximum(count, 1)
    unseen = np.ones(nodes, np.bool_)
    for share, present in zip(shares, here, strict=True):
        squares += np.where(present, (share - mean) * (share - mean), 0.0)
        first = np.where(present & unseen, share, first)
        last = np.where(present, share, last)
        unseen &= ~present
    sigma = np.sqrt(squares / np.maximum(count, 1))
    halved = np.abs((first - last) / 2)
    return np.select([count > 2, count == 2], [sigma, halved], 0.0)
