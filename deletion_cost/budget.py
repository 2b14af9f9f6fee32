"""Which of the wanted values may be written now. It holds at most one value for each pod, the newest. Pure.

Brakes, in this order: a value nobody wishes any more is gone, one that waited too long is dropped, a pod rests between
two writes, a bucket of tokens bounds all writes, and a second, smaller one those that only refine.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from deletion_cost.plan import Urgency, Wanted

SLOWEST_SHARE = 1 / 16  # of the configured rate, where the API server goes on refusing
RECOVERY_SECONDS = 30.0  # until the rate doubles again
SAVED_SECONDS = 30.0  # for which refinements that were not needed are kept


@dataclass(frozen=True, slots=True)
class Limits:
    """The brakes' strengths."""

    writes_per_second: float
    burst: int
    refinements_per_second: float
    min_interval_seconds: float
    expiry_seconds: float


@dataclass(slots=True)
class _Bucket:
    per_second: float
    size: float
    tokens: float
    at: float | None = None

    def fill(self, now: float) -> float:
        if self.at is not None:
            self.tokens = min(self.size, self.tokens + (now - self.at) * self.per_second)
        self.at = now
        return self.tokens


@dataclass(slots=True)
class _Pending:
    wanted: Wanted
    since: float
    not_before: float


@dataclass(slots=True)
class Skipped:
    """How many values were not written, by brake."""

    superseded: int = 0
    expired: int = 0


@dataclass(slots=True)
class Budget:
    """The values that wait, and what may still be written."""

    limits: Limits
    skipped: Skipped = field(default_factory=Skipped)
    _pending: dict[str, dict[str, _Pending]] = field(default_factory=dict)  # group -> uid -> value
    _written_at: dict[str, float] = field(default_factory=dict)
    _all: _Bucket = field(init=False)
    _refining: _Bucket = field(init=False)
    _paused_until: float = 0.0
    _refused_at: float | None = None

    def __post_init__(self) -> None:
        limits = self.limits
        self._all = _Bucket(limits.writes_per_second, limits.burst, limits.burst)
        saved = max(1.0, limits.refinements_per_second * SAVED_SECONDS)
        self._refining = _Bucket(limits.refinements_per_second, saved, saved)

    def __len__(self) -> int:
        return sum(map(len, self._pending.values()))

    def longest_wait_seconds(self, now: float) -> float:
        """Say for how long a value that matters could have been written but for the budget; refinements may wait."""
        waiting = ((uid, one) for pending in self._pending.values() for uid, one in pending.items())
        due = (self._due_at(uid, one) for uid, one in waiting if one.wanted.urgency != Urgency.REFINE)
        return max(0.0, now - min(due, default=now))

    def offer(self, group: str, wanted: Iterable[Wanted], now: float, delays: Mapping[str, float]) -> None:
        """Take everything that is wanted for a group of pods; what was wanted before and is not now is dropped."""
        before, newest = self._pending.get(group, {}), {}
        for one in wanted:
            old = before.get(one.uid)
            same = old is not None and old.wanted.value == one.value
            not_before = old.not_before if old is not None else now + delays.get(one.uid, 0.0)
            # What is wished still, is wished anew: it expires only where no plan has confirmed it.
            newest[one.uid] = _Pending(one, now, not_before)
            self.skipped.superseded += old is not None and not same
        self.skipped.superseded += sum(uid not in newest for uid in before)
        if newest:
            self._pending[group] = newest
        else:
            self._pending.pop(group, None)

    def take(self, now: float) -> list[tuple[str, Wanted]]:
        """Return what is to be written now with its group, most urgent first; it waits no longer."""
        self._recover(now)
        room = int(self._all.fill(now))
        if now < self._paused_until or not room:
            return []
        found = []
        for urgency, _, group, uid in heapq.nsmallest(room, self._due(now)):
            if urgency == Urgency.REFINE and self._refining.tokens < 1:
                continue
            self._refining.tokens -= urgency == Urgency.REFINE
            self._all.tokens -= 1
            found.append((group, self._pending[group].pop(uid).wanted))
            self._written_at[uid] = now
        return found

    def put_back(self, group: str, wanted: Wanted, now: float, wait_seconds: float) -> None:
        """Let a value that could not be written wait, unless a newer one is there."""
        self._pending.setdefault(group, {}).setdefault(wanted.uid, _Pending(wanted, now, now + wait_seconds))

    def refused(self, now: float, wait_seconds: float) -> None:
        """Be told by the API server that this is too much: pause, and go on at half the rate."""
        self._paused_until = max(self._paused_until, now + wait_seconds)
        self._refused_at = now
        slowest = self.limits.writes_per_second * SLOWEST_SHARE
        self._all.per_second = max(self._all.per_second / 2, slowest)

    def unspent(self, refining: bool) -> None:
        """Give back the token of a value that needed no write after all."""
        self._all.tokens += 1
        self._refining.tokens += refining

    def forget(self, uid: str) -> None:
        """Drop what is known of a pod that is gone."""
        self._written_at.pop(uid, None)

    def clear(self) -> None:
        """Drop all that waits."""
        self._pending.clear()

    def _due(self, now: float) -> Iterable[tuple[int, float, str, str]]:
        """Yield what may be written at this moment, with its rank; what has expired is dropped on the way."""
        self._refining.fill(now)
        for group, waiting in self._pending.items():
            for uid in [uid for uid, one in waiting.items() if now - one.since > self.limits.expiry_seconds]:
                del waiting[uid]
                self.skipped.expired += 1
            for uid, one in waiting.items():
                affordable = one.wanted.urgency != Urgency.REFINE or self._refining.tokens >= 1
                if affordable and self._due_at(uid, one) <= now:
                    yield one.wanted.urgency, one.not_before, group, uid

    def _due_at(self, uid: str, one: _Pending) -> float:
        """Say from when on a value may be written: not before its time, and when its pod has rested."""
        written = self._written_at.get(uid)
        return one.not_before if written is None else max(one.not_before, written + self.limits.min_interval_seconds)

    def _recover(self, now: float) -> None:
        if self._refused_at is not None and now - self._refused_at >= RECOVERY_SECONDS:
            self._all.per_second = min(self._all.per_second * 2, self.limits.writes_per_second)
            done = self._all.per_second == self.limits.writes_per_second
            self._refused_at = None if done else now
