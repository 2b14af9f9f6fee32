"""Reads, at the moment of a scrape, how full the queue, the ledger and the binder are. Changes nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType

from cluster_model.state import ClusterState
from gpu_scheduler.binder import Binder
from gpu_scheduler.metrics import Levels
from gpu_scheduler.preemptor import Preemptor
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.queued_pod import Pool
from gpu_scheduler.volume_binder import VolumeBinder
from kube_client.events import Counts as EventCounts
from kube_client.events import Recorder
from kube_client.leadership import Leadership
from kube_client.watch import Counts
from scheduler_plugins import victims

# kube-scheduler's workers. Here nothing is decided while a scrape is answered, so none is ever seen at work.
IDLE: Mapping[str, int] = MappingProxyType({"Filter": 0, "Score": 0, "InterPodAffinity": 0})


@dataclass(frozen=True, slots=True)
class Sources:
    """What is asked."""

    state: ClusterState
    queue: SchedulingQueue
    binder: Binder
    leadership: Leadership
    recorders: Iterable[Recorder]
    reflectors: Mapping[str, Counts]  # by resource
    preemptor: Preemptor
    volumes: VolumeBinder


def read(sources: Sources) -> Levels:
    """Read all levels."""
    pools = sources.queue.counts()
    holdings = sources.state.holdings()
    return Levels(
        pending_pods={
            "active": pools[Pool.ACTIVE],
            "backoff": pools[Pool.BACKOFF] + pools[Pool.ERROR_BACKOFF],
            "unschedulable": pools[Pool.UNSCHEDULABLE],
            "gated": pools[Pool.GATED],
        },
        unschedulable_pods=sources.queue.rejected_by(),
        cache_size={
            "nodes": len(sources.state.snapshot()),
            "pods": len(holdings),
            "assumed_pods": sum(held.assumed for held in holdings.values()),
        },
        in_flight={**IDLE, "binding": len(sources.binder), victims.NAME: len(sources.preemptor)},
        preemptions=sources.preemptor.results,
        volume_errors=sources.volumes.failures,
        leader=sources.leadership.may_write(),
        events=_sums(recorder.counts for recorder in sources.recorders),
        watches={
            (resource, what): count
            for resource, counts in sources.reflectors.items()
            for what, count in asdict(counts).items()
        },
    )


def _sums(counts: Iterable[EventCounts]) -> Counter[str]:
    total: Counter[str] = Counter()
    for found in counts:
        total.update(asdict(found))
    return total
