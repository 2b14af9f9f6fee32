"""/healthz, /readyz and /metrics: as a blueprint for the webhook itself, and as a second, plain server for the kubelet.

The plain one is a process of its own, so that probes are answered when every worker is busy and TLS is broken.
"""

import os
import socket
import socketserver
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from cryptography import x509
from flask import Blueprint, Flask, Response

from webhook import tls
from webhook.metrics import CONTENT_TYPE, CertificateExpiry, Metrics

HANDSHAKE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether requests would be answered: the pair on disk is good, and so is what a handshake with ourselves shows."""

    directory: Path
    address: tuple[str, int]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def problem(self) -> str | None:
        """Say why we are not ready; None when we are."""
        try:
            on_disk = tls.load(self.directory)[0].leaf()
        except (OSError, ValueError) as error:
            return f"the key pair does not load: {error}"
        if problem := self._judged(on_disk, "the certificate"):
            return problem
        try:
            served = self._handshake()
        except (OSError, ValueError) as error:
            return f"no TLS handshake with ourselves: {error}"
        return self._judged(served, "the certificate that is served")

    def not_after(self) -> float:
        """Return the end of the life of the certificate on disk, as a Unix time."""
        return tls.not_after(self.directory)

    def _judged(self, certificate: x509.Certificate, name: str) -> str | None:
        begin, end = tls.lifetime(certificate)
        if self.now() < begin:
            return f"{name} is not valid before {begin.isoformat()}"
        return f"{name} expired at {end.isoformat()}" if self.now() >= end else None

    def _handshake(self) -> x509.Certificate:
        # Which certificate is presented matters here, not who signed it: the API server judges that.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with (
            socket.create_connection(self.address, timeout=HANDSHAKE_SECONDS) as plain,
            context.wrap_socket(plain) as secured,
        ):
            presented = secured.getpeercert(binary_form=True)
        if presented is None:
            raise ValueError("no certificate was presented")
        return x509.load_der_x509_certificate(presented)


def blueprint(metrics: Metrics, readiness: Readiness | None) -> Blueprint:
    """Return the three paths; without a readiness (no TLS, as in tests and the demo) we are ready."""
    probes = Blueprint("probes", __name__)

    @probes.get("/healthz")
    def healthz() -> Response:
        return Response("ok\n", content_type="text/plain; charset=utf-8")

    @probes.get("/readyz")
    def readyz() -> Response:
        problem = readiness.problem() if readiness else None
        return Response(f"{problem or 'ok'}\n", 503 if problem else 200, content_type="text/plain; charset=utf-8")

    @probes.get("/metrics")
    def exposition() -> Response:
        extra = [CertificateExpiry(readiness.not_after)] if readiness else []
        return Response(metrics.exposition(*extra), content_type=CONTENT_TYPE)

    return probes


def create_probe_app(metrics: Metrics, readiness: Readiness) -> Flask:
    """Return the application of the plain port."""
    app = Flask("webhook.probes", static_folder=None)
    app.register_blueprint(blueprint(metrics, readiness))
    return app


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    """A small threaded HTTP server on a socket that is bound already; ends when its parent does."""

    daemon_threads = True

    def __init__(self, listener: socket.socket) -> None:
        self._parent = os.getppid()
        address = listener.getsockname()
        super().__init__(address[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.server_name, self.server_port = address[0], address[1]
        self.setup_environ()

    def service_actions(self) -> None:
        """Notice, twice a second, that the server we speak for is gone."""
        if os.getppid() != self._parent:
            os._exit(0)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A prober that hangs up is no event."""


class _Handler(WSGIRequestHandler):
    timeout = 5  # seconds that a silent client may hold a thread

    def log_message(self, format: str, *args: Any) -> None:
        """Probes are not logged."""


def serve(listener: socket.socket, app: Flask) -> None:
    """Answer probes until the process is told to end."""
    server = _Server(listener)
    server.set_app(app)
    server.serve_forever()
