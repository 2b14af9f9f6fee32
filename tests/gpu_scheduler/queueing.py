"""What the tests of the queue ask of it."""

from cluster_model.verdict import OWN_UPDATES, Event
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.queued_pod import Pool, QueuedPod
from tests.gpu_scheduler.build import pending

FREED = frozenset({Event.ASSIGNED_POD_DELETE})
FITLESS = {"Plugin": FREED}
ANY_UPDATE = frozenset({Event.POD_UPDATE})
OTHERS = sorted(set(Event) - OWN_UPDATES)  # events of other objects than the pod that waits


def popped(queue: SchedulingQueue) -> QueuedPod:
    queued = queue.pop()
    assert queued is not None
    return queued


def names(queue: SchedulingQueue) -> list[str]:
    found = []
    while (queued := queue.pop()) is not None:
        found.append(queued.pending.pod.metadata.name)
    return found


def pool(queue: SchedulingQueue, name: str) -> Pool | None:
    queued = queue.get(f"uid-{name}")
    return None if queued is None else queued.pool


def rejected(queue: SchedulingQueue, name: str = "p", cured_by: frozenset[Event] = FREED, times: int = 1) -> QueuedPod:
    """A pod that was rejected so many times in a row and waits for a cure."""
    queue.put(pending(name))
    queued = popped(queue)
    for _ in range(times - 1):
        queue.reject(queued, {"Plugin": cured_by})
        queue.wake(cured_by)
        queued = popped(queue)
    queue.reject(queued, {"Plugin": cured_by})
    return queued
