"""Plans what has changed, and everything once a poll, while this process leads. It neither reads loads nor writes."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from deletion_cost.budget import Budget
from deletion_cost.config import Config
from deletion_cost.fleet import Fleet
from deletion_cost.plan import Urgency, Wanted
from deletion_cost.planning import Moment, Planner
from deletion_cost.polling import Poller
from deletion_cost.warmth import Terms
from deletion_cost.workload import Workload
from deletion_cost.workloads import Workloads
from kube_client.timing import Timing

LONGEST_TICK_SECONDS = 1.0
FIRST_POLLS = 2  # in which what is written is spread


@dataclass(slots=True)
class Controller:
    """One process's planning."""

    fleet: Fleet
    workloads: Workloads
    planner: Planner
    poller: Poller
    budget: Budget
    config: Config
    timing: Timing
    _due: dict[str, float] = field(default_factory=dict)  # when the next pod of a ReplicaSet becomes warm
    _spread_until: float = 0.0
    _looked_at: float | None = None

    async def run(self) -> None:
        """Follow the sources and plan until cancelled."""
        self.begin_term()
        async with asyncio.TaskGroup() as group:
            for name in self.poller.sources:
                group.create_task(self.poller.follow(name))
            group.create_task(self._tick())

    def begin_term(self) -> None:
        """Begin to decide, by what is there: nothing is remembered of what another leader has done since."""
        self.fleet.begin_term()
        self.poller.begin()
        self.workloads.tell_anew()
        self.budget.clear()
        self._spread_until = self.timing.monotonic() + FIRST_POLLS * self.config.poll_seconds

    def end_term(self) -> None:
        """Stop deciding."""
        self.fleet.end_term()
        self.budget.clear()

    def plan(self, replica_sets: Iterable[str]) -> None:
        """Plan these ReplicaSets and offer what comes of it."""
        moment = Moment(self.timing.monotonic(), int(self.timing.utc_now().timestamp() * 1e9))
        for uid in replica_sets:
            self.fleet.stirred.discard(uid)
            workload = self.workloads.get(uid)
            if workload is None or not self.fleet.members(uid):
                self._due.pop(uid, None)
                self.budget.offer(uid, (), moment.monotonic, {})
                continue
            if self.workloads.opted(workload):
                self.workloads.tell(workload)
            wanted = self.planner.wanted(workload, uid in self.poller.frozen, moment)
            self.budget.offer(uid, wanted, moment.monotonic, self._delays(wanted, moment.monotonic))
            self._note_due(uid, workload)

    def tick(self) -> None:
        """Plan what has changed or become due, and once a poll all that no source plans."""
        now = self.timing.monotonic()
        due = [uid for uid, at in self._due.items() if at <= now]
        if self._looked_at is None or now - self._looked_at >= self.config.poll_seconds:
            self._looked_at = now
            self.workloads.tidy()
            due += self.fleet.workloads()
        self.plan({*due, *self.fleet.stirred})

    async def _tick(self) -> None:
        while True:
            self.tick()
            await self.timing.sleep(min(LONGEST_TICK_SECONDS, self.config.poll_seconds / 2))

    def _delays(self, wanted: Iterable[Wanted], now: float) -> dict[str, float]:
        """Draw when first values are written: over a while where there are many pods, and at once what protects one."""
        if now >= self._spread_until:
            return {}
        pods = sum(len(self.fleet.members(uid)) for uid in self.fleet.workloads())
        longest = min(self.config.budget.spread_seconds, pods / self.config.budget.writes_per_second)
        return {one.uid: longest * self.timing.random() for one in wanted if one.urgency != Urgency.PROTECT}

    def _note_due(self, uid: str, workload: Workload) -> None:
        terms = Terms(workload.policy.warmup_seconds, self.config.warming.longest_seconds)
        dues = [member.warmth.due(terms) for member in self.fleet.members(uid).values() if member.opted]
        first = min((due for due in dues if due is not None), default=None)
        if first is None:
            self._due.pop(uid, None)
        else:
            self._due[uid] = first
