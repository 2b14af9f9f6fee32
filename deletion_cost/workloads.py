"""The workloads of a fleet: each read once per state of its ReplicaSet, its problems told once. Plans nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from deletion_cost import scale_down, workload
from deletion_cost.announcements import Announcer
from deletion_cost.config import Config, configured
from deletion_cost.fleet import Fleet, Member
from deletion_cost.workload import Workload


@dataclass(slots=True)
class Workloads:
    """Remembers how ReplicaSets read, and what was said about them."""

    fleet: Fleet
    config: Config
    announcer: Announcer
    _known: dict[str, Workload] = field(default_factory=dict)
    # By the ReplicaSet's UID, since two revisions of a workload may wish different things for a while.
    _told: dict[str, tuple[object, ...]] = field(default_factory=dict)  # problems
    _told_windows: dict[str, tuple[str, int, float]] = field(default_factory=dict)  # of which autoscaler

    def get(self, uid: str) -> Workload | None:
        """Return a workload; None while its ReplicaSet is not known."""
        replica_set = self.fleet.find(uid)
        if replica_set is None:
            return None
        known = self._known.get(uid)
        if known is None or known.replica_set is not replica_set:
            known = self._known[uid] = workload.read(replica_set, self.config.policy, configured(self.config.sources))
        return known

    def all(self) -> Iterator[Workload]:
        """Give all workloads that have pods."""
        found = (self.get(uid) for uid in list(self.fleet.workloads()))
        return (one for one in found if one is not None)

    def name(self, member_of: str) -> str:
        """Name a workload for a metric; empty if its ReplicaSet never was known. It may be gone before its pods."""
        found = self.get(member_of) or self._known.get(member_of)
        return "" if found is None else found.name

    def opted(self, one: Workload) -> dict[str, Member]:
        """Return the pods of a workload whose cost is ours to keep."""
        members = self.fleet.members(one.replica_set.metadata.uid)
        return {uid: member for uid, member in members.items() if member.opted}

    def tell(self, one: Workload) -> None:
        """Say what is wrong with a workload that has pods of ours, once for each state of it."""
        uid = one.replica_set.metadata.uid
        if self._told.get(uid, ()) != one.problems:
            self._told[uid] = one.problems
            if one.problems:
                self.announcer.invalid(one, one.problems)
        if (autoscaler := self.fleet.autoscaler_of(one.replica_set)) is None:
            return
        window, warmup = scale_down.window_seconds(autoscaler), one.policy.warmup_seconds
        said = (autoscaler.metadata.uid, window, warmup)
        if window < warmup and self._told_windows.get(uid) != said:
            self.announcer.short_window(autoscaler, window, warmup)
        self._told_windows[uid] = said

    def tell_anew(self) -> None:
        """Forget what was said: another process may have said it, or nobody."""
        self._told.clear()
        self._told_windows.clear()

    def invalid(self) -> int:
        """Count the workloads with pods of ours whose annotations are wrong."""
        return len({one.owner.uid for one in self.all() if one.problems and self.opted(one)})

    def tidy(self) -> None:
        """Forget workloads that are gone."""
        there = set(self.fleet.workloads())
        self._known = {uid: one for uid, one in self._known.items() if uid in there}
        self._told = {uid: said for uid, said in self._told.items() if uid in there}
        self._told_windows = {uid: said for uid, said in self._told_windows.items() if uid in there}
