"""A TLS server in the webhook's place that allows everything and remembers what reached it."""

from __future__ import annotations

import json
import random
import ssl
import tempfile
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.control_plane.pki import Authority, Pair

PORT = 8443  # what the configurations name; the address is ours to choose
HOST = "gpu-scheduler-webhook.gpu-scheduler.svc"


@dataclass(frozen=True, slots=True)
class Call:
    """One admission request as it arrived."""

    path: str
    kind: str
    operation: str
    name: str
    user: str


class Echo:
    """Listens on a loopback address of its own, so that several run side by side on the one port."""

    def __init__(self) -> None:
        authority = Authority.create("echo")
        self.ca = authority.pair().certificate
        self._calls: list[Call] = []
        self._server = _bind(self._handler())
        self._server.socket = _context(authority.issue("echo", hosts=[HOST])).wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def address(self) -> str:
        """The loopback address."""
        return str(self._server.server_address[0])

    def calls(self, name: str) -> list[Call]:
        """What was asked about objects whose name, or the base of a generated one, is this."""
        return [call for call in list(self._calls) if call.name == name]

    def all(self) -> list[Call]:
        """Everything so far, in order."""
        return list(self._calls)

    def paths(self, name: str) -> set[str]:
        """The paths that were called for an object."""
        return {call.path for call in self.calls(name)}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        calls = self._calls

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
                calls.append(_call(self.path.partition("?")[0], request))
                response = {"uid": request["uid"], "allowed": True}
                review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
                body = json.dumps(review).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing: pytest's output is for results."""

        return Handler


def _call(path: str, request: dict[str, Any]) -> Call:
    metadata = request["object"]["metadata"]
    name = metadata.get("generateName") or metadata.get("name", "")
    return Call(path, request["kind"]["kind"], request["operation"], name, request["userInfo"]["username"])


def _bind(handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    for _ in range(50):
        address = ".".join(map(str, (127, *random.SystemRandom().choices(range(1, 255), k=3))))
        try:
            return _Server((address, PORT), handler)
        except OSError:
            continue
    raise OSError(f"no loopback address has port {PORT} free")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # the API server keeps its connections open


def _context(pair: Pair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The ssl module takes a certificate from a file only.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pair.pem"
        file.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(file)
    return context
