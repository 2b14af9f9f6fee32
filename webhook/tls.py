"""The serving key pair: read without tearing, reloaded when its files change, kept when the new ones do not load.

Also bounds how long a silent or slow client can hold one of the server's threads.
"""

import contextlib
import errno
import os
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

HANDSHAKE_SECONDS = 5.0
# From a request's first byte to its last; the API server gives up on us after 3 s.
REQUEST_SECONDS = 10.0
# How long a connection that we end is kept for what may still arrive, so that the last answer is not cut by a reset.
LINGER_SECONDS = 0.2
# How often files that do not load are tried again while nothing changes about them.
RETRY_SECONDS = 1.0

Identity = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """Where certificate and key lie, both under one resolved directory."""

    certificate: Path
    key: Path

    @classmethod
    def locate(cls, directory: Path) -> "Pair":
        """Resolve the directory once: the kubelet swaps all files of a Secret with one symlink, `..data`."""
        data = directory / "..data"
        resolved = Path(os.path.realpath(data if data.exists() else directory))
        return cls(resolved / "tls.crt", resolved / "tls.key")

    def identity(self) -> tuple[Identity, Identity]:
        """Tell this pair from any other that ever lay here."""
        return _identity(self.certificate), _identity(self.key)

    def context(self) -> ssl.SSLContext:
        """Load into a server context; raises where the files are missing, malformed or no pair."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key, password=_refuse_encrypted)
        context.set_alpn_protocols(["http/1.1"])
        context.sslsocket_class = BoundedSocket
        return context

    def leaf(self) -> x509.Certificate:
        """Read the certificate that is presented."""
        return x509.load_pem_x509_certificate(self.certificate.read_bytes())


def load(directory: Path) -> tuple[Pair, ssl.SSLContext]:
    """Load the pair; once more where the first try met a swap in the middle."""
    try:
        pair = Pair.locate(directory)
        return pair, pair.context()
    except (OSError, ValueError):
        pair = Pair.locate(directory)
        return pair, pair.context()


def lifetime(certificate: x509.Certificate) -> tuple[datetime, datetime]:
    """Return from when to when a certificate is valid."""
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def not_after(directory: Path) -> float:
    """Return the end of the certificate's life as a Unix time."""
    return lifetime(Pair.locate(directory).leaf())[1].astimezone(UTC).timestamp()


class Reloading:
    """The context of the newest pair that ever loaded; one per worker process, shared by its threads."""

    def __init__(self, directory: Path, failed: Callable[[Exception], None], clock: Callable[[], float]) -> None:
        self._directory = directory
        self._failed = failed
        self._clock = clock
        self._lock = threading.Lock()
        self._served: tuple[tuple[Identity, Identity], ssl.SSLContext] | None = None
        self._retry_at = 0.0

    def context(self) -> ssl.SSLContext:
        """Return the context to serve the next connection with; raises only before any pair has loaded."""
        served = self._served
        if served and self._is_current(served[0]):
            return served[1]
        with self._lock:
            return self._reloaded()

    def _is_current(self, identity: tuple[Identity, Identity]) -> bool:
        with contextlib.suppress(OSError):
            return Pair.locate(self._directory).identity() == identity
        return False

    def _reloaded(self) -> ssl.SSLContext:
        served = self._served
        if served and (self._clock() < self._retry_at or self._is_current(served[0])):
            return served[1]
        try:
            identity = Pair.locate(self._directory).identity()
            self._served = identity, load(self._directory)[1]
        except (OSError, ValueError) as error:
            self._retry_at = self._clock() + RETRY_SECONDS
            self._failed(error)
            if served is None:
                raise
            return served[1]
        return self._served[1]


class BoundedSocket(ssl.SSLSocket):
    """A server's TLS connection that a client can hold neither before nor within a request.

    gunicorn bounds only the wait for a first byte; a client that sends one and no more would keep a thread for ever.
    """

    _deadline: float | None = None
    _is_greeted = False

    def do_handshake(self, block: bool = False) -> None:
        """Shake hands within a deadline; a client that does not is treated as one that hung up."""
        self.settimeout(HANDSHAKE_SECONDS)
        try:
            super().do_handshake(block)
        except TimeoutError as error:
            raise ConnectionResetError(errno.ECONNRESET, "no TLS handshake in time") from error
        self._is_greeted = True
        self.setblocking(True)

    def setblocking(self, flag: bool) -> None:
        """Start a request's deadline: gunicorn calls this before it reads one, and to go back to polling."""
        # gunicorn counts a connection twice as gone when this raises, as it would after a client hung up within the
        # handshake (a port check does); at SIGTERM it would then cut one that it owes an answer.
        if self.fileno() < 0:
            return
        self._deadline = time.monotonic() + REQUEST_SECONDS if flag else None
        self.settimeout(REQUEST_SECONDS if flag else 0.0)

    def shutdown(self, how: int) -> None:
        """Bound the wait for the client's end, too: gunicorn waits for it in the loop that serves all the others."""
        super().shutdown(how)
        self._deadline = time.monotonic() + (LINGER_SECONDS if self._is_greeted else 0.0)

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Read within what is left of the request's deadline, or within a shorter timeout of the caller's."""
        limit = self.gettimeout()
        if self._deadline is None or limit is None:
            return super().recv(buflen, flags)
        self.settimeout(max(min(limit, self._deadline - time.monotonic()), 0.001))
        try:
            return super().recv(buflen, flags)
        except TimeoutError as error:
            raise ConnectionResetError(errno.ECONNRESET, "the request did not arrive in time") from error
        finally:
            self.settimeout(limit)


def _refuse_encrypted() -> str:
    raise ValueError("the key is encrypted")  # instead of OpenSSL asking on a terminal


def _identity(path: Path) -> Identity:
    found = path.stat()
    return str(path), found.st_ino, found.st_mtime_ns, found.st_size
