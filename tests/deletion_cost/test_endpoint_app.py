"""The endpoint on a port of its own: small, hard to block, and served by one process at a time."""

from __future__ import annotations

import http.client
import json
import logging
import math
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deletion_cost import ConnectionTracker, endpoint_app
from deletion_cost.endpoint_app import EndpointServer
from deletion_cost.sample import Sample
from deletion_cost.sources import reading
from tests.control_plane import waiting
from tests.deletion_cost.serving import free_ports

number = st.none() | st.floats(0, 1e308) | st.integers(0, 2**53)  # beyond that a reader's float is another number


@contextmanager
def serving(tracker: ConnectionTracker, port: int, host: str = "") -> Iterator[EndpointServer]:
    server = tracker.serve(port, host)
    waiting.until(lambda: server.port == port, "port served")
    try:
        yield server
    finally:
        server.stop()


def ask(port: int, path: str = "/deletion-cost", method: str = "GET", host: str = "127.0.0.1") -> tuple[int, bytes]:
    client = http.client.HTTPConnection(host, port, timeout=10)
    with closing(client):
        client.request(method, path)
        response = client.getresponse()
        return response.status, response.read()


@given(st.tuples(number, number, st.none() | st.floats(0, 1), number, number, number))
def test_the_body_is_json_without_what_is_not_known(values: tuple[float | None, ...]) -> None:
    sample = Sample(*values)
    told = json.loads(endpoint_app.body(sample), parse_constant=pytest.fail)
    assert told == {name: value for name in Sample.__slots__ if (value := getattr(sample, name)) is not None}


@given(st.tuples(number, number, st.none() | st.floats(0, 1), number, number))
def test_the_controller_reads_what_the_library_says(values: tuple[float | None, ...]) -> None:
    active, connections, rate, mean, served = values
    sample = Sample(active, connections, rate, mean, served=served)
    if sample == Sample():
        assert reading.read(endpoint_app.body(sample)) == reading.read(b"{}")
    else:
        assert reading.read(endpoint_app.body(sample)) == sample


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_number_that_is_none_never_leaves(wrong: float) -> None:
    with pytest.raises(ValueError):
        endpoint_app.body(Sample(active_requests=wrong))


def test_it_answers_its_path_and_no_other() -> None:
    port, _ = free_ports()
    tracker = ConnectionTracker(shared=False)
    with serving(tracker, port), tracker.request():
        assert json.loads(ask(port)[1])["active_requests"] == 1
        assert ask(port, "/deletion-cost?x=1")[0] == 200
        assert ask(port, "/")[0] == 404
        assert ask(port, method="HEAD") == (200, b"")
        assert ask(port, method="POST")[0] == 501


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_it_listens_for_both_kinds_of_addresses() -> None:
    """A pod's address may be of either."""
    port, _ = free_ports()
    with serving(ConnectionTracker(shared=False), port):
        assert ask(port, host="127.0.0.1")[0] == ask(port, host="::1")[0] == 200


def test_it_listens_on_one_address_if_told_to() -> None:
    port, _ = free_ports()
    with serving(ConnectionTracker(shared=False), port, "127.0.0.1"):
        assert ask(port)[0] == 200
        with pytest.raises(ConnectionRefusedError):
            ask(port, host="127.0.0.2")


def test_a_client_that_says_nothing_blocks_nobody_and_is_left() -> None:
    port, _ = free_ports()
    with serving(ConnectionTracker(shared=False), port):
        silent = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(20)]
        began = time.monotonic()
        assert ask(port)[0] == 200
        assert time.monotonic() - began < 4
        assert [client.recv(1) for client in silent] == [b""] * 20
        for client in silent:
            client.close()


def test_a_connection_is_kept() -> None:
    port, _ = free_ports()
    with serving(ConnectionTracker(shared=False), port):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for _ in range(3):
            client.request("GET", "/deletion-cost")
            assert client.getresponse().read()
        client.close()


def test_a_port_that_is_taken_is_told_once_and_taken_when_free(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("", 0)) as other:
        port = other.getsockname()[1]
        server = ConnectionTracker(shared=False).serve(port)
        waiting.until(lambda: "endpoint not served yet" in caplog.text, "warning")
        time.sleep(1.5)
    waiting.until(lambda: server.port == port, "port served")
    assert ask(port)[0] == 200
    server.stop()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_one_of_many_serves_and_the_next_takes_over(tmp_path: Path) -> None:
    port, _ = free_ports()
    trackers = [ConnectionTracker(shared=tmp_path / "shared") for _ in range(3)]
    servers = [tracker.serve(port) for tracker in trackers]
    for _ in servers:
        waiting.until(lambda: any(server.port for server in servers), "somebody serves")
        [serves] = [server for server in servers if server.port]
        assert ask(port)[0] == 200
        serves.stop()
        servers.remove(serves)
        assert serves.port is None
    for tracker in trackers:
        tracker.close()


def test_a_stopped_one_frees_its_port() -> None:
    port, _ = free_ports()
    for _ in range(2):
        with serving(ConnectionTracker(shared=False), port):
            assert ask(port)[0] == 200
    with pytest.raises(ConnectionRefusedError):
        ask(port)
