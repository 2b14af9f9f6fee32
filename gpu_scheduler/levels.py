"""Reads, at the moment of a scrape, how full the queue, the ledger and the binder are. Changes nothing."""

from dataclasses import dataclass

from cluster_model.state import ClusterState
from gpu_scheduler.binder import Binder
from gpu_scheduler.leadership import Leadership
from gpu_scheduler.metrics import Levels
from gpu_scheduler.queue import Pool, SchedulingQueue


@dataclass(frozen=True, slots=True)
class Sources:
    """What is asked."""

    state: ClusterState
    queue: SchedulingQueue
    binder: Binder
    leadership: Leadership


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
        binds_in_flight=len(sources.binder),
        leader=sources.leadership.may_write(),
    )
