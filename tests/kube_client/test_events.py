import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import objects
from kube_client import event_bodies
from kube_client.client import DEFAULTS, Body, Options
from kube_client.errors import ApiError
from kube_client.event_bodies import failed_scheduling, scheduled
from kube_client.events import DEFAULT_LIMITS, Limits, Recorder
from kube_client.timing import Timing
from tests.kube_client.builders import pod
from tests.kube_client.fake_api import MemoryClient, Naps
from tests.kube_client.store import Json, Store, Target

EVENTS = "/apis/events.k8s.io/v1/namespaces/ns/events"
REPORTER = event_bodies.reporter("gpu-scheduler", "host-1")
UNREACHABLE = ApiError(0, "ClientConnectorError", "refused", sent=False)


class Clock:
    """A wall clock that the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def utc_now(self) -> datetime:
        return self.now


class Bench:
    """A recorder on a store in memory."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, failures: Sequence[Exception | None] | None = None) -> None:
        self.clock, self.naps, self.store = Clock(), Naps(), Store()
        timing = Timing(utc_now=self.clock.utc_now, sleep=self._sleep, random=lambda: 0.0)
        self.client = MemoryClient(self.store, timing, failures or [])
        self.recorder = Recorder(self.client, REPORTER, limits)

    async def _sleep(self, seconds: float) -> None:
        if seconds == 60.0:
            await asyncio.Event().wait()  # the tending is called by the tests themselves
        await self.naps.sleep(seconds)

    async def settle(self) -> None:
        assert await self.recorder.drain(5.0)

    def written(self) -> list[Json]:
        return [thing for key, thing in sorted(self.store.objects.items()) if key[0].endswith("/events")]


class Slow(MemoryClient):
    """Lets other tasks send before it answers, and remembers how many calls were in flight at most."""

    in_flight = 0
    most_in_flight = 0

    async def request(self, method: str, path: str, body: Body = None, options: Options = DEFAULTS) -> bytes:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0)
        self.in_flight -= 1
        return await super().request(method, path, body, options)


def run(bench: Bench, test: Callable[[Bench], Awaitable[None]]) -> Bench:
    async def main() -> None:
        running = asyncio.create_task(bench.recorder.run())
        await test(bench)
        await bench.settle()
        running.cancel()
        await asyncio.wait((running,))

    asyncio.run(main())
    return bench


def test_a_bound_pod_gives_one_post_in_kube_schedulers_form() -> None:
    async def test(bench: Bench) -> None:
        bench.recorder.record(pod("p"), scheduled(pod("p"), "n1"))

    bench = run(Bench(), test)
    (event,) = bench.written()
    assert bench.client.calls == [("POST", EVENTS)]
    assert event["metadata"]["name"] == f"p.{int(bench.clock.now.timestamp()) * 10**9:x}"
    assert {key: event[key] for key in ("type", "reason", "action", "note")} == {
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": "Successfully assigned ns/p to n1",
    }
    assert (event["reportingController"], event["reportingInstance"]) == ("gpu-scheduler", "gpu-scheduler-host-1")
    assert event["eventTime"] == "2026-01-02T03:04:05.000000Z"
    named = {"kind": "Pod", "apiVersion": "v1", "namespace": "ns", "name": "p", "uid": "u1", "resourceVersion": "7"}
    assert event["regarding"] == named


def test_equal_events_are_one_event_and_a_series() -> None:
    async def test(bench: Bench) -> None:
        for _ in range(5):
            bench.recorder.record(pod("p"), failed_scheduling("0/3 nodes"))
            bench.clock.now += timedelta(seconds=10)

    bench = run(Bench(), test)
    (event,) = bench.written()
    assert event["series"] == {"count": 2, "lastObservedTime": "2026-01-02T03:04:15.000000Z"}
    assert len(bench.client.calls) <= 5


def test_a_series_is_written_every_half_hour_and_when_it_ends() -> None:
    async def test(bench: Bench) -> None:
        for count in range(1, 40):
            bench.recorder.record(pod("p"), failed_scheduling("0/3 nodes"))
            bench.clock.now += timedelta(minutes=1)
            bench.recorder.tend_series()
            await bench.settle()
            seen.append((count, bench.written()[0].get("series", {}).get("count", 1)))
        bench.clock.now += timedelta(minutes=6)
        bench.recorder.tend_series()

    seen: list[tuple[int, int]] = []
    bench = run(Bench(), test)
    assert [written for _, written in seen] == [1] + [2] * 29 + [31] * 9
    assert bench.written()[0]["series"]["count"] == 39


def test_after_a_series_has_ended_a_new_event_begins() -> None:
    async def test(bench: Bench) -> None:
        for _ in range(2):
            bench.recorder.record(pod("p"), failed_scheduling("0/3 nodes"))
            bench.clock.now += timedelta(minutes=7)
            bench.recorder.tend_series()

    assert len(run(Bench(), test).written()) == 2


def test_other_words_and_other_pods_are_other_events() -> None:
    async def test(bench: Bench) -> None:
        bench.recorder.record(pod("p"), failed_scheduling("0/3 nodes"))
        bench.recorder.record(pod("p"), failed_scheduling("0/4 nodes"))
        bench.recorder.record(pod("p", uid="u2"), failed_scheduling("0/3 nodes"))

    events = run(Bench(), test).written()
    assert len({event["metadata"]["name"] for event in events}) == 3


def test_a_series_whose_event_has_expired_goes_on() -> None:
    async def test(bench: Bench) -> None:
        bench.recorder.record(pod("p"), failed_scheduling("0/3 nodes"))
        await bench.settle()
        (key,) = bench.store.objects
        del bench.store.objects[key]
        bench.recorder.record(pod("p"), failed_scheduling("0/3 nodes"))

    (event,) = run(Bench(), test).written()
    assert (event["series"]["count"], event["note"]) == (2, "0/3 nodes")


def test_a_series_that_meets_its_event_on_the_way_counts_all_the_same() -> None:
    missing = ApiError(404, "NotFound", "")

    async def test(bench: Bench) -> None:
        bench.recorder.record(pod("p"), failed_scheduling("0/3 nodes"))
        await bench.settle()
        bench.recorder.record(pod("p"), failed_scheduling("0/3 nodes"))

    bench = run(Bench(failures=[None, missing]), test)
    assert bench.written()[0]["series"]["count"] == 2
    assert [method for method, _ in bench.client.calls] == ["POST", "PATCH", "POST", "PATCH"]


def test_a_full_queue_drops_and_counts_and_never_waits() -> None:
    bench = Bench(Limits(queue=3))
    for number in range(10):
        bench.recorder.record(pod(f"p{number}"), scheduled(pod(f"p{number}"), "n1"))
    assert bench.recorder.counts.dropped == 7


@pytest.mark.parametrize(("events", "in_flight"), [(9, 2), (10, 5)])
def test_helpers_join_in_once_the_queue_is_half_full(events: int, in_flight: int) -> None:
    async def test(bench: Bench) -> None:
        for number in range(events):
            bench.recorder.record(pod(f"p{number}"), scheduled(pod(f"p{number}"), "n1"))

    bench = Bench()
    client = Slow(bench.store, bench.client.timing)
    bench.recorder = Recorder(client, REPORTER, Limits(queue=20, workers=2, helpers=3))
    run(bench, test)
    assert (client.most_in_flight, len(bench.written())) == (in_flight, events)


def test_helpers_leave_when_the_queue_is_quarter_full() -> None:
    bench = Bench()
    client = Slow(bench.store, bench.client.timing)
    recorder = Recorder(client, REPORTER, Limits(queue=20, workers=0, helpers=3))
    for number in range(10):
        recorder.record(pod(f"p{number}"), scheduled(pod(f"p{number}"), "n1"))

    async def main() -> bool:
        running = asyncio.create_task(recorder.run())
        drained = await recorder.drain(0.05)
        running.cancel()
        return drained

    assert (asyncio.run(main()), len(bench.written())) == (False, 5)


def test_an_outage_is_waited_out() -> None:
    async def test(bench: Bench) -> None:
        bench.recorder.record(pod("p"), scheduled(pod("p"), "n1"))

    bench = run(Bench(failures=[UNREACHABLE] * 3), test)
    assert bench.naps.taken == [0.5, 1.0, 2.0]
    assert (len(bench.written()), bench.recorder.counts.written) == (1, 1)


def test_an_outage_that_does_not_end_is_given_up_and_counted() -> None:
    async def test(bench: Bench) -> None:
        bench.recorder.record(pod("p"), scheduled(pod("p"), "n1"))

    bench = run(Bench(failures=[UNREACHABLE] * 100), test)
    assert (len(bench.client.calls), bench.recorder.counts.refused) == (12, 1)


def test_a_refused_event_is_not_tried_again() -> None:
    async def test(bench: Bench) -> None:
        bench.recorder.record(pod("p"), scheduled(pod("p"), "n1"))
        bench.recorder.record(pod("q"), scheduled(pod("q"), "n1"))

    bench = run(Bench(failures=[ApiError(403, "Forbidden", "namespace is being terminated")]), test)
    assert (bench.recorder.counts.refused, bench.recorder.counts.written) == (1, 1)


def test_an_event_that_was_written_after_all_is_written_once() -> None:
    async def test(bench: Bench) -> None:
        name = f"p.{int(bench.clock.now.timestamp()) * 10**9:x}"
        bench.store.create(Target.of(EVENTS), {"metadata": {"name": name}})
        bench.recorder.record(pod("p"), scheduled(pod("p"), "n1"))

    bench = run(Bench(), test)
    assert (bench.recorder.counts.written, bench.recorder.counts.refused) == (1, 0)


def test_draining_ends_in_time() -> None:
    async def main() -> bool:
        bench = Bench()
        bench.recorder.record(pod("p"), scheduled(pod("p"), "n1"))
        return await bench.recorder.drain(0.01)

    assert asyncio.run(main()) is False


def test_the_series_that_are_remembered_are_bounded() -> None:
    bench = Bench(Limits(series=2))
    for number in range(5):
        bench.recorder.record(pod(f"p{number}", uid=f"u{number}"), failed_scheduling("no"))
    bench.recorder.record(pod("p4", uid="u4"), failed_scheduling("no"))
    bench.recorder.record(pod("p0", uid="u0"), failed_scheduling("no"))
    assert len(bench.recorder._runs) == 2


@given(st.text(max_size=2_000))
def test_a_note_has_at_most_1024_bytes_and_says_if_it_was_cut(note: str) -> None:
    shown = event_bodies.cut(note)
    assert len(shown.encode()) <= 1024
    assert shown == note or (shown.endswith(" ...") and note.startswith(shown.removesuffix(" ...")))


def test_a_note_is_cut_at_a_character() -> None:
    assert event_bodies.cut("ä" * 600) == "ä" * 510 + " ..."


@pytest.mark.parametrize("length", [1, 200, 236, 237, 253])
def test_an_event_has_a_valid_name_however_long_the_pods_is(length: int) -> None:
    long = objects.Pod(metadata=objects.ObjectMeta(name="a" * length, namespace="ns", uid="u"))
    now = datetime(2026, 1, 2, tzinfo=UTC)
    happened = event_bodies.Occurrence(long, scheduled(long, "n"), REPORTER, now, int(now.timestamp()) * 10**9)
    name = msgspec.json.decode(event_bodies.create_body(happened))["metadata"]["name"]
    assert len(name) <= 253
    assert name.startswith("a" * min(length, 236) + ".")


def test_the_instance_fits_the_api_servers_limit() -> None:
    assert len(event_bodies.reporter("gpu-scheduler", "h" * 253).instance) == 128
