"""Reads loads from the sources, each in its own rhythm, and says which workloads stand still for want of them."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from deletion_cost import workload
from deletion_cost.announcements import Announcer
from deletion_cost.config import Config
from deletion_cost.fleet import Member
from deletion_cost.metrics import Metrics
from deletion_cost.readings import Formula
from deletion_cost.sample import Sample
from deletion_cost.source import Name, Source, Target
from deletion_cost.workload import Workload
from deletion_cost.workloads import Workloads
from kube_client.timing import Timing

log = logging.getLogger(__name__)

LONGEST_READ = 1.5  # poll periods; sources end within one by themselves
Asked = dict[str, tuple[Workload, list[Target]]]  # by the ReplicaSet's UID


@dataclass(slots=True)
class Poller:
    """Polls; what it has read of stirs the fleet."""

    workloads: Workloads
    sources: Mapping[Name, Source]
    config: Config
    metrics: Metrics
    announcer: Announcer
    timing: Timing
    frozen: dict[str, Workload] = field(default_factory=dict)  # by the ReplicaSet's UID

    async def follow(self, name: Name) -> None:
        """Read one source for ever, once a period; a read that takes longer delays the next one."""
        while True:
            began = self.timing.monotonic()
            await self.poll(name)
            took = self.timing.monotonic() - began
            self.metrics.polled(name, took)
            await self.timing.sleep(max(0.0, self.config.poll_seconds - took))

    async def poll(self, name: Name) -> None:
        """Read all pods of a source once."""
        asked = self._asked(name)
        targets = [target for _, listed in asked.values() for target in listed]
        if not targets:
            return
        found = await self._read(name, targets)
        for uid, (one, listed) in asked.items():
            self._take(uid, one, listed, found)
        self.workloads.fleet.stirred.update(asked)

    async def _read(self, name: Name, targets: Sequence[Target]) -> Mapping[str, Sample | None]:
        """Read, but not for ever: a source that hangs has told nothing."""
        try:
            async with asyncio.timeout(LONGEST_READ * self.config.poll_seconds):
                return await self.sources[name].read(targets)
        except TimeoutError:
            self.metrics.failed(name, "late")
            return {}

    def begin(self) -> None:
        """Begin a term without knowing anything."""
        self.frozen.clear()

    def _asked(self, name: Name) -> Asked:
        """Find the pods to read: warm and cold ones alike, so that something is known when they become warm."""
        asked: Asked = {}
        for gone in self.frozen.keys() - set(self.workloads.fleet.workloads()):
            del self.frozen[gone]
        for one in self.workloads.all():
            uid = one.replica_set.metadata.uid
            if one.policy.source != name:
                continue
            ready = (member.pod for member in self.workloads.opted(one).values() if _is_read(member))
            listed = [target for pod in ready if (target := workload.target(one, pod)) is not None]
            if listed:
                asked[uid] = (one, listed)
            else:
                self.frozen.pop(uid, None)
        return asked

    def _take(self, uid: str, one: Workload, listed: Iterable[Target], found: Mapping[str, Sample | None]) -> None:
        """Take the answers of one workload; more than half missing says more of the source than of the pods."""
        missing, budget = self.config.missing, self.config.budget
        formula = Formula(self.config.load, one.policy.load, missing.hold_polls, budget.fall_polls)
        now, counts = self.timing.monotonic(), defaultdict[str, int](int)
        for target in listed:
            member = self.workloads.fleet.member(uid, target.uid)
            if member is None:
                continue
            sample = found.get(target.uid)
            if sample is not None:
                member.reading.take(sample, now, formula)
            else:
                member.reading.miss(formula)
                # A pod that has never told anything is not missing yet: it may only just have become Ready.
                counts["missing"] += member.reading.load is not None
            counts["known"] += member.reading.load is not None
        self._freeze(uid, one, counts["missing"], counts["known"])

    def _freeze(self, uid: str, one: Workload, missing: int, known: int) -> None:
        freezes = missing > self.config.missing.freeze_above * known
        if freezes and uid not in self.frozen:
            log.warning("workload frozen workload=%s/%s missing=%d of=%d", one.namespace, one.name, missing, known)
            self.announcer.frozen(one, missing, known)
        if not freezes and uid in self.frozen:
            del self.frozen[uid]
            log.info("workload no longer frozen workload=%s/%s", one.namespace, one.name)
        if freezes:
            self.frozen[uid] = one


def _is_read(member: Member) -> bool:
    return member.ready and member.ownership.stood_down is None
