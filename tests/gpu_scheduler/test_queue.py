"""The queue: order, backoff by a passed-in clock, wake-ups by cure, and no event lost that came during an attempt."""

from collections import Counter
from typing import Any

import pytest

from cluster_model.verdict import Event
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.queued_pod import Pool
from tests.gpu_scheduler.build import Clock, pending
from tests.gpu_scheduler.queueing import ANY_UPDATE, FITLESS, FREED, OTHERS, names, pool, popped, rejected


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> SchedulingQueue:
    return SchedulingQueue(Backoff(), clock)


def test_higher_priority_goes_first_then_who_came_first(queue: SchedulingQueue, clock: Clock) -> None:
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
        queue.put(pending(name, priority=priority))
        clock.move(0.1)

    assert names(queue) == ["b", "d", "a", "c"]


def test_a_failed_pod_goes_behind_its_peers(queue: SchedulingQueue, clock: Clock) -> None:
    queue.put(pending("a"))
    first = popped(queue)
    queue.put(pending("b"))
    clock.move(5)
    queue.reject(first, FITLESS)
    clock.move(5)
    queue.wake(FREED)

    assert names(queue) == ["b", "a"]


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (999, 10)])
def test_backoff_doubles_up_to_its_longest(failures: int, seconds: float) -> None:
    assert Backoff(1.0, 10.0).seconds(failures) == seconds


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10)])
def test_an_error_waits_for_its_backoff_and_no_longer(
    queue: SchedulingQueue, clock: Clock, failures: int, seconds: float
) -> None:
    queue.put(pending())
    for _ in range(failures - 1):
        queue.fail(popped(queue))
        clock.move(100)
    queue.fail(popped(queue))
    clock.move(seconds + 1 - 0.001)  # the second in which the backoff ends counts to its end
    assert queue.pop() is None
    assert queue.wait_seconds() == pytest.approx(0.001)
    clock.move(0.001)

    assert popped(queue).attempts == failures + 1


@pytest.mark.parametrize(("rejections", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10)])
def test_a_woken_pod_goes_to_active_once_its_backoff_is_over(
    queue: SchedulingQueue, clock: Clock, rejections: int, seconds: float
) -> None:
    rejected(queue, times=rejections)
    clock.move(seconds + 1 - 0.001)
    queue.wake(FREED)
    assert pool(queue, "p") is Pool.BACKOFF
    queue.put(pending("busy"))  # something else to do, so that nothing is taken early
    clock.move(0.001)

    assert names(queue) == ["p", "busy"]


def test_an_idle_queue_takes_a_woken_pod_early_but_never_a_failed_one(queue: SchedulingQueue) -> None:
    rejected(queue, "rejected")
    queue.put(pending("failed"))
    queue.fail(popped(queue))
    queue.wake(FREED)

    assert names(queue) == ["rejected"]


def test_a_success_after_errors_forgets_them(queue: SchedulingQueue, clock: Clock) -> None:
    queue.put(pending())
    queue.fail(popped(queue))
    clock.move(2)
    queued = popped(queue)
    queue.reject(queued, FITLESS)

    assert queued.failures == 1
    assert queued.errors == 0


def is_cure(event: Event, cure: Event) -> bool:
    """A plain update that is named as a cure stands for every kind of update."""
    return event is cure or (cure is Event.ASSIGNED_POD_UPDATE and event.startswith(cure))


@pytest.mark.parametrize("event", OTHERS)
@pytest.mark.parametrize("cure", list(Event))
def test_only_a_cure_wakes(queue: SchedulingQueue, event: Event, cure: Event) -> None:
    rejected(queue, cured_by=frozenset({cure}))

    assert queue.wake({event}) == is_cure(event, cure)
    assert pool(queue, "p") is (Pool.BACKOFF if is_cure(event, cure) else Pool.UNSCHEDULABLE)


@pytest.mark.parametrize("event", OTHERS)
@pytest.mark.parametrize("cure", list(Event))
def test_a_cure_that_came_during_the_attempt_is_not_lost(queue: SchedulingQueue, event: Event, cure: Event) -> None:
    queue.put(pending())
    queued = popped(queue)
    queue.wake({event})
    queue.reject(queued, {"Plugin": frozenset({cure})})

    assert pool(queue, "p") is (Pool.BACKOFF if is_cure(event, cure) else Pool.UNSCHEDULABLE)


def test_an_event_before_the_attempt_does_not_count(queue: SchedulingQueue) -> None:
    queue.put(pending())
    queue.wake(FREED)
    queue.reject(popped(queue), FITLESS)

    assert pool(queue, "p") is Pool.UNSCHEDULABLE


def test_a_pod_wakes_once_for_two_cures_at_once(queue: SchedulingQueue) -> None:
    both = frozenset({Event.NODE_ADD, Event.NODE_LABEL})
    rejected(queue, cured_by=both)

    assert queue.wake(both) == 1
    assert names(queue) == ["p"]


@pytest.mark.parametrize(
    "newer", [{"labels": {"a": "b"}}, {"gpu": 1}, {"annotations": {"gpu.nvidia.com/model": "H100"}}]
)
def test_an_update_of_what_a_pod_asks_for_tries_it_again(queue: SchedulingQueue, newer: dict[str, Any]) -> None:
    rejected(queue, cured_by=ANY_UPDATE)
    queue.put(pending(**newer))

    assert names(queue) == ["p"]


@pytest.mark.parametrize("newer", [{"conditions": [{"type": "PodScheduled", "status": "False"}]}, {"version": "9"}])
def test_our_own_condition_does_not_try_it_again(queue: SchedulingQueue, newer: dict[str, Any]) -> None:
    rejected(queue, cured_by=ANY_UPDATE)
    queue.put(pending(**newer))

    assert queue.pop() is None


def test_an_update_that_no_plugin_waits_for_does_not_try_it_again(queue: SchedulingQueue) -> None:
    rejected(queue, cured_by=frozenset({Event.POD_TOLERATION}))
    queue.put(pending(labels={"a": "b"}))

    assert queue.pop() is None


def test_an_update_during_the_attempt_tries_it_again(queue: SchedulingQueue) -> None:
    queue.put(pending())
    queued = popped(queue)
    queue.put(pending(labels={"a": "b"}))
    queue.reject(queued, {"Plugin": ANY_UPDATE})

    assert names(queue) == ["p"]
    assert queued.pending.pod.metadata.labels == {"a": "b"}


def test_an_update_of_a_waiting_pod_is_what_is_tried(queue: SchedulingQueue) -> None:
    queue.put(pending())
    queue.put(pending(priority=7, labels={"a": "b"}))

    assert popped(queue).pending.pod.spec.priority == 7
    assert queue.pop() is None


@pytest.mark.parametrize("state", ["active", "in flight", "unschedulable", "backoff", "error", "gated"])
def test_a_removed_pod_is_gone_from_everywhere(queue: SchedulingQueue, clock: Clock, state: str) -> None:
    queued = None
    queue.put(pending(gates=["wait"] if state == "gated" else []))
    if state not in ("active", "gated"):
        queued = popped(queue)
    if queued is not None and state == "error":
        queue.fail(queued)
    elif queued is not None and state != "in flight":
        queue.reject(queued, FITLESS)
        queue.wake(FREED if state == "backoff" else set())
    queue.remove("uid-p")
    queue.wake(set(OTHERS))
    clock.move(1000)

    assert queue.pop() is None
    assert sum(queue.counts().values()) == 0


def test_an_attempt_whose_pod_was_removed_ends_in_nothing(queue: SchedulingQueue) -> None:
    for end in ("fail", "reject"):
        queue.put(pending())
        queued = popped(queue)
        queue.remove("uid-p")
        queue.fail(queued) if end == "fail" else queue.reject(queued, FITLESS)
        assert "uid-p" not in queue
        assert queue.pop() is None


def test_a_pod_that_came_back_under_its_uid_is_another_entry(queue: SchedulingQueue) -> None:
    queue.put(pending())
    old = popped(queue)
    queue.remove("uid-p")
    queue.put(pending())
    queue.fail(old)

    assert names(queue) == ["p"]


def test_pods_that_enter_a_queue_are_counted_with_the_event(clock: Clock) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    queue = SchedulingQueue(Backoff(), clock, lambda where, event: seen.update([(where, event)]))
    rejected(queue)
    queue.wake(FREED)
    queue.put(pending("other"))
    clock.move(2)
    names(queue)

    assert seen == {
        ("active", "UnscheduledPodAdd"): 2,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "AssignedPodDelete"): 1,
        ("active", "BackoffComplete"): 1,
    }


def test_counts_name_every_pool(queue: SchedulingQueue) -> None:
    rejected(queue, "u")
    queue.put(pending("g", gates=["x"]))
    queue.put(pending("e"))
    queue.fail(popped(queue))
    queue.put(pending("a"))

    counts = queue.counts()
    assert counts == {
        Pool.ACTIVE: 1,
        Pool.BACKOFF: 0,
        Pool.ERROR_BACKOFF: 1,
        Pool.UNSCHEDULABLE: 1,
        Pool.GATED: 1,
        Pool.IN_FLIGHT: 0,
    }


def test_unschedulable_pods_are_counted_by_the_plugins_that_rejected_them(queue: SchedulingQueue) -> None:
    queue.put(pending())
    queue.reject(popped(queue), {"NodeResourcesFit": FREED, "NodePorts": FREED})

    assert queue.rejected_by() == {("NodeResourcesFit", "gpu-scheduler"): 1, ("NodePorts", "gpu-scheduler"): 1}


def test_pods_leave_in_the_order_that_the_profile_sorts_them_by(clock: Clock) -> None:
    queue = SchedulingQueue(Backoff(), clock, sort_key=lambda queued: (queued.pending.pod.metadata.name,))
    for name in "cab":
        queue.put(pending(name))

    assert names(queue) == ["a", "b", "c"]
