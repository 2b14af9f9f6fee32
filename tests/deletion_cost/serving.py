"""Real servers as processes of their own, in a process group of their own as in a container, and clients for them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.control_plane import waiting

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"


@dataclass(frozen=True, slots=True)
class Serving:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    endpoint_port: int
    log: Path

    def get(self, path: str, port: int | None = None) -> tuple[int, bytes]:
        """One request on a connection of its own."""
        client = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=10)
        with contextlib.closing(client):
            client.request("GET", path)
            response = client.getresponse()
            return response.status, response.read()

    def reading(self, port: int | None = None) -> dict[str, Any]:
        """What the endpoint says."""
        status, content = self.get("/deletion-cost", port)
        assert status == 200, content
        found: dict[str, Any] = json.loads(content)
        return found

    def until_reads(self, port: int | None = None, **expected: float) -> None:
        """Wait until the endpoint says this; a port of its own may have to be there first."""
        last: dict[str, Any] = {}

        def reads() -> bool:
            with contextlib.suppress(ConnectionError):
                last.update(self.reading(port))
            return expected.items() <= last.items()

        waiting.until(reads, f"endpoint says {expected}", 15)

    @contextlib.contextmanager
    def stream(self, path: str) -> Iterator[tuple[http.client.HTTPConnection, int]]:
        """A request that is being answered; its first line is the process that answers."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(client):
            client.request("GET", path)
            yield client, int(client.getresponse().readline())

    def stop(self) -> None:
        """End the server; its workers end with it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=40)


@contextlib.contextmanager
def running(
    folder: Path, command: Sequence[str | Path], environment: Mapping[str, str] | None = None, at: Path = ROOT
) -> Iterator[Serving]:
    """Run a command, in which {port} and {endpoint_port} stand for free ones, until the block ends."""
    port, endpoint_port = free_ports()
    words = [str(word).format(port=port, endpoint_port=endpoint_port) for word in command]
    given = {**os.environ, "ENDPOINT_PORT": str(endpoint_port), **(environment or {})}
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *words], stdout=out, stderr=out, cwd=at, env=given, start_new_session=True
        )
    serving = Serving(process, port, endpoint_port, log)
    try:
        waiting.until(lambda: _listens(serving), f"listening: {log}", 30)
        yield serving
    finally:
        if process.poll() is None:
            serving.stop()


def free_ports() -> tuple[int, int]:
    """Two ports that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        return first.getsockname()[1], second.getsockname()[1]


def gunicorn(*options: str, application: str = "tests.deletion_cost.held_wsgi:app") -> list[str]:
    """The command of a gunicorn with four workers."""
    fixed = ["-m", "gunicorn", "--workers=4", "--bind=127.0.0.1:{port}", "--graceful-timeout=1"]
    return [*fixed, *options, application]


def uvicorn(*options: str, application: str = "tests.deletion_cost.held_asgi:app") -> list[str]:
    """The command of a uvicorn."""
    fixed = ["-m", "uvicorn", "--host=127.0.0.1", "--port={port}", "--timeout-graceful-shutdown=1"]
    return [*fixed, *options, application]


def _listens(serving: Serving) -> bool:
    assert serving.process.poll() is None, serving.log.read_text()
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", serving.port), timeout=1):
        return True
    return False
