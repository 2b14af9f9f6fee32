"""The WSGI middleware: a request counts until its body is sent or given up, however it goes.

Real servers: test_gunicorn.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.util import FileWrapper, setup_testing_defaults
from wsgiref.validate import validator

import pytest

from deletion_cost import ConnectionTracker
from deletion_cost.wsgi import Application, Environ, StartResponse

Chunks = Callable[[], Iterable[bytes]]


@pytest.fixture
def tracker() -> ConnectionTracker:
    return ConnectionTracker(shared=False)


class Answer:
    """One request, with its body as the server has it before it sends anything."""

    def __init__(self, application: Application, path: str = "/", method: str = "GET") -> None:
        environ: Environ = {
            "PATH_INFO": path,
            "SCRIPT_NAME": "",
            "QUERY_STRING": "",
            "REQUEST_METHOD": method,
            "wsgi.file_wrapper": FileWrapper,
        }
        setup_testing_defaults(environ)
        self.status, self.headers = "", dict[str, str]()
        self.body: Any = application(environ, self._start)

    def _start(self, status: str, headers: list[tuple[str, str]], *_: Any) -> Callable[[bytes], object]:
        self.status, self.headers = status, dict(headers)
        return io.BytesIO().write


def answering(chunks: Chunks, status: str = "200 OK") -> Application:
    def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        start_response(status, [("Content-Type", "text/plain")])
        return chunks()

    return application


def counts(tracker: ConnectionTracker) -> tuple[float | None, float | None]:
    reading = tracker.reading()
    return reading.active_requests, reading.served


def test_a_request_counts_until_its_body_is_sent(tracker: ConnectionTracker) -> None:
    answer = Answer(tracker.wsgi(answering(lambda: [b"a", b"b"])))
    seen = [(chunk, counts(tracker)) for chunk in answer.body]
    assert seen == [(b"a", (1, 0)), (b"b", (1, 0))]
    assert counts(tracker) == (0, 1)
    answer.body.close()
    assert counts(tracker) == (0, 1)


def test_a_client_that_goes_ends_its_request(tracker: ConnectionTracker) -> None:
    """The server closes a body that it has not read to its end; so is the application's own generator."""
    ended = []

    def endless() -> Iterator[bytes]:
        try:
            while True:
                yield b"x"
        finally:
            ended.append(True)

    answer = Answer(tracker.wsgi(answering(endless)))
    next(answer.body)
    answer.body.close()
    assert (counts(tracker), ended) == ((0, 1), [True])


def test_an_application_that_raises_has_served_nothing(tracker: ConnectionTracker) -> None:
    def application(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        raise KeyError("x")

    with pytest.raises(KeyError):
        Answer(tracker.wsgi(application))
    assert counts(tracker) == (0, 0)


def test_a_body_that_raises_has_served_nothing(tracker: ConnectionTracker) -> None:
    def broken() -> Iterator[bytes]:
        yield b"x"
        raise KeyError("x")

    answer = Answer(tracker.wsgi(answering(broken)))
    with pytest.raises(KeyError):
        list(answer.body)
    answer.body.close()
    assert counts(tracker) == (0, 0)


def test_a_close_that_raises_ends_the_request_all_the_same(tracker: ConnectionTracker) -> None:
    class Broken(list[bytes]):
        def close(self) -> None:
            raise KeyError("x")

    answer = Answer(tracker.wsgi(answering(Broken)))
    with pytest.raises(KeyError):
        answer.body.close()
    assert counts(tracker)[0] == 0


def test_server_errors_are_not_served(tracker: ConnectionTracker) -> None:
    list(Answer(tracker.wsgi(answering(lambda: [b"x"], "503 Service Unavailable"))).body)
    list(Answer(tracker.wsgi(answering(lambda: [b"x"], "404 Not Found"))).body)
    assert counts(tracker) == (0, 1)


def test_a_file_is_left_to_the_server_and_counted(tracker: ConnectionTracker) -> None:
    """It stays the server's own wrapper, so that it can be sent without reading it."""
    file = io.BytesIO(b"content")
    answer = Answer(tracker.wsgi(answering(lambda: FileWrapper(file))))
    assert isinstance(answer.body, FileWrapper)
    assert counts(tracker) == (1, 0)
    answer.body.close()
    assert (counts(tracker), file.closed) == ((0, 1), True)


def test_the_endpoint_is_json_and_counts_nothing(tracker: ConnectionTracker) -> None:
    held = Answer(tracker.wsgi(answering(lambda: [b"x"])))
    answer = Answer(tracker.wsgi(answering(lambda: [b"x"])), "/deletion-cost")
    content = b"".join(answer.body)
    assert json.loads(content) == {"active_requests": 1, "connections": 0, "served": 0}
    assert (answer.headers["Content-Type"], answer.headers["Content-Length"]) == ("application/json", str(len(content)))
    held.body.close()


def test_the_endpoint_is_for_reading(tracker: ConnectionTracker) -> None:
    middleware = tracker.wsgi(answering(lambda: [b"x"]))
    head, post = (Answer(middleware, "/deletion-cost", method) for method in ("HEAD", "POST"))
    assert (head.status, b"".join(head.body)) == ("200 OK", b"")
    assert (post.status, post.headers["Allow"]) == ("405 Method Not Allowed", "GET, HEAD")


def test_without_a_path_the_application_has_it(tracker: ConnectionTracker) -> None:
    answer = Answer(tracker.wsgi(answering(lambda: [b"mine"]), path=None), "/deletion-cost")
    assert b"".join(answer.body) == b"mine"


@pytest.mark.parametrize("path", ["/", "/deletion-cost"])
def test_it_is_wsgi_to_both_sides(tracker: ConnectionTracker, path: str) -> None:
    """Python's own validator before and behind it finds nothing."""
    application = validator(tracker.wsgi(validator(answering(lambda: [b"x"]))))
    answer = Answer(application, path)
    assert b"".join(answer.body)
    answer.body.close()
