"""The real thing: gunicorn with TLS in a process of its own, under what happens to it in a cluster."""

import contextlib
import http.client
import json
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.webhook import certificates, server
from tests.webhook.build import MODEL, pod, review
from tests.webhook.server import Server

BODY = json.dumps(review(pod({MODEL: "A100"}))).encode()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests that do not stop it."""
    with server.running(tmp_path_factory.mktemp("server")) as running:
        yield running


class Load:
    """Clients that post over kept connections, every 10 ms, until told to end or asked to close."""

    def __init__(self, running: Server, clients: int) -> None:
        self._running = running
        self._ended = threading.Event()
        self.statuses: list[int] = []
        self.answered = dict.fromkeys(range(clients), 0)
        self.failures: list[Exception] = []
        self.asked_to_close = 0
        self._threads = [threading.Thread(target=self._post, args=(number,)) for number in range(clients)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(timeout=20)

    def _post(self, number: int) -> None:
        client = self._running.client()
        try:
            while not self._ended.is_set() and self._posted(client):
                self.answered[number] += 1
                time.sleep(0.01)
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(error)
        finally:
            client.close()

    def _posted(self, client: http.client.HTTPSConnection) -> bool:
        client.request("POST", "/mutate", BODY)
        response = client.getresponse()
        response.read()
        self.statuses.append(response.status)
        closes = response.getheader("Connection") == "close"
        self.asked_to_close += closes
        return not closes


def eventually(condition: Callable[[], Any], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_review_is_answered_over_tls_and_counted_over_all_workers(shared: Server) -> None:
    for _ in range(8):
        with contextlib.closing(shared.client()) as client:
            status, answer = server.post(client, "/mutate", BODY)
            assert (status, answer["response"]["allowed"]) == (200, True)

    text = shared.probe("/metrics")[1]
    counted = [line for line in text.splitlines() if 'reason="mutated"' in line and "requests_total" in line]
    assert float(counted[0].split()[-1]) >= 8


def test_probes_are_answered_on_the_plain_port_and_over_tls(shared: Server) -> None:
    assert eventually(lambda: shared.probe("/readyz") == (200, "ok\n"))
    assert shared.probe("/healthz") == (200, "ok\n")
    with contextlib.closing(shared.client()) as client:
        client.request("GET", "/readyz")
        assert client.getresponse().status == 200


def test_connection_is_kept_after_a_body_that_is_too_large(shared: Server) -> None:
    with contextlib.closing(shared.client()) as client:
        assert server.post(client, "/mutate", b" " * ((7 << 20) + 1))[0] == 413
        assert server.post(client, "/mutate", BODY)[0] == 200


def test_body_in_chunks_is_read_and_bounded_too(shared: Server) -> None:
    chunk = b" " * (1 << 20)
    with contextlib.closing(shared.client()) as client:
        for chunks, status in (([BODY[:99], BODY[99:]], 200), ([chunk] * 8, 413)):
            client.request("POST", "/mutate", iter(chunks), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
            response = client.getresponse()
            response.read()
            assert response.status == status


def test_swapped_certificate_is_served_under_load_without_a_failed_request(shared: Server) -> None:
    before = shared.presented()
    with Load(shared, clients=4) as load:
        for swaps in range(1, 4):
            certificates.publish(shared.tls, *certificates.issue())
            assert eventually(lambda: min(load.answered.values()) > 5 * swaps)  # noqa: B023 -- called at once
        after = shared.presented()

    assert after != before
    assert load.failures == []
    assert set(load.statuses) == {200}


def test_torn_pair_keeps_the_old_one_and_is_not_ready(shared: Server) -> None:
    good, other = certificates.issue(), certificates.issue()
    certificates.publish(shared.tls, *good)

    certificates.publish(shared.tls, other[0], good[1])

    assert shared.presented() not in (b"", ssl.PEM_cert_to_DER_cert(other[0].decode()))
    assert shared.probe("/readyz")[0] == 503
    assert eventually(lambda: 'errors_total{stage="certificate"}' in shared.probe("/metrics")[1])
    certificates.publish(shared.tls, *good)
    assert eventually(lambda: shared.probe("/readyz")[0] == 200)


@pytest.mark.parametrize("first_bytes", [b"", b"\x16", b"GET / HTTP/1.1\r\n"])
def test_silent_clients_do_not_block(shared: Server, first_bytes: bytes) -> None:
    with contextlib.ExitStack() as silent:
        for _ in range(8):
            stranger = silent.enter_context(socket.create_connection(("127.0.0.1", shared.port)))
            stranger.sendall(first_bytes)
        time.sleep(0.2)
        started = time.monotonic()
        for _ in range(8):
            with contextlib.closing(shared.client()) as client:
                assert server.post(client, "/mutate", BODY)[0] == 200

        assert time.monotonic() - started < 4


def test_client_that_stops_within_its_handshake_is_dropped(shared: Server) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), timeout=10) as stranger:
        stranger.sendall(b"\x16")
        started = time.monotonic()
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""

        assert time.monotonic() - started < 8


def test_expired_certificate_turns_ready_into_503(tmp_path: Path) -> None:
    expired = certificates.issue(datetime.now(UTC) - timedelta(days=2), timedelta(days=1))
    with server.running(tmp_path, expired) as running:
        status, text = running.probe("/readyz")
        certificates.publish(running.tls, *certificates.issue())

        assert (status, text.startswith("the certificate expired at")) == (503, True)
        assert eventually(lambda: running.probe("/readyz")[0] == 200)


def test_sigterm_under_load_fails_no_request(tmp_path: Path) -> None:
    """After the preStop pause no new connections come; the kept ones are asked to close, each after an answer.

    Port checks, which connect and hang up, must not confuse gunicorn's count of connections.
    """
    with server.running(tmp_path) as running, Load(running, clients=4) as load:
        assert all(listens(running.port) for _ in range(20))
        assert eventually(lambda: all(answered > 5 for answered in load.answered.values()))
        running.process.send_signal(signal.SIGTERM)
        load.join()

        assert running.process.wait(timeout=15) == 0
    assert load.failures == []
    assert set(load.statuses) == {200}
    assert load.asked_to_close == 4


def test_process_of_the_probes_ends_with_the_server_even_when_it_is_killed(tmp_path: Path) -> None:
    with server.running(tmp_path) as running:
        running.process.kill()
        running.process.wait(timeout=5)

        assert eventually(lambda: not listens(running.probe_port))


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
