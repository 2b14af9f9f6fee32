"""GPUTopologyPlugin: enough free GPUs of an accepted model with enough memory; prefers the tightest fit and idle GPUs.

It counts units of nvidia.com/gpu. A pod that asks only for slices or shares needs none of those; what it does need is
left to NodeResourcesFit, while the model and the memory that its annotations name apply all the same.
"""

from collections.abc import Iterator

import numpy as np

from cluster_model import gpu_names
from cluster_model.columns import MAX_AMOUNT, Amounts, Shares, sealed
from cluster_model.gpu_models import KnownModels
from cluster_model.pod import PendingPod
from cluster_model.request import GpuRequest
from cluster_model.snapshot import UNKNOWN, NodeColumns, Rows, Snapshot
from cluster_model.verdict import Event, Problem, Reason
from scheduler_plugins import plugin_args
from scheduler_plugins.framework import MAX_SCORE, Codes, ReasonSet, Scores, Verdict, cures

NAME = "GPUTopologyPlugin"
OTHER_NODE = cures(Event.NODE_ADD, Event.NODE_ALLOCATABLE, Event.NODE_LABEL, Event.POD_UPDATE)
POD_LEFT = cures(Event.ASSIGNED_POD_DELETE, Event.ASSIGNED_POD_SCALE_DOWN)
INSUFFICIENT = f"Insufficient {gpu_names.GPU}"
TABLE: tuple[ReasonSet, ...] = (
    (Reason(INSUFFICIENT, OTHER_NODE | POD_LEFT),),
    (Reason(INSUFFICIENT, OTHER_NODE),),  # it never has that many, or even an empty one would not do
    (Reason("node(s) had no known GPU model", OTHER_NODE),),
    (Reason("node(s) didn't match GPU model", OTHER_NODE),),
    (Reason("node(s) had no known GPU memory", OTHER_NODE),),
    (Reason("Insufficient GPU memory", OTHER_NODE),),
)
FREE, TOTAL = "free", "total"
LONGEST_MODEL = 253
TAKEN, TOO_FEW, NO_MODEL, OTHER_MODEL, NO_MEMORY, LITTLE_MEMORY = range(1, 7)

# One card shows up to 8 % less than its name says, depending on who reports it (15109 to 16384 MiB for a T4).
OF_ASKED, OF_SHOWN = 92, 100


class Args(plugin_args.Args, frozen=True):
    """`count` says which GPUs the score compares with the number asked: a node's free ones, or all.

    `extraModels` names GPU models beside those built in, for reading nodes and pods; they hold for all profiles.
    """

    count: str = FREE
    extra_models: tuple[str, ...] = ()

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield an unknown way to count, and names that no node or pod could be recognised by."""
        if self.count not in (FREE, TOTAL):
            yield Problem(f"{path}.count", self.count, f"must be one of: {FREE}, {TOTAL}")
        for index, name in enumerate(self.extra_models):
            if len(name) > LONGEST_MODEL or KnownModels.extended([name]).canonical(name) is None:
                rule = f'must name one GPU model in at most {LONGEST_MODEL} characters, such as "RTX-9090"'
                yield Problem(f"{path}.extraModels[{index}]", name, rule)


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes with too few free GPUs, then those of another or unknown kind."""
    gpu = pod.request.gpu
    if not gpu.asks:
        return None
    nodes = snapshot.nodes
    unfit = nodes.remembered((NAME, gpu.models, gpu.memory_mib), lambda: _unfit(gpu, nodes))
    total = snapshot.allocatable(gpu_names.GPU)
    short = total - snapshot.requested(gpu_names.GPU) < gpu.units
    if not gpu.units or not short.any():
        return None if unfit is None else Verdict(unfit, TABLE)
    hopeless = total < gpu.units if unfit is None else (total < gpu.units) | (unfit > 0)
    found = short.astype(np.uint8) + (short & hopeless)  # TAKEN, or TOO_FEW where that cannot change
    return Verdict(found if unfit is None else np.where(short, found, unfit), TABLE)


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows, args: Args) -> Scores:
    """Weigh 7 to 3 how closely the GPUs match the number asked and how idle they are; 0 without GPUs."""
    gpu = pod.request.gpu
    if not gpu.asks:
        return np.zeros(len(rows), np.int64)
    total = snapshot.allocatable(gpu_names.GPU).take(rows)
    taken = snapshot.requested(gpu_names.GPU).take(rows)
    counted = total - taken if args.count == FREE else total
    fit: Scores = np.maximum(MAX_SCORE - 10 * np.abs(counted - gpu.units), 0)
    idle: Scores = (MAX_SCORE * (1 - _utilization(snapshot.nodes, rows, total, taken))).astype(np.int64)
    score: Scores = (7 * fit + 3 * idle) // 10 * (total > 0)
    return score


def _utilization(nodes: NodeColumns, rows: Rows, total: Amounts, taken: Amounts) -> Shares:
    """Take what the node says, else the share of its GPUs that is assigned."""
    assigned = np.minimum(taken / np.maximum(total, 1), 1.0)
    if not nodes.remembered((NAME, "said"), lambda: bool((nodes.gpu_utilization != UNKNOWN).any())):
        return assigned
    said = nodes.gpu_utilization.take(rows)
    return np.where(said == UNKNOWN, assigned, said)


def _unfit(gpu: GpuRequest, nodes: NodeColumns) -> Codes | None:
    """Judge model and memory, which only a change of the node can mend; None where all nodes will do."""
    codes = np.zeros(len(nodes.names), np.uint8)
    known, needed = nodes.gpu_memory_mib, _needed_mib(gpu, nodes)
    codes[(needed > 0) & (known * OF_SHOWN < needed * OF_ASKED)] = LITTLE_MEMORY
    codes[(known == UNKNOWN) & (needed > 0)] = NO_MEMORY
    if gpu.models:
        codes[~nodes.gpu_model.among({model.name for model in gpu.models})] = OTHER_MODEL
        codes[nodes.gpu_model.among([None])] = NO_MODEL
    return sealed(codes) if codes.any() else None


def _needed_mib(gpu: GpuRequest, nodes: NodeColumns) -> Amounts:
    """Return the memory that each node must have: the annotation's, and the size asked with its own model's name."""
    sizes: dict[str | None, int] = {}
    for model in gpu.models:
        sizes[model.name] = min(sizes.get(model.name, MAX_AMOUNT), model.memory_mib or 0)
    least = min(gpu.memory_mib or 0, MAX_AMOUNT)
    return nodes.gpu_model.measure(lambda name: max(least, sizes.get(name, 0)))
