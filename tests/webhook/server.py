"""The real webhook under gunicorn with TLS, as a process of its own, and a client that keeps its connection."""

import contextlib
import http.client
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.webhook import certificates

_COMMAND = "import sys; from cli.main import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    probe_port: int
    tls: Path
    log: Path

    def client(self) -> http.client.HTTPSConnection:
        """Open a connection that trusts any certificate, as swaps are what is tested."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)

    def presented(self) -> bytes:
        """Return the certificate that a new connection is shown, as DER."""
        client = self.client()
        client.connect()
        with contextlib.closing(client):
            assert isinstance(client.sock, ssl.SSLSocket)
            return client.sock.getpeercert(binary_form=True) or b""

    def probe(self, path: str) -> tuple[int, str]:
        """Ask the plain port."""
        client = http.client.HTTPConnection("127.0.0.1", self.probe_port, timeout=10)
        with contextlib.closing(client):
            client.request("GET", path)
            response = client.getresponse()
            return response.status, response.read().decode()

    def stop(self) -> int:
        """Send SIGTERM and wait."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=40)


def post(client: http.client.HTTPConnection, path: str, body: Mapping[str, Any] | bytes) -> tuple[int, Any]:
    """Post one review over a kept connection; return status and parsed answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    client.request("POST", path, data, {"Content-Type": "application/json"})
    response = client.getresponse()
    text = response.read()
    is_json = response.headers.get_content_type() == "application/json"
    return response.status, json.loads(text) if is_json else text.decode()


@contextlib.contextmanager
def running(folder: Path, pair: tuple[bytes, bytes] | None = None, config: str = "{}") -> Iterator[Server]:
    """Run a server until the block ends; it is live when the block begins, ready if its certificate is good."""
    (folder / "webhook.yaml").write_text(config)
    certificates.publish(folder / "tls", *(pair or certificates.issue()))
    port, probe_port = _free_ports()
    arguments = ["webhook", f"--config={folder / 'webhook.yaml'}", f"--tls-dir={folder / 'tls'}"]
    arguments += [f"--bind=127.0.0.1:{port}", f"--probe-bind=127.0.0.1:{probe_port}"]
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-c", _COMMAND, *arguments], stdout=out, stderr=out)
    server = Server(process, port, probe_port, folder / "tls", log)
    try:
        _wait_until_listening(server)
        yield server
    finally:
        if process.poll() is None:
            server.stop()


def _wait_until_listening(server: Server) -> None:
    deadline = time.monotonic() + 30
    for port in (server.probe_port, server.port):
        while not _listens(port):
            assert server.process.poll() is None, server.log.read_text()
            assert time.monotonic() < deadline, server.log.read_text()
            time.sleep(0.05)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        return first.getsockname()[1], second.getsockname()[1]
