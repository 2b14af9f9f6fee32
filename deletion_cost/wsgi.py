"""WSGI middleware: counts each request until its body is sent or given up, and answers `GET /deletion-cost`.

Part of the library that applications import: standard library only.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from deletion_cost import endpoint_app
from deletion_cost.tracker import PATH, ConnectionTracker, Span

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


class WsgiMiddleware:
    """Wraps an application; `path` None leaves the endpoint to a server of its own."""

    def __init__(self, application: Application, tracker: ConnectionTracker, path: str | None = PATH):
        self._application, self._tracker, self._path = application, tracker, path

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        if self._path is not None and environ.get("PATH_INFO") == self._path:
            return self._answer(environ, start_response)
        span = self._tracker.request().begin()
        try:
            body = self._application(environ, _watching(span, start_response))
        except BaseException:
            span.failed()
            span.end()
            raise
        return _counted(body, span, environ.get("wsgi.file_wrapper"))

    def _answer(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        method = environ.get("REQUEST_METHOD")
        if method not in endpoint_app.METHODS:
            start_response("405 Method Not Allowed", [("Allow", ", ".join(endpoint_app.METHODS))])
            return []
        content = endpoint_app.body(self._tracker.reading())
        start_response("200 OK", endpoint_app.headers(content))
        return [] if method == "HEAD" else [content]


class _Body:
    """The body as the application gives it; the request ends with it or with `close`, which every server calls."""

    def __init__(self, body: Iterable[bytes], span: Span) -> None:
        self._body, self._span = body, span
        self._chunks: Iterator[bytes] | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            if self._chunks is None:
                self._chunks = iter(self._body)
            chunk = next(self._chunks)
        except StopIteration:
            self._span.end()
            raise
        except BaseException:
            self._span.failed()
            raise
        if chunk:
            self._span.answered()
        return chunk

    def close(self) -> None:
        """Pass the server's call on, whatever comes of it."""
        _ending(self._span, getattr(self._body, "close", None))()


def _watching(span: Span, start_response: StartResponse) -> StartResponse:
    def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
        if status.startswith("5"):
            span.failed()
        return start_response(status, headers, *error)

    return start


def _counted(body: Iterable[bytes], span: Span, file_wrapper: Any) -> Iterable[bytes]:
    """Wrap the body, but not a file that the server would send by itself: that one gets another `close`."""
    if isinstance(file_wrapper, type) and isinstance(body, file_wrapper):
        span.answered()
        body.close = _ending(span, getattr(body, "close", None))  # type: ignore[attr-defined]
        return body
    return _Body(body, span)


def _ending(span: Span, close: Callable[[], None] | None) -> Callable[[], None]:
    def closing() -> None:
        try:
            if close is not None:
                close()
        finally:
            span.end()

    return closing
