"""ASGI middleware: counts requests until their last byte is sent, WebSockets as connections, and answers
`GET /deletion-cost`.

Part of the library that applications import: standard library only. Lifespan and unknown scopes pass untouched.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from deletion_cost import endpoint_app
from deletion_cost.tracker import PATH, ConnectionTracker, Span

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class AsgiMiddleware:
    """Wraps an application; `path` None leaves the endpoint to a server of its own."""

    def __init__(self, application: Application, tracker: ConnectionTracker, path: str | None = PATH):
        self._application, self._tracker, self._path = application, tracker, path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one scope."""
        if scope["type"] == "http" and self._path is not None and _path(scope) == self._path:
            await self._answer(scope["method"], send)
        elif scope["type"] == "http":
            with self._tracker.request() as span:
                await self._application(scope, receive, _watching(span, send))
        elif scope["type"] == "websocket":
            with self._tracker.connection():
                await self._application(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    async def _answer(self, method: str, send: Send) -> None:
        is_allowed = method in endpoint_app.METHODS
        content = endpoint_app.body(self._tracker.reading()) if is_allowed else b""
        given = endpoint_app.headers(content) if is_allowed else [("Allow", ", ".join(endpoint_app.METHODS))]
        headers = [(name.lower().encode(), value.encode()) for name, value in given]
        await send({"type": "http.response.start", "status": 200 if is_allowed else 405, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else content})


def _watching(span: Span, send: Send) -> Send:
    async def watched(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 500:
            span.failed()
        is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if is_last or message.get("body"):
            span.answered()
        await send(message)
        if is_last:
            span.end()  # what the application does afterwards is no request any more

    return watched


def _path(scope: Scope) -> str:
    """The path below the place where the application is mounted."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path
