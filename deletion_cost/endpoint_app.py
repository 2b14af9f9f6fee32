"""What an application answers to `GET /deletion-cost`, and a small server of its own for those without a middleware.

Part of the library that applications import: standard library only, the server's parts only when it starts.
"""

import errno
import json
import logging
import socket
import threading
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from deletion_cost.background import Background, Leadership
from deletion_cost.sample import Sample
from deletion_cost.tracker import PATH, ConnectionTracker

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler, HTTPServer

METHODS = ("GET", "HEAD")
_log = logging.getLogger("deletion_cost")
_RETRY_SECONDS = 1.0
_POLL_SECONDS = 0.5
_CLIENT_SECONDS = 5.0


def body(sample: Sample) -> bytes:
    """The reading as JSON; what is not known is left out."""
    told = {name: value for name, value in asdict(sample).items() if value is not None}
    return json.dumps(told, allow_nan=False).encode() + b"\n"


def headers(content: bytes) -> list[tuple[str, str]]:
    """The headers of an answer."""
    return [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(content))),
        ("Cache-Control", "no-store"),
    ]


class EndpointServer:
    """Serves the reading on a port of its own. Of a prefork server's processes one does, the next when it ends."""

    def __init__(self, tracker: ConnectionTracker, port: int, host: str = "") -> None:
        self._tracker, self._host, self._port = tracker, host, port
        self._leadership = Leadership(tracker, f"endpoint-{port}")
        self._server: HTTPServer | None = None
        self._is_told = False
        self._background = Background("deletion-cost-endpoint", self._work, self._release)

    def start(self) -> None:
        """Begin in the background; forked children stand by on their own."""
        self._background.start()

    def stop(self) -> None:
        """Close the port and wait until it is closed."""
        self._background.stop()

    @property
    def port(self) -> int | None:
        """The port that this process serves; None while another one does."""
        return self._server.server_address[1] if self._server is not None else None

    def _work(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if self._leadership.take() and self._bind():
                self._serve(stop)
            stop.wait(_RETRY_SECONDS)

    def _serve(self, stop: threading.Event) -> None:
        server = self._server
        assert server is not None
        with server:
            while not stop.is_set():
                server.handle_request()
        self._release()

    def _bind(self) -> bool:
        try:
            with self._tracker.lock:
                self._server = _server(self._tracker, self._host, self._port)
        except OSError as error:
            if not self._is_told:
                _log.warning("endpoint not served yet port=%d error=%s", self._port, error)
            self._is_told = True
            return False
        self._is_told = False
        return True

    def _release(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.socket.close()
        self._leadership.release()


def _handler(tracker: ConnectionTracker) -> "type[BaseHTTPRequestHandler]":
    from http.server import BaseHTTPRequestHandler

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "deletion-cost", ""
        timeout = _CLIENT_SECONDS

        def do_GET(self) -> None:
            found = self.path.partition("?")[0] == PATH
            content = body(tracker.reading()) if found else b"{}\n"
            self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
            for name, value in headers(content):
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: it is asked every few seconds."""

    return Handler


def _server(tracker: ConnectionTracker, host: str, port: int) -> "HTTPServer":
    from http.server import ThreadingHTTPServer

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        timeout = _POLL_SECONDS

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Leave clients that break off alone."""

    # Bound here: the class itself would look its own name up, which may take seconds in a pod.
    listening = _listen(host, port)
    server = Server((host, port), _handler(tracker), bind_and_activate=False)
    server.socket.close()
    server.socket, server.server_address = listening, listening.getsockname()
    return server


def _listen(host: str, port: int) -> socket.socket:
    """Listen for IPv6 and IPv4 at once, where both are there: a pod's address may be either."""
    if host:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
    return socket.create_server(("", port))
