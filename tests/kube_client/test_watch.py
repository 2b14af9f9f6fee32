import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster_model import objects
from kube_client.changes import Added, Change, Deleted, Modified, Synced
from kube_client.client import DEFAULT_SETTINGS, Client, Settings
from kube_client.listing import Resource
from kube_client.timing import Timing
from kube_client.watch import Pace, Reflector
from tests.kube_client.builders import ALL_PODS, PODS, pod_json
from tests.kube_client.fake_api import FakeApi, Fault, Naps, WatchPlan, connected, hurried
from tests.kube_client.store import Json, Refusal

RESOURCE = Resource(ALL_PODS, objects.Pod)
Reached = Callable[[], bool]


class Consumer:
    """Follows a reflector in a task, and keeps what it was told as a consumer would."""

    def __init__(self, client: Client, pace: Pace | None = None, resource: Resource[objects.Pod] = RESOURCE) -> None:
        self.reflector = Reflector(client, resource, pace or Pace(page_size=2))
        self.told: list[Change[objects.Pod]] = []
        self.state: dict[str, str] = {}

    async def follow(self) -> None:
        async for change in self.reflector.changes():
            self.told.append(change)
            match change:
                case Added(object=pod):
                    assert pod.metadata.name not in self.state
                    self.state[pod.metadata.name] = pod.spec.node_name
                case Modified(object=pod):
                    assert pod.metadata.name in self.state
                    self.state[pod.metadata.name] = pod.spec.node_name
                case Deleted(object=pod):
                    del self.state[pod.metadata.name]

    async def until(self, reached: Reached) -> None:
        async with asyncio.timeout(10.0):
            while not reached():
                await asyncio.sleep(0.002)

    def kinds(self) -> list[str]:
        return [type(change).__name__ for change in self.told]


Test = Callable[[FakeApi, Consumer], Awaitable[None]]


def run(
    folder: Path,
    test: Test,
    api: FakeApi | None = None,
    client_settings: Settings = DEFAULT_SETTINGS,
    pace: Pace | None = None,
) -> Consumer:
    async def main() -> Consumer:
        async with connected(folder, api, client_settings) as (running, client):
            consumer = Consumer(client, pace)
            following = asyncio.create_task(consumer.follow())
            try:
                await test(running, consumer)
                assert not following.done()
            finally:
                following.cancel()
                await asyncio.wait((following,))
            return consumer

    return asyncio.run(main())


def bind(api: FakeApi, name: str, node: str) -> None:
    def change(pod: Json) -> Json:
        return {**pod, "spec": {**pod["spec"], "nodeName": node}}

    api.update(f"{PODS}/{name}", change)


def with_pods(*names: str) -> FakeApi:
    api = FakeApi()
    for name in names:
        api.put(PODS, pod_json(name))
    return api


def test_all_pages_are_told_then_synced_then_the_watch(tmp_path: Path) -> None:
    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.healthy)
        bind(api, "a", "n1")
        api.delete(f"{PODS}/b")
        await consumer.until(lambda: consumer.state == {"a": "n1", "c": ""})

    consumer = run(tmp_path, test, with_pods("a", "b", "c"))
    assert consumer.kinds() == ["Added"] * 3 + ["Synced", "Modified", "Deleted"]


def test_an_empty_list_is_synced_too(tmp_path: Path) -> None:
    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.told == [Synced()])

    run(tmp_path, test)


def test_a_cut_watch_resumes_at_once_lists_nothing_and_loses_nothing(tmp_path: Path) -> None:
    naps, api = Naps(), with_pods("a")
    api.watches = [WatchPlan(cut_after_events=2, abrupt=True), WatchPlan(cut_after_events=1), WatchPlan()]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.synced)
        for number in range(6):
            bind(api, "a", f"n{number}")
            await consumer.until(lambda number=number: consumer.state == {"a": f"n{number}"})  # type: ignore[misc]

    consumer = run(tmp_path, test, api, hurried(naps))
    assert consumer.kinds() == ["Added", "Synced"] + ["Modified"] * 6
    assert api.methods("/pods") == ["GET", "WATCH", "WATCH", "WATCH"]
    assert naps.taken == []


def test_what_happens_between_two_watches_is_told(tmp_path: Path) -> None:
    api = with_pods("a")
    api.watches = [WatchPlan(cut_after_events=1)]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.synced)
        for number in range(50):
            api.put(PODS, pod_json(f"p{number}"))
        await consumer.until(lambda: len(consumer.state) == 51)

    assert run(tmp_path, test, api).reflector.counts.lists == 1


def test_a_line_cut_in_the_middle_is_told_whole_by_the_next_watch(tmp_path: Path) -> None:
    api = with_pods("a")
    api.watches = [WatchPlan(cut_after_bytes=40, abrupt=True)]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.synced)
        bind(api, "a", "n1")
        await consumer.until(lambda: consumer.state == {"a": "n1"})

    consumer = run(tmp_path, test, api, hurried(Naps()))
    assert (consumer.reflector.counts.lists, consumer.reflector.counts.unreadable) == (1, 0)


def test_a_line_of_megabytes_in_small_chunks_is_one_event(tmp_path: Path) -> None:
    api = with_pods()
    api.watches = [WatchPlan(chunk_bytes=50_000)]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.synced)
        api.put(PODS, {**pod_json("huge"), "note": "x" * 5_000_000})
        await consumer.until(lambda: "huge" in consumer.state)

    run(tmp_path, test, api)


def test_a_bookmark_moves_the_version_so_that_old_history_is_not_needed(tmp_path: Path) -> None:
    api = with_pods("a")
    api.bookmark_seconds = 0.02
    api.watches = [WatchPlan(cut_after_events=1)]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.synced)
        api.put("/api/v1/namespaces/ns/secrets", {"metadata": {"name": "moves the version"}})
        await asyncio.sleep(0.1)
        api.store.compact()
        bind(api, "a", "n1")
        bind(api, "a", "n2")
        await consumer.until(lambda: consumer.state == {"a": "n2"})

    assert run(tmp_path, test, api).reflector.counts.lists == 1


def _relists_with_differences(folder: Path, api: FakeApi) -> None:
    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.healthy)
        # All of this is missed: the watch ends first, and its history is forgotten.
        api.delete(f"{PODS}/a")
        api.put(PODS, pod_json("d"))
        bind(api, "b", "n1")
        api.delete(f"{PODS}/c")
        api.put(PODS, pod_json("c"))
        api.store.compact()
        await consumer.until(lambda: consumer.state == {"b": "n1", "c": "", "d": ""})

    consumer = run(folder, test, api, hurried(Naps()))
    assert consumer.kinds()[4:] == ["Deleted", "Modified", "Deleted", "Added", "Added"]
    assert consumer.kinds().count("Synced") == 1
    assert consumer.reflector.counts.lists == 2


def test_after_http_410_a_new_list_is_told_as_differences(tmp_path: Path) -> None:
    _relists_with_differences(tmp_path, with_pods("a", "b", "c"))


def test_an_error_event_410_leads_to_a_new_list(tmp_path: Path) -> None:
    api, naps = with_pods("a"), Naps()
    error = {"type": "ERROR", "object": Refusal(410, "Expired", "too old resource version: 1 (2)").body()}
    api.watches = [WatchPlan(first_line=error, cut_after_events=0)]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.counts.lists == 2 and consumer.reflector.healthy)

    consumer = run(tmp_path, test, api, hurried(naps))
    assert consumer.kinds() == ["Added", "Synced"]
    assert naps.taken == []


def test_a_server_that_always_says_410_is_not_hammered(tmp_path: Path) -> None:
    api, naps = with_pods("a"), Naps()
    error = {"type": "ERROR", "object": Refusal(410, "Expired").body()}
    api.watches = [WatchPlan(first_line=error, cut_after_events=0) for _ in range(5)]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.counts.lists == 6 and consumer.reflector.healthy)

    run(tmp_path, test, api, hurried(naps))
    assert naps.taken == [0.2, 0.4, 0.8, 1.6]


def test_other_errors_wait_longer_each_time_and_as_long_as_asked(tmp_path: Path) -> None:
    api, naps = with_pods("a"), Naps()
    throttled = {"type": "ERROR", "object": Refusal(429, "TooManyRequests", retry_after=9).body()}
    failed = {"type": "ERROR", "object": Refusal(500, "InternalError").body()}
    api.watches = [WatchPlan(first_line=line, cut_after_events=0) for line in (failed, throttled, failed)]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.healthy and not api.watches)

    consumer = run(tmp_path, test, api, hurried(naps))
    assert naps.taken == [0.1, 9.0, 0.4]
    assert consumer.reflector.counts.lists == 1


def test_watches_that_end_at_once_and_say_nothing_are_failures(tmp_path: Path) -> None:
    api, naps = with_pods("a"), Naps()
    api.watches = [WatchPlan(cut_after_events=0) for _ in range(3)]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.healthy and not api.watches)

    run(tmp_path, test, api, hurried(naps))
    assert naps.taken == [0.1, 0.2, 0.4]


def test_a_quiet_watch_that_lasted_resumes_at_once(tmp_path: Path) -> None:
    api, naps = with_pods("a"), Naps()
    api.watches = [WatchPlan(cut_after_events=0)]

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: not api.watches and consumer.reflector.counts.watches == 2)

    run(tmp_path, test, api, hurried(naps), Pace(proven_seconds=0.0))
    assert naps.taken == []


def test_an_unreachable_server_is_waited_for_and_seen_in_the_flags(tmp_path: Path) -> None:
    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.healthy)
        await _outage(api, consumer)

    run(tmp_path, test, with_pods("a"), hurried_but_real())


async def _outage(api: FakeApi, consumer: Consumer) -> None:
    before = consumer.reflector.counts.failures
    api.faults = [Fault("GET", "/pods", times=1_000_000, drop_before=True)]
    api.put("/api/v1/namespaces/ns/secrets", {"metadata": {"name": "moves the version"}})
    api.store.compact()  # ends the watch
    await consumer.until(lambda: not consumer.reflector.healthy)
    await consumer.until(lambda: consumer.reflector.counts.failures > before + 3)
    assert consumer.reflector.synced
    api.faults.clear()
    bind(api, "a", "n9")
    await consumer.until(lambda: consumer.reflector.healthy and consumer.state == {"a": "n9"})


def hurried_but_real() -> Settings:
    async def nap(_seconds: float) -> None:
        await asyncio.sleep(0.001)

    return Settings(timing=Timing(sleep=nap))


def test_an_object_that_cannot_be_read_is_counted_and_skipped_in_lists(tmp_path: Path) -> None:
    api = with_pods("a")
    api.put(PODS, {"metadata": {"name": "broken"}, "spec": {"nodeName": 5}})

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.synced)
        assert consumer.state == {"a": ""}

    assert run(tmp_path, test, api).reflector.counts.unreadable == 1


def test_an_object_that_becomes_unreadable_is_kept_and_its_end_still_told(tmp_path: Path) -> None:
    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.synced)
        api.update(f"{PODS}/a", lambda pod: {**pod, "spec": {"nodeName": 5}})
        await consumer.until(lambda: consumer.reflector.counts.unreadable == 1)
        assert consumer.state == {"a": ""}
        api.delete(f"{PODS}/a")
        await consumer.until(lambda: consumer.state == {})

    run(tmp_path, test, with_pods("a"))


def test_an_expired_continue_token_leads_to_one_answer_without_pages(tmp_path: Path) -> None:
    api = with_pods("a", "b", "c")
    api.store.pages_expire = True

    async def test(api: FakeApi, consumer: Consumer) -> None:
        await consumer.until(lambda: consumer.reflector.synced)
        assert len(consumer.state) == 3

    run(tmp_path, test, api)


def test_selectors_and_bookmarks_are_asked_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path) as (api, client):
            resource = Resource(ALL_PODS, objects.Pod, {"fieldSelector": "spec.nodeName="})
            consumer = Consumer(client, resource=resource)
            following = asyncio.create_task(consumer.follow())
            await consumer.until(lambda: consumer.reflector.healthy)
            following.cancel()
            await asyncio.wait((following,))
        (_, _, listed), (_, _, watched) = api.calls
        assert listed == {"fieldSelector": "spec.nodeName=", "limit": "2"}
        assert 300 <= int(watched.pop("timeoutSeconds")) <= 600
        selected = {"fieldSelector": "spec.nodeName=", "watch": "true", "allowWatchBookmarks": "true"}
        assert watched == {**selected, "resourceVersion": "100"}

    asyncio.run(main())


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["put", "bind", "delete", "compact", "pause"]), st.sampled_from("abc")), max_size=25
)
CUTS = st.lists(st.builds(WatchPlan, cut_after_events=st.integers(1, 4), abrupt=st.booleans()), max_size=6)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS, cuts=CUTS)
def test_whatever_is_cut_or_forgotten_the_consumer_ends_with_the_servers_state(
    tmp_path: Path, actions: list[tuple[str, str]], cuts: list[WatchPlan]
) -> None:
    api = with_pods("a")
    api.watches = cuts

    async def test(api: FakeApi, consumer: Consumer) -> None:
        for number, (action, name) in enumerate(actions):
            await _act(api, action, name, number)
        await consumer.until(lambda: consumer.reflector.healthy and consumer.state == _state(api))

    run(tmp_path, test, api, hurried_but_real())


async def _act(api: FakeApi, action: str, name: str, number: int) -> None:
    exists = any(key[2] == name for key in api.store.objects)
    if action == "pause":
        await asyncio.sleep(0.003)
    elif action == "compact":
        api.store.compact()
    elif action == "put" and not exists:
        api.put(PODS, pod_json(name))
    elif action == "bind" and exists:
        bind(api, name, f"n{number}")
    elif action == "delete" and exists:
        api.delete(f"{PODS}/{name}")


def _state(api: FakeApi) -> dict[str, str]:
    return {key[2]: pod["spec"].get("nodeName", "") for key, pod in api.store.objects.items()}


def test_a_list_lets_other_tasks_run(tmp_path: Path) -> None:
    api = FakeApi()
    for number in range(600):
        api.put(PODS, pod_json(f"p{number}"))
    turns = 0

    async def test(api: FakeApi, consumer: Consumer) -> None:
        nonlocal turns
        while not consumer.told:
            await asyncio.sleep(0)
        while not consumer.reflector.synced:
            turns += 1
            await asyncio.sleep(0)

    started = time.monotonic()
    run(tmp_path, test, api, pace=Pace())
    assert turns >= 2, time.monotonic() - started
