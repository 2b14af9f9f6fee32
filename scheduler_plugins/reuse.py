"""Decisions that remember: pods that ask alike share their vectors, and only rows that changed are judged again.

Gives bit for bit what `decide` gives. A row is judged by the profile's own plugins, on a snapshot of that row, together
with what it will be after one, two, … more such pods: most often that is how it looks when it changes next.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import msgspec
import numpy as np

from cluster_model import objects
from cluster_model.columns import Amounts
from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot, UsageColumns
from scheduler_plugins import narrowing
from scheduler_plugins.decide import Found, choose, combine, decide, unmarked
from scheduler_plugins.framework import (
    Codes,
    Decision,
    Filter,
    Judged,
    PluginError,
    Profile,
    Rejection,
    Scorer,
    Scores,
    Verdict,
)

Shape: TypeAlias = tuple[bytes, object]

MOST_SHAPES = 64
FORESEEN = 8  # states of a row that are judged at once: as it is, and after up to seven more such pods
MANY = 64  # from here on changed rows are only judged as they are


def shape(pod: PendingPod) -> Shape | None:
    """Return what plugins whose results depend on one row read of a pod; None: do not share, it names storage."""
    spec = pod.pod.spec
    if any(volume != objects.Volume(name=volume.name, csi=volume.csi) for volume in spec.volumes):
        return None
    asked = pod.request.gpu, pod.request.capacity
    return msgspec.msgpack.encode(msgspec.structs.replace(spec, volumes=())), asked


class Memory:
    """What one profile has worked out, by shape of pod; the shapes longest unused are forgotten first."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._vectors: OrderedDict[Shape, _Vectors] = OrderedDict()

    def decide(
        self,
        pod: PendingPod,
        snapshot: Snapshot,
        held: Sequence[Judged] = (),
        judged: Callable[[], None] = unmarked,
        through: Profile | None = None,
    ) -> Decision:
        """Decide as `decide` does, from what is remembered if that can be.

        `through` is the profile in another form, the same plugins of which somebody takes the time.
        """
        profile = through or self.profile
        asked = None if held else shape(pod)
        if asked is None or not len(snapshot) or _must_look_anew(pod, snapshot, profile.filters):
            return decide(pod, snapshot, profile, held, judged)
        try:
            vectors = self._up_to_date(asked, pod, snapshot, profile)
            judged()
            return vectors.decision(pod, snapshot)
        except PluginError:  # of a node that would not even be scored, perhaps
            return decide(pod, snapshot, profile, judged=judged)

    def _up_to_date(self, asked: Shape, pod: PendingPod, snapshot: Snapshot, profile: Profile) -> "_Vectors":
        vectors = self._vectors.get(asked)
        if vectors is None or vectors.snapshot.nodes is not snapshot.nodes:
            vectors = self._vectors[asked] = _Vectors.of(pod, snapshot, profile)
            if len(self._vectors) > MOST_SHAPES:
                self._vectors.popitem(last=False)
        self._vectors.move_to_end(asked)
        vectors.profile = profile
        vectors.catch_up(pod, snapshot)
        return vectors


def _must_look_anew(pod: PendingPod, snapshot: Snapshot, filters: Sequence[Filter]) -> bool:
    """Whether something beyond single rows speaks of this pod, or fails to: perhaps no node is left for it to judge."""
    if narrowing.refusal(pod, snapshot, filters) or narrowing.narrowed(pod, filters):
        return True
    wide = (found.run for found in filters if not found.row_local and found.run is not None)
    try:
        return any(run(pod, snapshot) is not None for run in wide)
    except PluginError:
        return True


@dataclass(frozen=True, slots=True, eq=False)
class _Fixed:
    """What the nodes' own objects decide, worked out once for all rows."""

    verdicts: Mapping[str, Verdict | None]  # static filter -> [node]
    raw: Mapping[str, Scores]  # static scorer -> [node]

    @classmethod
    def of(cls, pod: PendingPod, snapshot: Snapshot, profile: Profile) -> "_Fixed":
        rows = np.arange(len(snapshot))
        static = [found for found in profile.filters if found.static and found.run is not None]
        verdicts = {found.name: found.run(pod, snapshot) for found in static if found.run is not None}
        scored = {found.name: found.run(pod, snapshot, rows) for found in profile.scorers if found.static}
        return cls(verdicts, {name: raw for name, raw in scored.items() if raw is not None})

    def verdict(self, name: str, rows: Rows) -> Verdict | None:
        """Return a static filter's answer for some rows."""
        found = self.verdicts[name]
        return None if found is None else Verdict(found.codes.take(rows), found.table)


@dataclass(slots=True, eq=False)
class _Judged:
    """Codes and raw scores of some rows, as the plugins that look at one row each give them."""

    codes: Codes  # [row]
    table: tuple[Rejection, ...]
    raw: Mapping[str, Scores]  # [row], of fitting and other rows alike; not the static ones

    @classmethod
    def of(cls, pod: PendingPod, snapshot: Snapshot, profile: Profile, fixed: _Fixed, rows: Rows) -> "_Judged":
        """Judge a snapshot whose rows are these rows of the cluster."""
        judged: list[Judged] = []
        for found in profile.filters:
            if found.row_local and found.run is not None:
                verdict = fixed.verdict(found.name, rows) if found.static else found.run(pod, snapshot)
                if verdict is not None:
                    judged.append(((found.name,), verdict))
        codes, table = combine(len(snapshot), judged)
        every = np.arange(len(snapshot))
        asked = [found for found in profile.scorers if found.row_local and not found.static]
        scored = {found.name: found.run(pod, snapshot, every) for found in asked}
        return cls(codes, table, {name: raw for name, raw in scored.items() if raw is not None})


@dataclass(frozen=True, slots=True, eq=False)
class _Foreseen:
    """Judged states of one row: `places` run from the state after one more pod to the last one."""

    usage: UsageColumns
    codes: Codes
    raw: Mapping[str, Scores]
    place: int
    left: int

    def next(self) -> "_Foreseen | None":
        """Step on by one pod."""
        return replace(self, place=self.place + 1, left=self.left - 1) if self.left > 1 else None


@dataclass(slots=True, eq=False)
class _Vectors:
    """The whole cluster judged for one shape of pod, kept in step with the snapshots it is shown."""

    profile: Profile
    fixed: _Fixed
    snapshot: Snapshot
    codes: Codes  # [node]
    table: dict[Rejection, int]  # numbered from 1
    raw: dict[str, Scores]  # row-local scorer -> [node]
    foreseen: dict[int, _Foreseen] = field(default_factory=dict)

    @classmethod
    def of(cls, pod: PendingPod, snapshot: Snapshot, profile: Profile) -> "_Vectors":
        """Judge every row."""
        fixed = _Fixed.of(pod, snapshot, profile)
        judged = _Judged.of(pod, snapshot, profile, fixed, np.arange(len(snapshot)))
        empty = np.zeros(len(snapshot), np.uint16)
        vectors = cls(profile, fixed, snapshot, empty, {}, {name: raw.copy() for name, raw in judged.raw.items()})
        vectors.codes = vectors._numbered(judged)
        return vectors

    def decision(self, pod: PendingPod, snapshot: Snapshot) -> Decision:
        """Choose from the vectors; plugins that look beyond one row are asked as always."""

        def raw(scorer: Scorer, rows: Rows) -> Scores | None:
            if not (scorer.row_local or scorer.static):
                return scorer.run(pod, snapshot, rows)
            kept = (self.fixed.raw if scorer.static else self.raw).get(scorer.name)
            return None if kept is None else kept.take(rows)

        return choose(Found(pod, snapshot, self.profile, self.codes.copy(), tuple(self.table)), raw)

    def catch_up(self, pod: PendingPod, snapshot: Snapshot) -> None:
        """Judge again what changed since the last snapshot."""
        rows = _changed(self.snapshot.usage, snapshot.usage)
        self.snapshot = snapshot
        if len(rows) < MANY:
            rows = np.array([row for row in rows if not self._recall(int(row), snapshot.usage)], np.intp)
        if len(rows):
            self._judge(pod, snapshot, rows)

    def _recall(self, row: int, usage: UsageColumns) -> bool:
        """Take a row's foreseen state if that is what it has come to."""
        foreseen = self.foreseen.pop(row, None)
        if foreseen is None or not _same(usage, row, foreseen.usage, foreseen.place):
            return False
        self.codes[row] = foreseen.codes[foreseen.place]
        for name, column in self.raw.items():
            column[row] = foreseen.raw[name][foreseen.place]
        step = foreseen.next()
        if step is not None:
            self.foreseen[row] = step
        return True

    def _judge(self, pod: PendingPod, snapshot: Snapshot, rows: Rows) -> None:
        times = FORESEEN if len(rows) < MANY and not pod.request.host_ports else 1
        again = np.repeat(rows, times)
        supposed = _supposed(pod, snapshot, again, np.tile(np.arange(times), len(rows)))
        judged = _Judged.of(pod, supposed, self.profile, self.fixed, again)
        codes, first = self._numbered(judged), np.arange(len(rows)) * times
        self.codes[rows] = codes[first]
        for name, column in self.raw.items():
            column[rows] = judged.raw[name][first]
        for row, place in zip(rows.tolist(), first.tolist(), strict=True):
            self.foreseen.pop(row, None)
            if times > 1:
                self.foreseen[row] = _Foreseen(supposed.usage, codes, judged.raw, place + 1, times - 1)

    def _numbered(self, judged: _Judged) -> Codes:
        """Return codes by our own table, which only grows."""
        numbers = np.zeros(len(judged.table) + 1, np.uint16)
        used = np.flatnonzero(np.bincount(judged.codes, minlength=len(numbers)))
        for code in used[used > 0].tolist():
            numbers[code] = self.table.setdefault(judged.table[code - 1], len(self.table) + 1)
        return numbers.take(judged.codes)


def _supposed(pod: PendingPod, snapshot: Snapshot, rows: Rows, more: Amounts) -> Snapshot:
    """Return a snapshot of some rows with so many more such pods on each."""
    return replace(snapshot, nodes=snapshot.nodes.take(rows), usage=snapshot.usage.take(rows).plus(pod.request, more))


def _changed(old: UsageColumns, new: UsageColumns) -> Rows:
    """Return the rows of which something else is held."""
    pairs = [(column, new.requested[name]) for name, column in old.requested.items()]
    pairs += [(old.nonzero_milli_cpu, new.nonzero_milli_cpu), (old.nonzero_memory_bytes, new.nonzero_memory_bytes)]
    pairs.append((old.pods, new.pods))
    differs = np.zeros(len(old.pods), np.bool_)
    for before, after in pairs:
        if before is not after:
            differs |= before != after
    if old.ports is not new.ports:
        differs |= np.array([old.ports.at(row) != new.ports.at(row) for row in range(len(differs))], np.bool_)
    rows: Rows = np.flatnonzero(differs)
    return rows


def _same(usage: UsageColumns, row: int, other: UsageColumns, place: int) -> bool:
    """Whether two rows of two tables hold the same."""
    return (
        usage.pods[row] == other.pods[place]
        and usage.nonzero_milli_cpu[row] == other.nonzero_milli_cpu[place]
        and usage.nonzero_memory_bytes[row] == other.nonzero_memory_bytes[place]
        and all(column[row] == other.requested[name][place] for name, column in usage.requested.items())
        and usage.ports.at(row) == other.ports.at(place)
    )
