"""Waiting for permission: the last permission or the first rejection counts, and time is a rejection."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cluster_model.verdict import Event, Reason
from gpu_scheduler.waiting_pods import LONGEST_WAIT_SECONDS, Preempted, Rejected, Wait, WaitingPod, WaitingPods
from tests.gpu_scheduler.build import pending

NO = Reason("no", frozenset({Event.NODE_ADD}))


def waited(test: Callable[[WaitingPod], Awaitable[None]], **waits: Wait) -> None:
    """Run a test with a pod that waits for A and B."""

    async def run() -> None:
        pods = WaitingPods()
        await test(pods.add(pending(), "n", waits or {"A": Wait(60), "B": Wait(60)}))

    asyncio.run(run())


def test_all_must_allow() -> None:
    async def test(pod: WaitingPod) -> None:
        pod.allow("A")
        assert pod.pending_plugins == ("B",)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(pod.permission())), 0.01)
        pod.allow("B")
        await pod.permission()

    waited(test)


def test_who_was_not_asked_cannot_allow() -> None:
    async def test(pod: WaitingPod) -> None:
        pod.allow("Stranger")
        assert pod.pending_plugins == ("A", "B")

    waited(test)


def test_one_rejection_ends_the_wait() -> None:
    async def test(pod: WaitingPod) -> None:
        assert pod.reject("B", NO)
        pod.allow("A")
        with pytest.raises(Rejected) as caught:
            await pod.permission()
        assert (caught.value.plugin, caught.value.reason) == ("B", NO)

    waited(test)


def test_what_comes_after_the_end_changes_nothing() -> None:
    async def test(pod: WaitingPod) -> None:
        pod.allow("A")
        pod.allow("B")
        assert not pod.reject("A", NO)
        assert not pod.preempt("later")
        await pod.permission()

    waited(test)


def test_a_preempted_pod_gets_no_verdict() -> None:
    async def test(pod: WaitingPod) -> None:
        assert pod.preempt("preempted by ns/p")
        with pytest.raises(Preempted, match="preempted by ns/p"):
            await pod.permission()

    waited(test)


@pytest.mark.parametrize(("seconds", "said"), [(0.02, "20ms"), (-5, "0s")])
def test_time_is_a_rejection_in_kube_schedulers_words(seconds: float, said: str) -> None:
    async def test(pod: WaitingPod) -> None:
        with pytest.raises(Rejected) as caught:
            await pod.permission()
        assert caught.value.plugin == "A"
        assert caught.value.reason.text == f"rejected due to timeout after waiting {said} at plugin A"
        assert caught.value.reason.cured_by == {Event.NODE_TAINT}

    waited(test, A=Wait(seconds, frozenset({Event.NODE_TAINT})), B=Wait(60))


def test_nobody_waits_longer_than_kube_scheduler_lets_them() -> None:
    async def test(pod: WaitingPod) -> None:
        now = asyncio.get_running_loop().time()
        [timer] = pod._timers.values()
        assert LONGEST_WAIT_SECONDS - 5 < timer.when() - now <= LONGEST_WAIT_SECONDS

    waited(test, A=Wait(86_400))


def test_an_end_leaves_no_timer_behind() -> None:
    async def test(pod: WaitingPod) -> None:
        timers = list(pod._timers.values())
        pod.reject("A", NO)
        assert all(timer.cancelled() for timer in timers)

    waited(test)


def test_pods_are_found_by_uid_until_they_are_dropped() -> None:
    async def run() -> None:
        pods = WaitingPods()
        one = pods.add(pending("one"), "n", {"A": Wait(60)})
        pods.add(pending("two"), "n", {"A": Wait(60)})
        assert pods.get("uid-one") is one
        assert [waiting.pod.pod.metadata.name for waiting in pods] == ["one", "two"]
        pods.drop("uid-one")
        pods.drop("uid-one")
        assert (pods.get("uid-one"), len(pods)) == (None, 1)

    asyncio.run(run())


def test_a_pod_that_is_gone_waits_no_longer() -> None:
    async def run() -> None:
        pods = WaitingPods()
        waiting = pods.add(pending(), "n", {"A": Wait(60)})
        pods.gone("uid-stranger")
        pods.gone("uid-p")
        with pytest.raises(Rejected, match="removed"):
            await waiting.permission()

    asyncio.run(run())


@pytest.mark.parametrize("wrong", [float("nan"), "60", None])
def test_a_wait_without_an_end_cannot_be_asked_for(wrong: Any) -> None:
    with pytest.raises(TypeError, match="timeout_seconds must be a number of seconds, not "):
        Wait(wrong)


@pytest.mark.parametrize("wrong", [{Event.NODE_ADD}, frozenset({"nonsense"}), None])
def test_only_events_cure(wrong: Any) -> None:
    """The queue keeps pods by them."""
    for made in (lambda: Reason("no", wrong), lambda: Wait(60, wrong)):
        with pytest.raises(TypeError, match="a Reason takes a text and a frozenset of Events"):
            made()
