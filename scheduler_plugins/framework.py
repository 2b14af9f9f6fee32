"""The contract between plugins and the decision: verdicts, filters, scorers, profiles, and the decision itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Reason

Codes: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16]  # [node] 0 fits, k is the k-th set of reasons
Rows: TypeAlias = NDArray[np.intp]  # [feasible node] row numbers in the snapshot
Scores: TypeAlias = NDArray[np.int64]  # [feasible node]
ReasonSet: TypeAlias = tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A filter's answer for all nodes: a code per node, and what each code above 0 means."""

    codes: Codes  # [node]
    table: tuple[ReasonSet, ...]  # table[k - 1] explains code k


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter plugin with its args bound. `run` answers None where it has nothing to say about the pod."""

    name: str
    run: Callable[[PendingPod, Snapshot], Verdict | None]
    row_local: bool = True  # a node's code depends on that node's row alone


@dataclass(frozen=True, slots=True)
class Scorer:
    """A score plugin with its args bound. `run` gives raw scores of the feasible rows, None where it skips the pod."""

    name: str
    weight: int
    run: Callable[[PendingPod, Snapshot, Rows], Scores | None]
    normalise: Callable[[Scores], Scores] | None = None
    row_local: bool = True  # a node's raw score depends on that node's row alone


@dataclass(frozen=True, slots=True)
class Profile:
    """The plugins that decide for one scheduler name, in their order."""

    scheduler_name: str
    filters: tuple[Filter, ...]
    scorers: tuple[Scorer, ...]
