"""The tracker: every request that begins ends, in threads, tasks, generators and forked children."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deletion_cost import ConnectionTracker
from deletion_cost.sample import Sample


class Clock:
    """A clock that goes when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tracker(clock: Clock) -> ConnectionTracker:
    return ConnectionTracker(shared=False, clock=clock)


def active(tracker: ConnectionTracker) -> float | None:
    return tracker.reading().active_requests


def test_an_application_that_has_done_nothing_says_so(tracker: ConnectionTracker) -> None:
    assert tracker.reading() == Sample(active_requests=0, connections=0, served=0)


def test_a_request_is_active_then_served(tracker: ConnectionTracker, clock: Clock) -> None:
    with tracker.request():
        assert active(tracker) == 1
        clock.now += 0.25
    assert tracker.reading() == Sample(active_requests=0, connections=0, served=1, mean_response_ms=250.0)


def test_a_response_takes_until_it_begins(tracker: ConnectionTracker, clock: Clock) -> None:
    """A long stream to a slow client does not make the application slow."""
    with tracker.request() as span:
        clock.now += 0.1
        span.answered()
        clock.now += 30
        span.answered()
    assert tracker.reading().mean_response_ms == pytest.approx(100)


def test_a_request_that_fails_is_not_served(tracker: ConnectionTracker) -> None:
    with pytest.raises(KeyError), tracker.request():
        raise KeyError
    assert tracker.reading() == Sample(active_requests=0, connections=0, served=0)


def test_connections_are_not_requests(tracker: ConnectionTracker) -> None:
    with tracker.connection(), tracker.connection():
        assert tracker.reading() == Sample(active_requests=0, connections=2, served=0)
    assert tracker.reading() == Sample(active_requests=0, connections=0, served=0)


def test_hit_rate(tracker: ConnectionTracker) -> None:
    for _ in range(3):
        tracker.cache_hit()
    tracker.cache_miss()
    assert tracker.reading().cache_hit_rate == 0.75


def test_a_span_ends_once_and_begins_once(tracker: ConnectionTracker) -> None:
    span = tracker.request().begin()
    with pytest.raises(RuntimeError):
        span.begin()
    span.end()
    span.end()
    assert (active(tracker), tracker.reading().served) == (0, 1)


@pytest.mark.parametrize("seconds", [0.5, 4000, float("nan")])
def test_a_window_that_makes_no_sense_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="window_seconds: Invalid value"):
        ConnectionTracker(window_seconds=seconds)


def test_decorated_functions_count_each_call(tracker: ConnectionTracker) -> None:
    @tracker.request()
    def work(depth: int) -> float | None:
        """What it says."""
        return work(depth - 1) if depth else active(tracker)

    assert (work(2), active(tracker), work.__doc__) == (3, 0, "What it says.")


def test_decorated_generators_count_until_they_end_or_are_closed(tracker: ConnectionTracker) -> None:
    @tracker.connection()
    def stream() -> Iterator[int]:
        yield 1
        yield 2

    one, other = stream(), stream()
    assert (next(one), list(other)) == (1, [1, 2])
    assert tracker.reading().connections == 1
    one.close()  # type: ignore[attr-defined]
    assert tracker.reading().connections == 0


def test_a_generator_that_is_collected_in_the_middle_of_counting_ends(tracker: ConnectionTracker) -> None:
    """The collector runs where it likes, also in a thread that is counting just then."""

    @tracker.request()
    def stream() -> Iterator[int]:
        yield 1

    begun = stream()
    next(begun)
    with tracker.lock:
        del begun
        gc.collect()
    assert active(tracker) == 0


def test_decorated_coroutines_and_async_generators(tracker: ConnectionTracker) -> None:
    @tracker.request()
    async def work() -> float | None:
        await asyncio.sleep(0)
        return active(tracker)

    @tracker.connection()
    async def stream() -> AsyncIterator[int]:
        yield 1
        yield 2

    async def both() -> tuple[list[float | None], list[float | None]]:
        seen = [tracker.reading().connections async for _ in stream()]
        return list(await asyncio.gather(*(work() for _ in range(3)))), seen

    assert asyncio.run(both()) == ([3, 2, 1], [1, 1])
    assert tracker.reading() == Sample(active_requests=0, connections=0, served=3, mean_response_ms=0)


def test_a_cancelled_task_counts_no_more(tracker: ConnectionTracker) -> None:
    async def work() -> None:
        async with tracker.request():
            await asyncio.sleep(60)

    async def cancel() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        assert active(tracker) == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancel())
    assert tracker.reading() == Sample(active_requests=0, connections=0, served=0)


@given(st.lists(st.lists(st.sampled_from("rcfhm"), max_size=40), min_size=1, max_size=8))
def test_counters_are_exact_under_threads(plans: list[list[str]]) -> None:
    """Each thread does its part of requests, connections, failures, hits and misses, all at once."""
    tracker, start = ConnectionTracker(shared=False), threading.Barrier(len(plans))

    def act(plan: list[str]) -> None:
        start.wait()
        for what in plan:
            _do(tracker, what)

    with ThreadPoolExecutor(len(plans)) as pool:
        list(pool.map(act, plans))

    done = "".join(map("".join, plans))
    looked_up = done.count("h") + done.count("m")
    reading = tracker.reading()
    assert (reading.active_requests, reading.connections, reading.served) == (0, 0, done.count("r"))
    assert reading.cache_hit_rate == (done.count("h") / looked_up if looked_up else None)


def _do(tracker: ConnectionTracker, what: str) -> None:
    if what == "h":
        tracker.cache_hit()
    elif what == "m":
        tracker.cache_miss()
    else:
        with tracker.connection() if what == "c" else tracker.request() as span:
            if what == "f":
                span.failed()


class QuarterSeconds(threading.local):
    """A clock by which each request of each thread takes 250 ms: it is read at the begin and twice at the end."""

    reads = -1

    def __call__(self) -> float:
        self.reads += 1
        return 100.25 if self.reads % 3 else 100.0


def test_hot_counters_lose_nothing(tmp_path: Path) -> None:
    """Eight threads that take turns all the time, 16,000 requests, on the shared block: no count, no time is lost."""
    tracker, interval = ConnectionTracker(shared=tmp_path, clock=QuarterSeconds()), sys.getswitchinterval()
    tracker.folder()  # claiming reads the clock once more

    def work(_: int) -> None:
        for _ in range(2000):
            with tracker.request():
                pass

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert tracker.reading() == Sample(active_requests=0, connections=0, served=16_000, mean_response_ms=250.0)
    tracker.close()


def test_trackers_of_one_folder_say_the_same_sum(tmp_path: Path) -> None:
    one, other = ConnectionTracker(shared=tmp_path), ConnectionTracker(shared=tmp_path)
    with one.request(), other.request():
        assert (active(one), active(other)) == (2, 2)
    one.close()
    assert other.reading().served == 2
    other.close()


def test_without_a_folder_the_process_counts_for_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    tracker = ConnectionTracker(shared=tmp_path / "file")
    with tracker.request():
        assert active(tracker) == 1
    assert [record.getMessage().partition(" folder=")[0] for record in caplog.records] == [
        "load is counted for this process alone"
    ]


def test_running_seconds_are_those_of_the_first_process(tmp_path: Path, clock: Clock) -> None:
    first = ConnectionTracker(shared=tmp_path, clock=clock)
    assert first.running_seconds() == 0
    clock.now = 50.0
    second = ConnectionTracker(shared=tmp_path, clock=clock)
    assert second.running_seconds() == 50
    first.close()
    assert second.running_seconds() == 50
    second.close()
