import asyncio
import os
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster_model import objects
from kube_client import credentials, timing
from kube_client.calls import Calls
from kube_client.client import DEFAULT_SETTINGS, Client, Options, Settings
from kube_client.credentials import BadCredentials
from kube_client.errors import ApiError
from kube_client.timing import Timing
from tests.kube_client.builders import PODS, pod_json
from tests.kube_client.fake_api import FakeApi, Fault, Naps, connected, hurried, kubeconfig, serving
from tests.kube_client.store import Refusal

Test = Callable[[FakeApi, Client], Coroutine[Any, Any, None]]


def run(folder: Path, test: Test, api: FakeApi | None = None, settings: Settings = DEFAULT_SETTINGS) -> None:
    async def main() -> None:
        async with connected(folder, api, settings) as (running, client):
            await test(running, client)

    asyncio.run(main())


def test_bytes_and_structs_come_back(tmp_path: Path) -> None:
    async def test(api: FakeApi, client: Client) -> None:
        await client.post(PODS, pod_json("p"))
        assert b'"name": "p"' in await client.get(f"{PODS}/p")
        assert (await client.read(f"{PODS}/p", objects.Pod)).metadata.name == "p"

    run(tmp_path, test)


def test_every_call_counts_by_method_and_by_what_became_of_it(tmp_path: Path) -> None:
    shared = Calls()

    async def test(api: FakeApi, client: Client) -> None:
        await client.post(PODS, pod_json("p"))
        with pytest.raises(ApiError):
            await client.get(f"{PODS}/gone")
        assert client.counts is shared
        assert {(code, method): n for (code, _, method), n in shared.answers.items()} == {
            ("201", "POST"): 1,
            ("404", "GET"): 1,
        }
        assert {method: sum(latency.counts) for (_, method), latency in shared.latencies.items()} == {
            "POST": 1,
            "GET": 1,
        }

    run(tmp_path, test, settings=Settings(counts=shared))


def test_a_call_without_an_answer_counts_as_an_error(tmp_path: Path) -> None:
    async def test(api: FakeApi, client: Client) -> None:
        with pytest.raises(ApiError):
            await client.post(PODS, pod_json("p"))
        assert {code for code, _, _ in client.counts.answers} == {"<error>"}

    run(tmp_path, test, FakeApi(faults=[Fault("POST", "/pods", drop_before=True)]))


def test_an_answer_of_another_form_is_an_api_error(tmp_path: Path) -> None:
    async def test(api: FakeApi, client: Client) -> None:
        api.put(PODS, {"metadata": {"name": "p"}, "spec": {"nodeName": 5}})
        with pytest.raises(ApiError, match=r"Undecodable.*spec\.nodeName"):
            await client.read(f"{PODS}/p", objects.Pod)

    run(tmp_path, test)


def test_a_throttled_post_waits_as_asked_and_is_sent_again(tmp_path: Path) -> None:
    naps = Naps()
    api = FakeApi(faults=[Fault("POST", "/pods", refusal=Refusal(429, "TooManyRequests"), retry_after="2")])

    async def test(api: FakeApi, client: Client) -> None:
        await client.post(PODS, pod_json("p"))
        assert naps.taken == [2.0]

    run(tmp_path, test, api, hurried(naps))


@pytest.mark.parametrize("fault", [Fault("POST", "/pods", drop_after=True), Fault("POST", "/pods", drop_before=True)])
def test_a_post_whose_answer_is_lost_is_not_sent_again(tmp_path: Path, fault: Fault) -> None:
    async def test(api: FakeApi, client: Client) -> None:
        with pytest.raises(ApiError) as caught:
            await client.post(PODS, pod_json("p"))
        assert caught.value.is_ambiguous
        assert api.methods("/pods") == ["POST"]

    run(tmp_path, test, FakeApi(faults=[fault]))


def test_a_get_survives_resets_and_server_errors(tmp_path: Path) -> None:
    faults = [Fault("GET", "/p", 2, drop_before=True), Fault("GET", "/p", 1, Refusal(503, "ServiceUnavailable"))]

    async def test(api: FakeApi, client: Client) -> None:
        api.put(PODS, pod_json("p"))
        assert await client.get(f"{PODS}/p")

    run(tmp_path, test, FakeApi(faults=faults), hurried(Naps()))


def test_a_late_answer_is_an_ambiguous_error(tmp_path: Path) -> None:
    api = FakeApi(faults=[Fault("POST", "/pods", delay_seconds=0.5)])

    async def test(api: FakeApi, client: Client) -> None:
        with pytest.raises(ApiError) as caught:
            await client.request("POST", PODS, pod_json("p"), Options(timeout_seconds=0.05))
        assert caught.value.is_ambiguous
        assert "no answer in time" in str(caught.value)

    run(tmp_path, test, api)


def test_an_unreachable_server_is_asked_again_even_by_a_post(tmp_path: Path) -> None:
    naps = Naps()

    async def main() -> None:
        async with serving(FakeApi()) as api:
            config = kubeconfig(tmp_path, api.url)
        async with Client.connect(config, "test", hurried(naps)) as client:
            with pytest.raises(ApiError) as caught:
                await client.post(PODS, pod_json("p"))
        assert not caught.value.is_ambiguous
        assert len(naps.taken) == 4

    asyncio.run(main())


def test_more_than_a_hundred_calls_are_in_flight_at_once(tmp_path: Path) -> None:
    api = FakeApi(faults=[Fault("GET", "/p", times=150, delay_seconds=0.3)])

    async def test(api: FakeApi, client: Client) -> None:
        api.put(PODS, pod_json("p"))
        async with asyncio.timeout(2.0):  # one after the other they would need 45 s
            await asyncio.gather(*(client.get(f"{PODS}/p") for _ in range(150)))

    run(tmp_path, test, api)


def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")

    async def main() -> None:
        async with serving(FakeApi(token="old")) as api:
            api.put(PODS, pod_json("p"))
            config = kubeconfig(tmp_path, api.url, {"tokenFile": str(token)})
            async with Client.connect(config, "test") as client:
                await client.get(f"{PODS}/p")
                api.token = "new"
                token.write_text("new\n")
                await asyncio.gather(*(client.get(f"{PODS}/p") for _ in range(5)))
        assert len(api.calls) <= 1 + 2 * 5

    asyncio.run(main())


def test_a_token_that_stays_refused_is_an_error_after_one_call(tmp_path: Path) -> None:
    async def test(api: FakeApi, client: Client) -> None:
        with pytest.raises(ApiError, match="401 Unauthorized"):
            await client.get(f"{PODS}/p")
        assert len(api.calls) == 1

    run(tmp_path, test, FakeApi(token="another"))


def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    token, seconds = tmp_path / "token", [0.0]
    token.write_text("one")

    async def main() -> None:
        config = kubeconfig(tmp_path, "http://127.0.0.1:1", {"tokenFile": str(token)})
        loaded = await credentials.load(config, None, lambda: seconds[0])
        token.write_text("two")
        assert await loaded.authorization() == "Bearer one"
        seconds[0] = 60.0
        assert await loaded.authorization() == "Bearer two"
        token.unlink()
        seconds[0] = 120.0
        assert await loaded.authorization() == "Bearer two"

    asyncio.run(main())


@pytest.mark.parametrize("text", ["{", "apiVersion: v1", "contexts: 5\ncurrent-context: x\n", ""])
def test_an_unusable_kubeconfig_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(BadCredentials, match=r"^kubeconfig: "):
        asyncio.run(credentials.load(path, None, lambda: 0.0))


def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadCredentials, match=r"^kubeconfig: Not found: .*nowhere"):
        asyncio.run(credentials.load(tmp_path / "nowhere", None, lambda: 0.0))


def test_loopback_needs_no_proxy_whatever_the_environment_says(tmp_path: Path) -> None:
    old = dict(os.environ)
    os.environ.update(http_proxy="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9")
    try:
        near = asyncio.run(credentials.load(kubeconfig(tmp_path, "http://127.0.0.1:1"), None, lambda: 0.0)).proxy
        far = asyncio.run(credentials.load(kubeconfig(tmp_path, "https://api.example"), None, lambda: 0.0)).proxy
    finally:
        os.environ.clear()
        os.environ.update(old)
    assert (near, far) == (None, "http://127.0.0.1:9")


def test_times_are_written_as_the_api_server_reads_them() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 67, UTC)
    assert timing.rfc3339(moment) == "2026-01-02T03:04:05Z"
    assert timing.micro_time(moment) == "2026-01-02T03:04:05.000067Z"
    assert Timing().utc_now().tzinfo is UTC
