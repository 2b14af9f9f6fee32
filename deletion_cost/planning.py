"""Makes a plan's input of what is known of a ReplicaSet, and gives what its pods should have. It writes nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from deletion_cost import bands, plan, scale_down, standings, victims
from deletion_cost.config import Config
from deletion_cost.fleet import Fleet, Member
from deletion_cost.plan import Candidate, Count, Wanted
from deletion_cost.warmth import Terms
from deletion_cost.workload import Workload

POLLS_AHEAD = 2  # a scale-down within so many polls finds its victims marked


@dataclass(frozen=True, slots=True)
class Moment:
    """When a plan is made, on our own clock and on everybody's."""

    monotonic: float
    utc_ns: int


@dataclass(slots=True)
class _Sorted:
    """The pods of a ReplicaSet by how they are planned; one that is not ours to write is in none."""

    warm: list[Member]
    cold: list[Member]
    left: list[Member]


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans ReplicaSets of a fleet."""

    fleet: Fleet
    config: Config

    def wanted(self, workload: Workload, frozen: bool, moment: Moment) -> list[Wanted]:
        """Say which pods of a ReplicaSet should have another value; each pod at most once."""
        pods = self._sorted(workload, moment.monotonic)
        found = [wanted for member in pods.left for wanted in _left(member)]
        for member in pods.cold:
            if member.ready:
                value, again = member.ownership.value, member.warmth.again
                found += plan.cold(member.uid, value, again, self.config.warming.cost)
        found += self._of_warm(workload, frozen, pods, moment)
        return list({one.uid: one for one in found}.values())

    def victims_of(self, workload: Workload) -> int:
        """Say how many pods the next scale-down may take; in a rollout each revision gives its share, rounded up."""
        replicas = workload.replica_set.spec.replicas
        autoscaler = self.fleet.autoscaler_of(workload.replica_set)
        if autoscaler is None:
            return workload.policy.victims_of(replicas)
        of_all = sum(one.spec.replicas for one in self.fleet.revisions(workload.replica_set))
        most = scale_down.most_victims(autoscaler, of_all, POLLS_AHEAD * self.config.poll_seconds)
        return -(-most * replicas // max(of_all, 1))

    def _sorted(self, workload: Workload, now: float) -> _Sorted:
        terms = Terms(workload.policy.warmup_seconds, self.config.warming.longest_seconds)
        pods = _Sorted([], [], [])
        for member in self.fleet.members(workload.replica_set.metadata.uid).values():
            member.warmth.warm_up(now, terms)  # also of those that are not planned, or they would be due for ever
            if member.ownership.stood_down or member.pod.metadata.deletion_timestamp is not None:
                continue
            (pods.left if not member.opted else pods.cold if member.warmth.cold else pods.warm).append(member)
        return pods

    def _of_warm(self, workload: Workload, frozen: bool, pods: _Sorted, moment: Moment) -> Iterable[Wanted]:
        """Plan the warm pods; in a frozen workload they only lose what says that they are cold."""
        if not pods.warm:
            return ()
        if frozen:
            cold = [member for member in pods.warm if bands.of(member.ownership.value) == "cold"]
            return plan.without_load(map(_candidate, cold))
        if workload.policy.source == "none":
            return plan.without_load(map(_candidate, pods.warm))
        min_change = self.config.budget.min_change
        if workload.policy.mode == "all":
            least_busy = self.config.load.lowest_busy()
            return plan.everyone(map(_candidate, pods.warm), min_change, least_busy)
        count = Count(self.victims_of(workload), len(pods.cold))
        return plan.victims(self._in_order(workload, pods.warm, moment), count, min_change)

    def _in_order(self, workload: Workload, warm: Iterable[Member], moment: Moment) -> list[Candidate]:
        """Order the pods as the ReplicaSet controller would delete them if none had a cost."""
        members = {member.uid: member for member in warm}
        alike = [replace(standings.read(member.pod), cost=0) for member in members.values()]
        related = [standings.read(member.pod) for member in self.fleet.related(workload.replica_set)]
        return [_candidate(members[one.uid]) for one in victims.in_order(alike, related, moment.utc_ns)]


def _left(member: Member) -> Iterator[Wanted]:
    """Take what is ours from a pod that is not ours any more; the webhook's first value is ours too."""
    first = member.ownership.holder == "initial" and bands.of(member.ownership.value) == "cold"
    if member.ownership.holder == "ours" or first:
        yield Wanted(member.uid, None)


def _candidate(member: Member) -> Candidate:
    reading, current, ours = member.reading, member.ownership.value, member.ownership.holder == "ours"
    if reading.load is None:
        return Candidate(member.uid, current, None, ours=ours)
    load = reading.load
    return Candidate(member.uid, current, load.points, int(reading.usual), reading.peak, load.busy, ours)
