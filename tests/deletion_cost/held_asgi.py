"""An ASGI application that holds requests and WebSockets. Served by a real uvicorn in test_uvicorn."""

import asyncio
import os
from pathlib import Path

from deletion_cost import ConnectionTracker
from deletion_cost.asgi import Receive, Scope, Send

RELEASE = Path(os.environ["RELEASE_FILE"])

tracker = ConnectionTracker()
started: list[bool] = []


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer by kind and path."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "websocket":
        await _echo(receive, send)
    elif scope["path"] == "/raise":
        raise KeyError(scope["path"])
    else:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d\n" % os.getpid(), "more_body": True})
        await _go_on(scope["path"], receive, send)
        await send({"type": "http.response.body", "body": b"started" if started else b""})


async def _go_on(path: str, receive: Receive, send: Send) -> None:
    if path == "/hold":
        while not RELEASE.exists():
            await asyncio.sleep(0.01)
    if path == "/endless":
        gone = asyncio.create_task(_gone(receive))
        while not gone.done():
            await send({"type": "http.response.body", "body": b"x" * 1024, "more_body": True})
            await asyncio.sleep(0.01)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _echo(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


async def _lifespan(receive: Receive, send: Send) -> None:
    await receive()
    started.append(True)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


app = tracker.asgi(application)
tracker.serve(int(os.environ["ENDPOINT_PORT"]), "127.0.0.1")
