"""Readiness: what makes the webhook say that it is not ready."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.webhook import certificates
from webhook import probes, tls
from webhook.metrics import Metrics
from webhook.probes import Readiness

NOW = datetime(2026, 6, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@contextlib.contextmanager
def handshaking(directory: Path, times: int) -> Iterator[tuple[str, int]]:
    """A server that shakes hands with what lies in a directory, so many times, and says no more."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(times):
            with contextlib.suppress(OSError), listener.accept()[0] as plain:
                tls.load(directory)[1].wrap_socket(plain, server_side=True).close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with contextlib.closing(listener):
        yield listener.getsockname()[:2]
    thread.join(timeout=5)


def publish(directory: Path, begin: datetime = NOW - HOUR, life: timedelta = 2 * HOUR) -> Path:
    certificates.publish(directory, *certificates.issue(begin, life))
    return directory


def test_good_pair_that_is_served_is_ready(tmp_path: Path) -> None:
    with handshaking(publish(tmp_path), 1) as address:
        assert Readiness(tmp_path, address, lambda: NOW).problem() is None


@pytest.mark.parametrize(("begin", "problem"), [(NOW - 2 * HOUR, "expired at"), (NOW + HOUR, "is not valid before")])
def test_certificate_outside_its_life_is_not_ready(tmp_path: Path, begin: datetime, problem: str) -> None:
    readiness = Readiness(publish(tmp_path, begin), ("127.0.0.1", 1), lambda: NOW)

    assert f"the certificate {problem}" in str(readiness.problem())


def test_served_certificate_counts_too(tmp_path: Path) -> None:
    publish(tmp_path / "new")
    with handshaking(publish(tmp_path / "old", NOW - 3 * HOUR), 1) as address:
        problem = Readiness(tmp_path / "new", address, lambda: NOW).problem()

    assert str(problem).startswith("the certificate that is served expired at")


def test_pair_that_does_not_match_is_not_ready(tmp_path: Path) -> None:
    certificates.publish(tmp_path, certificates.issue()[0], certificates.issue()[1])

    assert "the key pair does not load" in str(Readiness(tmp_path, ("127.0.0.1", 1)).problem())


def test_missing_pair_is_not_ready(tmp_path: Path) -> None:
    assert "the key pair does not load" in str(Readiness(tmp_path, ("127.0.0.1", 1)).problem())


def test_nobody_listening_is_not_ready(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = closed.getsockname()[:2]

    assert "no TLS handshake with ourselves" in str(Readiness(publish(tmp_path), address, lambda: NOW).problem())


def test_plain_server_answers_503_with_the_reason_and_stays_alive(tmp_path: Path) -> None:
    browser = probes.create_probe_app(Metrics(), Readiness(tmp_path, ("127.0.0.1", 1))).test_client()

    assert browser.get("/readyz").status_code == 503
    assert "does not load" in browser.get("/readyz").text
    assert browser.get("/healthz").status_code == 200


def test_metrics_carry_the_end_of_the_certificates_life_while_there_is_one(tmp_path: Path) -> None:
    browser = probes.create_probe_app(Metrics(), Readiness(tmp_path, ("127.0.0.1", 1))).test_client()

    assert "cert_expiry" not in browser.get("/metrics").text
    publish(tmp_path)

    samples = [line.split() for line in browser.get("/metrics").text.splitlines() if "cert_expiry" in line]

    assert float(samples[-1][1]) == (NOW + HOUR).timestamp()
