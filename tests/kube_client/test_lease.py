import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_client.errors import ApiError
from kube_client.lease import LeaderElector, LeaseLost, LeaseName
from kube_client.lease_record import Terms
from kube_client.timing import Timing
from tests.kube_client.fake_api import MemoryClient
from tests.kube_client.store import Json, Store, Target

LEASE = LeaseName("ns", "gpu-scheduler")
DOWN = ApiError(0, "ClientConnectorError", "refused", sent=False)


class VirtualTime:
    """Time that stands still until the test moves it; sleepers wake in order."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), future))
        await future

    async def pass_by(self, seconds: float) -> None:
        end = self.now + seconds
        await _settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self.now, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
            await _settle()
        self.now = end

    def clock_of(self, skew_seconds: float = 0.0) -> Timing:
        def utc_now() -> datetime:
            return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now + skew_seconds)

        return Timing(monotonic=lambda: self.now, utc_now=utc_now, sleep=self.sleep, random=lambda: 0.0)


async def _settle() -> None:
    for _ in range(60):
        await asyncio.sleep(0)


class Contender:
    """An elector with work that only waits, and notes when it ran."""

    def __init__(
        self, store: Store, time: VirtualTime, identity: str, skew: float = 0.0, failures: Iterable[None] = ()
    ) -> None:
        self.client = MemoryClient(store, time.clock_of(skew), failures)
        self.elector = LeaderElector(self.client, LEASE, identity)
        self.working = False
        self.wind_up_seconds = 0.0
        self.time = time
        self.task = asyncio.create_task(self.elector.lead(self.work))

    async def work(self) -> str:
        self.working = True
        try:
            await asyncio.Event().wait()
        finally:
            if self.wind_up_seconds:
                await self.time.sleep(self.wind_up_seconds)
            self.working = False
        return "never"

    def cut_off(self) -> None:
        self.client.failures = itertools.repeat(DOWN)

    def kill(self) -> None:
        """As SIGKILL would: no release, no further call."""
        self.client.failures = itertools.repeat(AssertionError("a dead process makes no calls"))
        self.cut_off()
        self.task.cancel()


class Stage:
    """A store, a time, and contenders on them."""

    def __init__(self) -> None:
        self.store, self.time = Store(), VirtualTime()
        self.contenders: list[Contender] = []

    def enter(self, identity: str, skew: float = 0.0) -> Contender:
        self.contenders.append(Contender(self.store, self.time, identity, skew))
        return self.contenders[-1]

    def spec(self) -> Json:
        spec: Json = self.store.get(Target.of(LEASE.path))["spec"]
        return spec


def run(test: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        stage = Stage()
        await test(stage)
        for contender in stage.contenders:
            contender.cut_off()
            contender.task.cancel()
        await asyncio.gather(*(contender.task for contender in stage.contenders), return_exceptions=True)

    asyncio.run(main())


def test_the_first_takes_the_lease_and_keeps_it() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        taken = stage.spec()
        await stage.time.pass_by(600.0)
        assert first.working
        assert first.elector.leading
        assert taken["leaseTransitions"] == 0
        assert {**taken, "renewTime": stage.spec()["renewTime"]} == stage.spec()
        assert (taken["holderIdentity"], taken["leaseDurationSeconds"]) == ("a", 15)
        assert stage.spec()["renewTime"] > taken["renewTime"]

    run(test)


def test_a_second_waits_while_the_first_renews() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        second = stage.enter("b")
        await stage.time.pass_by(600.0)
        assert (first.working, second.working, second.elector.holder) == (True, False, "a")

    run(test)


def test_a_dead_holder_is_followed_after_the_leases_duration() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        second = stage.enter("b")
        await stage.time.pass_by(1.0)
        first.kill()
        await stage.time.pass_by(14.0)
        assert not second.working
        await stage.time.pass_by(6.0)
        assert second.working
        assert (stage.spec()["holderIdentity"], stage.spec()["leaseTransitions"]) == ("b", 1)

    run(test)


@pytest.mark.parametrize("skew", [-86_400.0, 86_400.0])
def test_a_wrong_clock_neither_steals_nor_misses_a_lease(skew: float) -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a", skew=skew)
        await stage.time.pass_by(1.0)
        second = stage.enter("b")
        await stage.time.pass_by(60.0)
        assert (first.working, second.working) == (True, False)
        first.kill()
        await stage.time.pass_by(20.0)
        assert second.working

    run(test)


def test_a_holder_that_cannot_renew_stops_before_anybody_may_follow() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        second = stage.enter("b")
        await stage.time.pass_by(1.0)
        first.cut_off()
        await stage.time.pass_by(10.5)
        assert (first.working, first.elector.leading, second.working) == (False, False, False)
        with pytest.raises(LeaseLost, match="ns/gpu-scheduler"):
            await first.task
        await stage.time.pass_by(10.0)
        assert second.working

    run(test)


def test_who_lost_the_lease_may_stand_again() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        first.cut_off()
        await stage.time.pass_by(11.0)
        with pytest.raises(LeaseLost):
            await first.task
        first.client.failures = iter(())
        first.task = asyncio.create_task(first.elector.lead(first.work))
        await stage.time.pass_by(1.0)
        assert (first.working, first.elector.leading) == (True, True)
        assert stage.spec()["leaseTransitions"] == 0

    run(test)


def test_a_short_outage_costs_nothing() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        first.client.failures = iter([DOWN] * 3)
        await stage.time.pass_by(60.0)
        assert first.working
        assert stage.spec()["leaseTransitions"] == 0

    run(test)


def test_another_holder_ends_the_work_at_once() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        lease = stage.store.get(Target.of(LEASE.path))
        stage.store.replace(Target.of(LEASE.path), {**lease, "spec": {**lease["spec"], "holderIdentity": "thief"}})
        await stage.time.pass_by(3.0)
        assert not first.working
        with pytest.raises(LeaseLost):
            await first.task
        assert stage.spec()["holderIdentity"] == "thief"

    run(test)


def test_a_clean_stop_hands_over_at_once() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        second = stage.enter("b")
        await stage.time.pass_by(1.0)
        first.task.cancel()
        await stage.time.pass_by(0.1)
        assert (stage.spec()["holderIdentity"], stage.spec()["leaseDurationSeconds"]) == ("", 1)
        await stage.time.pass_by(2.1)
        assert second.working

    run(test)


def test_the_lease_is_kept_until_the_work_has_wound_up() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        first.wind_up_seconds = 40.0
        await stage.time.pass_by(1.0)
        second = stage.enter("b")
        first.task.cancel()
        await stage.time.pass_by(39.0)
        assert (first.working, second.working) == (True, False)
        await stage.time.pass_by(6.0)
        assert (first.working, second.working) == (False, True)

    run(test)


def test_a_write_that_met_an_unknown_version_is_read_again() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        lease = stage.store.get(Target.of(LEASE.path))
        stage.store.replace(Target.of(LEASE.path), {**lease, "metadata": {**lease["metadata"], "labels": {"x": "y"}}})
        await stage.time.pass_by(30.0)
        assert first.working
        assert stage.store.get(Target.of(LEASE.path))["metadata"]["labels"] == {"x": "y"}

    run(test)


def test_a_deleted_lease_is_made_anew() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        stage.store.remove(Target.of(LEASE.path))
        await stage.time.pass_by(30.0)
        assert first.working
        assert stage.spec()["holderIdentity"] == "a"

    run(test)


def test_after_a_long_stop_of_the_process_nothing_may_be_written() -> None:
    async def test(stage: Stage) -> None:
        first = stage.enter("a")
        await stage.time.pass_by(1.0)
        stage.time.now += 30.0  # SIGSTOP, a paused machine: no code ran
        assert not first.elector.leading
        assert first.elector.overdue_seconds > 14.0

    run(test)


def test_work_that_ends_gives_its_result_and_the_lease_back() -> None:
    async def main() -> tuple[str, str]:
        store, time = Store(), VirtualTime()
        elector = LeaderElector(MemoryClient(store, time.clock_of()), LEASE, "a")

        async def work() -> str:
            return "done"

        return await elector.lead(work), store.get(Target.of(LEASE.path))["spec"]["holderIdentity"]

    assert asyncio.run(main()) == ("done", "")


def test_work_that_fails_fails_the_call_and_gives_the_lease_back() -> None:
    store = Store()

    async def main() -> None:
        async def work() -> None:
            raise ValueError("bug")

        await LeaderElector(MemoryClient(store, VirtualTime().clock_of()), LEASE, "a").lead(work)

    with pytest.raises(ValueError, match="bug"):
        asyncio.run(main())
    assert store.get(Target.of(LEASE.path))["spec"]["holderIdentity"] == ""


def test_terms_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="renewDeadline"):
        Terms(renew_deadline=timedelta(seconds=15))
    with pytest.raises(ValueError, match="retryPeriod"):
        Terms(retry_period=timedelta(seconds=9))
    with pytest.raises(ValueError, match="retryPeriod"):
        Terms(retry_period=timedelta(0))


STEPS = st.lists(
    st.tuples(st.sampled_from(["pass", "enter", "kill", "stop", "cut", "heal"]), st.integers(0, 2), st.integers(1, 9)),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_never_do_two_work_at_once(steps: list[tuple[str, int, int]]) -> None:
    async def test(stage: Stage) -> None:
        stage.enter("c0")
        for number, (step, which, seconds) in enumerate(steps):
            contender = stage.contenders[which % len(stage.contenders)]
            _act(stage, contender, step, f"c{number + 1}")
            for _ in range(seconds * 4):
                await stage.time.pass_by(0.25)
                assert sum(other.elector.leading for other in stage.contenders) <= 1
                assert sum(other.working for other in stage.contenders) <= 1

    run(test)


def _act(stage: Stage, contender: Contender, step: str, identity: str) -> None:
    if step == "enter":
        stage.enter(identity)
    elif step == "kill":
        contender.kill()
    elif step == "stop":
        contender.task.cancel()
    elif step == "cut":
        contender.cut_off()
    elif step == "heal":
        contender.client.failures = iter(())
