"""The queue: leftovers are tried after all, what a plugin holds is asked again, and a pod can be told to be tried."""

import pytest

from cluster_model.pod import PendingPod
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.queued_pod import Held, Pool, scheduling_gates
from tests.gpu_scheduler.build import Clock, pending
from tests.gpu_scheduler.queueing import FITLESS, FREED, OTHERS, names, pool, popped, rejected


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> SchedulingQueue:
    return SchedulingQueue(Backoff(), clock)


def test_a_pod_without_cure_is_tried_again_after_five_minutes(queue: SchedulingQueue, clock: Clock) -> None:
    rejected(queue, cured_by=frozenset())
    clock.move(299)
    assert queue.pop() is None
    clock.move(31)

    assert names(queue) == ["p"]


def test_waiting_never_lasts_past_the_next_look_for_leftovers(queue: SchedulingQueue) -> None:
    rejected(queue, cured_by=frozenset())

    assert 0 < queue.wait_seconds() <= 30


def test_a_gated_pod_is_never_tried_not_even_as_a_leftover(queue: SchedulingQueue, clock: Clock) -> None:
    queue.put(pending(gates=["wait"]))
    queue.wake(set(OTHERS))
    clock.move(1000)

    assert queue.pop() is None
    assert pool(queue, "p") is Pool.GATED


def test_a_pod_is_tried_when_its_last_gate_goes(queue: SchedulingQueue) -> None:
    queue.put(pending(gates=["one", "two"]))
    queue.put(pending(gates=["two"]))
    assert queue.pop() is None
    queue.put(pending())

    assert names(queue) == ["p"]


def test_a_pod_enters_no_queue_while_a_plugin_holds_it(clock: Clock) -> None:
    held = {"p": Held("Quota", "no quota left")}
    queue = SchedulingQueue(Backoff(), clock, pre_enqueue=lambda pod: held.get(pod.pod.metadata.name))
    queue.put(pending())
    queued = queue.get("uid-p")
    assert (queue.pop(), pool(queue, "p"), queued and queued.held) == (None, Pool.GATED, held["p"])
    held.clear()
    queue.put(pending(labels={"a": "b"}))

    assert names(queue) == ["p"]


def test_gates_are_named_as_kube_scheduler_names_them() -> None:
    assert scheduling_gates(pending(gates=["b", "a"])) == Held("SchedulingGates", "waiting for scheduling gates: [b a]")


def test_a_pod_is_tried_at_once_when_told_so_whatever_it_waits_for(queue: SchedulingQueue) -> None:
    rejected(queue, cured_by=frozenset())
    queue.activate("uid-p")
    assert pool(queue, "p") is Pool.ACTIVE
    queue.fail(popped(queue))
    queue.activate("uid-p")

    assert pool(queue, "p") is Pool.ACTIVE


def test_a_pod_that_is_told_to_be_tried_during_its_attempt_is_tried_again(queue: SchedulingQueue) -> None:
    queue.put(pending())
    queued = popped(queue)
    queue.activate("uid-p")
    queue.reject(queued, {"Plugin": frozenset()})

    assert pool(queue, "p") is Pool.BACKOFF


def test_a_leftover_is_marked_until_its_next_verdict(queue: SchedulingQueue, clock: Clock) -> None:
    rejected(queue, cured_by=frozenset())
    clock.move(331)
    queued = popped(queue)
    assert queued.flushed
    queue.reject(queued, FITLESS)

    assert not queued.flushed


def test_a_gated_leftover_is_asked_again_only_after_five_more_minutes(clock: Clock) -> None:
    asked: list[float] = []

    def hold(pod: PendingPod) -> Held | None:
        asked.append(clock())
        return scheduling_gates(pod)

    queue = SchedulingQueue(Backoff(), clock, pre_enqueue=hold)
    queue.put(pending(gates=["g"]))
    for _ in range(24):
        clock.move(30)
        assert queue.pop() is None

    assert asked == [1000, 1330, 1660]


def test_a_preemptor_is_held_on_its_way_back_while_its_preemption_runs(clock: Clock) -> None:
    running = {"uid-p"}
    held = Held("DefaultPreemption", "waiting for the preemption for this pod to be finished")
    queue = SchedulingQueue(Backoff(), clock, pre_enqueue=lambda pod: held if pod.pod.metadata.uid in running else None)
    running.clear()
    queue.put(pending())
    queued = popped(queue)
    running.add("uid-p")
    queue.reject(queued, {"NodeResourcesFit": FREED})
    queue.wake(FREED)
    assert (pool(queue, "p"), set(queued.cures)) == (Pool.GATED, {"NodeResourcesFit", "DefaultPreemption"})
    running.clear()
    queue.wake(FREED)

    assert pool(queue, "p") is Pool.BACKOFF
