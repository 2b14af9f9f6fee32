"""A WSGI application whose requests last until a file appears. Served by a real gunicorn in test_gunicorn."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from deletion_cost import ConnectionTracker
from deletion_cost.wsgi import Environ, StartResponse

RELEASE = Path(os.environ["RELEASE_FILE"])
FILE = Path(__file__)

tracker = ConnectionTracker()


def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Answer by path."""
    path = environ["PATH_INFO"]
    if path == "/raise":
        raise KeyError(path)
    start_response("500 Internal Server Error" if path == "/fail" else "200 OK", [("Content-Type", "text/plain")])
    if path == "/file":
        wrapped: Iterable[bytes] = environ["wsgi.file_wrapper"](FILE.open("rb"))
        return wrapped
    return _held() if path == "/hold" else _endless() if path == "/endless" else [b"%d\n" % os.getpid()]


def _held() -> Iterator[bytes]:
    yield f"{os.getpid()}\n".encode()
    while not RELEASE.exists():
        time.sleep(0.01)


def _endless() -> Iterator[bytes]:
    """Goes on until the client has gone, as a write then tells."""
    yield f"{os.getpid()}\n".encode()
    while True:
        time.sleep(0.01)
        yield b"x" * 65536


app = tracker.wsgi(application)
tracker.serve(int(os.environ["ENDPOINT_PORT"]), "127.0.0.1")
