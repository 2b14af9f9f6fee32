"""Reads the levels of a controller for a scrape. Changes nothing."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass

from deletion_cost import bands
from deletion_cost.budget import Budget
from deletion_cost.config import Config
from deletion_cost.fleet import Member
from deletion_cost.metrics import Levels
from deletion_cost.polling import Poller
from deletion_cost.workload import Workload
from deletion_cost.workloads import Workloads
from deletion_cost.writer import Writer
from kube_client import watch
from kube_client.events import Recorder


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the levels are."""

    workloads: Workloads
    poller: Poller
    budget: Budget
    writer: Writer
    recorder: Recorder
    watches: Mapping[str, watch.Counts]
    config: Config
    monotonic: Callable[[], float]


def read(sources: Sources) -> Levels:
    """Read everything once. A standby knows the pods too, but only who leads tells: sums must count each once."""
    leads = sources.writer.may_write()
    pods = list(_pods(sources.workloads)) if leads else []
    return Levels(
        pods_by_band=_by_band(pods),
        pod_cost=_costs(pods) if sources.config.pod_cost_metric else {},
        frozen=Counter((one.namespace, one.name) for one in sources.poller.frozen.values()),
        suppressed=asdict(sources.budget.skipped) | asdict(sources.writer.suppressed),
        pending_writes=len(sources.budget),
        longest_wait_seconds=sources.budget.longest_wait_seconds(sources.monotonic()),
        cold_too_long=_cold_too_long(sources, pods),
        invalid_policies=sources.workloads.invalid() if leads else 0,
        leader=leads,
        events=asdict(sources.recorder.counts),
        watches={
            (name, what): count for name, counts in sources.watches.items() for what, count in asdict(counts).items()
        },
    )


def _pods(workloads: Workloads) -> Iterator[tuple[Workload, Member]]:
    for one in workloads.all():
        for member in workloads.opted(one).values():
            if member.pod.metadata.deletion_timestamp is None:
                yield one, member


def _by_band(pods: list[tuple[Workload, Member]]) -> Mapping[tuple[str, str, str], int]:
    """Count by band; a band that is empty is told for workloads that have pods, so that a graph falls to 0."""
    found = Counter((one.namespace, one.name, bands.of(member.ownership.value)) for one, member in pods)
    named = {(one.namespace, one.name) for one, _ in pods}
    return {(*name, band): found[*name, band] for name in named for band in bands.NAMES}


def _costs(pods: list[tuple[Workload, Member]]) -> Mapping[tuple[str, str], int]:
    return {
        (member.pod.metadata.namespace, member.pod.metadata.name): member.ownership.value or 0 for _, member in pods
    }


def _cold_too_long(sources: Sources, pods: list[tuple[Workload, Member]]) -> int:
    """Count Ready pods that should be warm by now and still carry what says that they are cold."""
    longest, now = sources.config.warming.longest_seconds, sources.monotonic()
    ours = (one for _, one in pods if one.ready and one.ownership.stood_down is None)
    marked = (one for one in ours if bands.of(one.ownership.value) == "cold")
    old = (one for one in marked if now - one.joined_at > longest)
    return sum(not one.warmth.cold or one.warmth.cold_seconds(now) > longest for one in old)
