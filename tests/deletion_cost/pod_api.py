"""A TLS server in the API server's place that answers a pod's own patches as a test says, and what it has mounted."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from deletion_cost.own_pod import OwnPod
from tests.control_plane.pki import Authority

CLAIMS = {"namespace": "team", "pod": {"name": "web-1", "uid": "uid-1"}, "serviceaccount": {"name": "web"}}


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it arrived."""

    path: str
    kind: str
    token: str
    body: Any


@dataclass(slots=True)
class Script:
    """What the next calls are answered with; after them always 200. A status of 0 closes the connection."""

    answers: list[tuple[int, dict[str, str], str]] = field(default_factory=list)
    seconds: float = 0.0

    def then(self, status: int, message: str = "no", **headers: str) -> None:
        """Answer one more call so."""
        self.answers.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, message))


class PodApi:
    """Serves on a port of its own until the block ends."""

    def __init__(self, folder: Path) -> None:
        self.calls: list[Call] = []
        self.script = Script()
        self.mount = folder / "serviceaccount"
        self.mount.mkdir()
        authority = Authority.create("cluster")
        (self.mount / "ca.crt").write_bytes(authority.pair().certificate)
        (self.mount / "namespace").write_text("team")
        self.token("first")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.socket = _context(authority).wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def token(self, signature: str, claims: Any = CLAIMS) -> str:
        """Mount another token; return it."""
        payload = base64.urlsafe_b64encode(json.dumps({"kubernetes.io": claims}).encode()).decode().rstrip("=")
        (self.mount / "token").write_text(f"e30.{payload}.{signature}")
        return f"e30.{payload}.{signature}"

    def environment(self, **more: str) -> dict[str, str]:
        """What a container's environment says of the API server."""
        return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port), **more}

    def pod(self, **more: str) -> OwnPod:
        """The pod as its processes find it."""
        return OwnPod.find(self.environment(**more), self.mount)

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_address[1]

    def costs(self) -> list[str]:
        """What was written, or tried to be."""
        return [
            call.body["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] for call in self.calls
        ]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(api: PodApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PATCH(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            api.calls.append(Call(self.path, self.headers["Content-Type"], self.headers["Authorization"], body))
            time.sleep(api.script.seconds)
            status, headers, message = api.script.answers.pop(0) if api.script.answers else (200, {}, "")
            if not status:
                self.close_connection = True
                return
            content = json.dumps({"kind": "Status", "message": message}).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler


def _context(authority: Authority) -> ssl.SSLContext:
    pair = authority.issue("api", hosts=["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The ssl module takes a certificate from a file only.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pair.pem"
        file.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(file)
    return context
