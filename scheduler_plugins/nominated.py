"""What pods that wait for room on a node leave of it for others: the first of the two looks that kube-scheduler takes.

A pod must fit on such a node with those of at least its own priority, and also without them. Decides nothing alone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from cluster_model.columns import sealed
from cluster_model.pod import PendingPod
from cluster_model.pod_terms import PodTerms
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.state import ClusterState
from scheduler_plugins import narrowing
from scheduler_plugins.framework import FITS, Codes, Filter, Judged, Profile, ReasonSet, Verdict, code_type

NO_TERMS = PodTerms()

Run: TypeAlias = Callable[[PendingPod, Snapshot], Verdict | None]


def judge(pod: PendingPod, state: ClusterState, profile: Profile) -> tuple[Judged, ...]:
    """Say which plugin rejects nodes because of those that wait there. Empty where nobody waits.

    A pod that is refused before nodes are judged is not looked at: a plugin may fail to judge it.
    """
    snapshot = state.snapshot()
    waiting = {node: others for node, others in state.nominations.before(pod) if node in snapshot.nodes.rows}
    if not waiting or narrowing.refusal(pod, snapshot, profile.filters) is not None:
        return ()
    return tuple(_Crowd.of(pod, state, waiting).judged(profile))


@dataclass(slots=True)
class _Crowd:
    """The nodes where others wait, one at a time taken off as some plugin rejects it."""

    pod: PendingPod
    state: ClusterState
    waiting: Mapping[str, tuple[PendingPod, ...]]
    rows: Rows  # [node that somebody waits for]
    all_there: Snapshot  # the whole cluster
    left: set[int] = field(default_factory=set)  # places in `rows`

    @classmethod
    def of(cls, pod: PendingPod, state: ClusterState, waiting: Mapping[str, tuple[PendingPod, ...]]) -> "_Crowd":
        known = state.snapshot().nodes.rows
        come = [(other, node) for node, others in waiting.items() for other in others]
        rows = np.array([known[node] for node in waiting], np.intp)
        return cls(pod, state, waiting, rows, state.supposing((), come), set(range(len(waiting))))

    def judged(self, profile: Profile) -> Iterator[Judged]:
        """Yield the verdicts; each node is rejected by one plugin at most, the first that would."""
        alone = self.all_there.take(self.rows)
        for plugin in profile.filters:
            if plugin.run is None or not self.left or self._skipped(plugin):
                continue
            seen = plugin.run(self.pod, alone) if plugin.row_local else self._one_by_one(plugin.run)
            if seen is not None:
                yield (plugin.name,), self._spread_out(seen)

    def _skipped(self, plugin: Filter) -> bool:
        return plugin.skips is not None and plugin.skips(self.pod, self.state.snapshot())

    def _one_by_one(self, run: Run) -> Verdict | None:
        """Judge each node by itself: those who wait for another are not there."""
        if not self._may_matter(run):
            return None
        found = [(place, self._reasons(run, place)) for place in sorted(self.left)]
        tables = [(place, reasons) for place, reasons in found if reasons]
        codes: Codes = np.zeros(len(self.rows), code_type(len(tables)))
        for code, (place, _) in enumerate(tables, start=1):
            codes[place] = code
        return Verdict(codes, tuple(reasons for _, reasons in tables)) if tables else None

    def _may_matter(self, run: Run) -> bool:
        """A look at all at once spares most pods the looks one by one: neither they nor the others ask for company."""
        everyone = (self.pod, *(other for others in self.waiting.values() for other in others))
        if any(one.request.terms != NO_TERMS for one in everyone):
            return True
        return any(run(self.pod, seen) is not None for seen in (self.all_there, self.state.snapshot()))

    def _reasons(self, run: Run, place: int) -> ReasonSet:
        row = int(self.rows[place])
        node = self.state.snapshot().names[row]
        verdict = run(self.pod, self.state.supposing((), ((other, node) for other in self.waiting[node])))
        code = FITS if verdict is None else int(verdict.codes[row])
        return () if verdict is None or code == FITS else verdict.table[code - 1]

    def _spread_out(self, seen: Verdict) -> Verdict:
        """Number the verdict by the rows of the cluster, for the nodes that no plugin before has rejected."""
        codes: Codes = np.zeros(len(self.all_there), seen.codes.dtype)
        for place in [place for place in self.left if seen.codes[place] != FITS]:
            codes[self.rows[place]] = seen.codes[place]
            self.left.discard(place)
        return Verdict(sealed(codes), seen.table)
