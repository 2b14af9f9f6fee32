"""The library under a real uvicorn: streams, WebSockets, clients that go, failures, several workers."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.deletion_cost import serving
from tests.deletion_cost.serving import Serving


@contextlib.contextmanager
def uvicorn(folder: Path, *options: str) -> Iterator[Serving]:
    environment = {"RELEASE_FILE": str(folder / "release")}
    with serving.running(folder, serving.uvicorn(*options), environment) as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One process."""
    with uvicorn(tmp_path_factory.mktemp("uvicorn")) as running:
        yield running


def test_lifespan_reaches_the_application(server: Serving) -> None:
    assert server.get("/")[1].endswith(b"started")


def test_load_from_many_clients_is_counted_exactly(server: Serving) -> None:
    """1,000 requests over 16 clients, some of which raise."""
    before = server.reading()["served"]
    with ThreadPoolExecutor(16) as pool:
        statuses = [status for status, _ in pool.map(server.get, ["/", "/", "/", "/raise"] * 250)]

    assert statuses.count(500) == 250
    server.until_reads(active_requests=0, served=before + 750)


def test_a_client_that_goes_in_the_middle_ends_its_request(server: Serving) -> None:
    with server.stream("/endless"), server.stream("/endless"):
        server.until_reads(active_requests=2)
    server.until_reads(active_requests=0)


def test_websockets_are_connections_until_either_side_ends_them(server: Serving) -> None:
    url = f"ws://127.0.0.1:{server.port}/"
    with connect(url) as one, connect(url) as other:
        one.send("hello")
        assert one.recv() == "hello"
        server.until_reads(connections=2, active_requests=0)
        other.socket.close()
        server.until_reads(connections=1)
    server.until_reads(connections=0)


def test_the_own_port_answers(server: Serving) -> None:
    server.until_reads(server.endpoint_port, active_requests=0)
    assert server.get("/other", server.endpoint_port)[0] == 404


def test_workers_are_summed_and_a_killed_one_counts_no_more(tmp_path: Path) -> None:
    with uvicorn(tmp_path, "--workers=2") as server, contextlib.ExitStack() as stack:
        held: list[int] = []
        while len(held) < 10 or len(set(held)) < 2:
            held.append(stack.enter_context(server.stream("/hold"))[1])
        assert {server.reading()["active_requests"] for _ in range(10)} == {len(held)}

        os.kill(held[0], signal.SIGKILL)
        server.until_reads(active_requests=len(held) - held.count(held[0]))
