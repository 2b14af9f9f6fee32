"""The ASGI middleware: requests until the last byte, WebSockets as connections. Real servers: test_uvicorn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from deletion_cost import ConnectionTracker
from deletion_cost.asgi import Application, Receive, Scope, Send

Message = MutableMapping[str, Any]


@pytest.fixture
def tracker() -> ConnectionTracker:
    return ConnectionTracker(shared=False)


def counts(tracker: ConnectionTracker) -> tuple[float | None, float | None, float | None]:
    reading = tracker.reading()
    return reading.active_requests, reading.connections, reading.served


def call(application: Application, scope: Scope) -> list[Message]:
    """Run one scope and return what was sent."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(_run(application(scope, receive, send)))
    return sent


async def _run(awaitable: Any) -> None:
    await awaitable


def http(path: str = "/", method: str = "GET", **more: Any) -> Scope:
    return {"type": "http", "path": path, "method": method, **more}


class Recorder:
    """An application that sends what it is told to and notes the counts before and after each message."""

    def __init__(self, tracker: ConnectionTracker, *messages: Message) -> None:
        self._tracker, self._messages = tracker, messages
        self.seen: list[Any] = []

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        self.seen.append(counts(self._tracker))
        for message in self._messages:
            await send(message)
            self.seen.append(counts(self._tracker))


def start(status: int = 200) -> Message:
    return {"type": "http.response.start", "status": status, "headers": []}


def body(data: bytes = b"x", more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def test_a_request_counts_until_its_last_byte_is_sent(tracker: ConnectionTracker) -> None:
    """What the application does afterwards, such as background tasks, is no request."""
    application = Recorder(tracker, start(), body(more=True), body())
    call(tracker.asgi(application), http())
    assert application.seen == [(1, 0, 0)] * 3 + [(0, 0, 1)]


def test_websockets_are_connections(tracker: ConnectionTracker) -> None:
    application = Recorder(tracker, {"type": "websocket.accept"})
    call(tracker.asgi(application), {"type": "websocket", "path": "/deletion-cost"})
    assert application.seen == [(0, 1, 0)] * 2
    assert counts(tracker) == (0, 0, 0)


def test_lifespan_and_whatever_comes_pass_untouched(tracker: ConnectionTracker) -> None:
    for kind in ("lifespan", "webtransport"):
        application = Recorder(tracker, {"type": f"{kind}.done"})
        assert call(tracker.asgi(application), {"type": kind}) == [{"type": f"{kind}.done"}]
        assert application.seen == [(0, 0, 0)] * 2


def test_server_errors_are_not_served(tracker: ConnectionTracker) -> None:
    call(tracker.asgi(Recorder(tracker, start(500), body())), http())
    assert counts(tracker) == (0, 0, 0)


@pytest.mark.parametrize("messages", [[], [start()], [start(), body(more=True)]])
def test_an_application_that_raises_ends_its_request(tracker: ConnectionTracker, messages: list[Message]) -> None:
    recorder = Recorder(tracker, *messages)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await recorder(scope, receive, send)
        raise KeyError("x")

    with pytest.raises(KeyError):
        call(tracker.asgi(application), http())
    assert counts(tracker) == (0, 0, 0)


def test_an_application_that_returns_early_ends_its_request(tracker: ConnectionTracker) -> None:
    """It saw the client go and sends nothing more."""
    call(tracker.asgi(Recorder(tracker, start(), body(more=True))), http())
    assert counts(tracker)[0] == 0


def test_a_server_that_cannot_send_ends_the_request(tracker: ConnectionTracker) -> None:
    async def send(message: Message) -> None:
        raise OSError("client has gone")

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(OSError, match="client has gone"):
        asyncio.run(_run(tracker.asgi(Recorder(tracker, start()))(http(), receive, send)))
    assert counts(tracker) == (0, 0, 0)


@pytest.mark.parametrize(
    "scope",
    [http("/deletion-cost"), http("/app/deletion-cost", root_path="/app"), http("/deletion-cost", root_path="")],
)
def test_the_endpoint_is_json_and_counts_nothing(tracker: ConnectionTracker, scope: Scope) -> None:
    with tracker.request():
        begun, content = call(tracker.asgi(Recorder(tracker)), scope)
    assert json.loads(content["body"]) == {"active_requests": 1, "connections": 0, "served": 0}
    assert (b"content-type", b"application/json") in begun["headers"]
    assert (b"content-length", str(len(content["body"])).encode()) in begun["headers"]


def test_the_endpoint_is_for_reading(tracker: ConnectionTracker) -> None:
    middleware = tracker.asgi(Recorder(tracker))
    head, post = (call(middleware, http("/deletion-cost", method)) for method in ("HEAD", "POST"))
    assert (head[0]["status"], head[1]["body"]) == (200, b"")
    assert (post[0]["status"], post[0]["headers"]) == (405, [(b"allow", b"GET, HEAD")])


def test_without_a_path_the_application_has_it(tracker: ConnectionTracker) -> None:
    application = Recorder(tracker, start(), body())
    assert len(call(tracker.asgi(application, path=None), http("/deletion-cost"))) == 2
    assert application.seen
