"""The contract between plugins and the decision: verdicts, filters, scorers, profiles, and the decision itself."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cluster_model.columns import Amounts, Mask, sealed
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.hints.interest import Interests, OwnersOf

Codes: TypeAlias = NDArray[np.unsignedinteger]  # [node] 0 fits, k is the k-th set of reasons
Scores: TypeAlias = Amounts  # [feasible node]
ReasonSet: TypeAlias = tuple[Reason, ...]

MAX_SCORE = 100
FITS = 0


class PluginError(Exception):
    """A plugin could not judge the pod, in kube-scheduler's words; the attempt fails and is repeated."""


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """A filter's answer for all nodes: a code per node, and what each code above 0 means."""

    codes: Codes  # [node]
    table: tuple[ReasonSet, ...]  # table[k - 1] explains code k

    @classmethod
    def where(cls, rejected: Mask, *reasons: Reason) -> "Verdict | None":
        """Reject the marked nodes, all with the same reasons; None where none is marked."""
        return cls(sealed(rejected.view(np.uint8)), (reasons,)) if rejected.any() else None


Judged: TypeAlias = tuple[tuple[str, ...], Verdict]  # the names of the plugins, their verdict


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The only nodes that may take a pod, whether or not they exist, and the events that could change which."""

    names: frozenset[str]
    cured_by: frozenset[Event]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter plugin with its args bound.

    `refuse` may reject the pod everywhere, for what it says or names, before any node is looked at. `narrow` may
    leave nodes out that the other filters then need not judge. `run` judges all nodes. None means: nothing to say about
    this pod. `skips` says of the cluster as it is that `run` is not to be asked either about what is only supposed.
    """

    name: str
    run: Callable[[PendingPod, Snapshot], Verdict | None] | None = None
    refuse: Callable[[PendingPod, Snapshot], ReasonSet] | None = None
    narrow: Callable[[PendingPod], Narrowing | None] | None = None
    skips: Callable[[PendingPod, Snapshot], bool] | None = None
    row_local: bool = True  # a node's code depends on that node's row alone
    static: bool = False  # it depends on the nodes' own objects alone, not on what pods hold
    hints: Callable[[OwnersOf], Interests] | None = None  # None: any event that its reasons name is held for a cure


@dataclass(frozen=True, slots=True)
class Scorer:
    """A score plugin with its args bound. `run` gives raw scores of the feasible rows, None where it skips the pod."""

    name: str
    weight: int
    run: Callable[[PendingPod, Snapshot, Rows], Scores | None]
    normalise: Callable[[Scores], Scores] | None = None
    row_local: bool = True  # a node's raw score depends on that node's row alone
    static: bool = False  # it depends on the nodes' own objects alone, not on what pods hold


@dataclass(frozen=True, slots=True)
class Sampling:
    """On how many nodes preemption looks for candidates: a share of those where it may help, and at least so many."""

    percentage: int = 10
    least: int = 100


@dataclass(frozen=True, slots=True)
class Profile:
    """The plugins that decide for one scheduler name, in their order."""

    scheduler_name: str
    filters: tuple[Filter, ...]
    scorers: tuple[Scorer, ...]
    preemption: Sampling | None = None  # None: it evicts nobody
    bind_timeout_seconds: int | None = None  # how long a pod waits for its volumes; None: nobody binds them
    asks_for_devices: bool = True  # kube-scheduler's DynamicResources, which does nothing here, is configured


@dataclass(frozen=True, slots=True)
class Rejection:
    """One set of reasons, and the plugin that gave it; `others` gave it together with that one."""

    plugin: str
    reasons: ReasonSet
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What was decided for one pod and why. One vector is mask, explanation and histogram at once."""

    pod: PendingPod
    snapshot: Snapshot
    profile: Profile
    codes: Codes  # [node] 0 fits, k was rejected by table[k - 1]
    table: tuple[Rejection, ...]
    rows: Rows  # [feasible node]
    scores: Mapping[str, Scores]  # scorer -> [feasible node] normalised, before its weight
    total: Scores  # [feasible node]
    best: int | None  # place in `rows` of the node chosen
    refused: bool = False  # rejected for what the pod says or names, before any node was looked at

    @property
    def fits(self) -> bool:
        """Whether some node takes the pod."""
        return self.best is not None

    @property
    def node(self) -> str | None:
        """The name of the node chosen."""
        return None if self.best is None else self.snapshot.names[self.rows[self.best]]

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins that rejected some node."""
        return frozenset(self.cures)

    @property
    def cures(self) -> Mapping[str, frozenset[Event]]:
        """The events that could cure what each plugin says, by plugin; nothing where there is no node to reject."""
        found: dict[str, frozenset[Event]] = {}
        for rejection, _ in self.counts():
            events = frozenset(event for reason in rejection.reasons for event in reason.cured_by)
            for name in (rejection.plugin, *rejection.others):
                found[name] = found.get(name, frozenset()) | events
        return found

    @property
    def cured_by(self) -> frozenset[Event]:
        """The events after which another attempt is worth it."""
        if not len(self.snapshot):
            return frozenset({Event.NODE_ADD})
        return frozenset(event for events in self.cures.values() for event in events)

    def counts(self) -> Iterator[tuple[Rejection, int]]:
        """Yield each rejection in use with the number of nodes that got it."""
        nodes = np.bincount(self.codes, minlength=len(self.table) + 1)
        return ((rejection, int(n)) for rejection, n in zip(self.table, nodes[1:], strict=True) if n)

    def rejection(self, node: str) -> Rejection | None:
        """Return why one node was rejected, None if it fits."""
        code = int(self.codes[self.snapshot.nodes.rows[node]])
        return None if code == FITS else self.table[code - 1]


def code_type(sets: int) -> np.dtype[np.unsignedinteger]:
    """Return the narrowest type that numbers so many sets of reasons."""
    return np.dtype(np.uint8 if sets <= np.iinfo(np.uint8).max else np.uint16)


def highest_is_best(scores: Scores) -> Scores:
    """Scale to 0..100 by the highest, as kube-scheduler's default normalisation does."""
    highest: int = int(scores.max())
    return scores if highest == 0 else scores * MAX_SCORE // highest


def lowest_is_best(scores: Scores) -> Scores:
    """Scale to 0..100 by the highest and turn round: nothing is the best."""
    return MAX_SCORE - highest_is_best(scores)


def cures(*events: Event) -> frozenset[Event]:
    """Name the events that could cure a reason."""
    return frozenset(events)
