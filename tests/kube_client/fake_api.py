"""A small API server on loopback that can be told to misbehave, and a client that needs no sockets."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml
from aiohttp import web

from kube_client import errors
from kube_client.client import DEFAULT_SETTINGS, DEFAULTS, Body, Client, Options, Settings
from kube_client.timing import Timing
from tests.kube_client.store import Json, Refusal, Store, Target

FAR = 10**9


@dataclass
class Fault:
    """What happens to the next calls of a method and path suffix instead of, or around, the right answer."""

    method: str
    path: str
    times: int = 1
    refusal: Refusal | None = None
    drop_before: bool = False  # the server never does it
    drop_after: bool = False  # the server does it, the answer is lost
    delay_seconds: float = 0.0
    retry_after: str | None = None

    def meets(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method == method and path.endswith(self.path)


@dataclass
class WatchPlan:
    """How the next watch ends: after so many events or bytes, or with a line of its own."""

    cut_after_events: int = FAR
    cut_after_bytes: int = FAR
    abrupt: bool = False
    first_line: Json | None = None
    chunk_bytes: int = FAR


@dataclass
class FakeApi:
    """The server: a store, the faults to come, and a log of the calls."""

    store: Store = field(default_factory=Store)
    faults: list[Fault] = field(default_factory=list)
    watches: list[WatchPlan] = field(default_factory=list)
    calls: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    token: str | None = None
    url: str = ""
    bookmark_seconds: float = 0.0

    def put(self, path: str, document: Json) -> Json:
        """Create an object at a collection's path, from the test's side."""
        return self.store.create(Target.of(path), document)

    def update(self, path: str, change: Callable[[Json], Json]) -> Json:
        """Change an object from the test's side."""
        target = Target.of(path)
        return self.store.replace(target, change(json.loads(json.dumps(self.store.get(target)))))

    def delete(self, path: str) -> None:
        """Delete an object from the test's side."""
        self.store.remove(Target.of(path))

    def methods(self, suffix: str) -> list[str]:
        """The methods of the calls to paths with that suffix, watches shown as WATCH."""
        return [
            "WATCH" if params.get("watch") else method for method, path, params in self.calls if path.endswith(suffix)
        ]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        params = dict(request.query)
        self.calls.append((request.method, request.path, params))
        if self.token is not None and request.headers.get("Authorization") != f"Bearer {self.token}":
            return _refuse(Refusal(401, "Unauthorized", "Unauthorized"), None)
        fault = next((fault for fault in self.faults if fault.meets(request.method, request.path)), None)
        body = await request.read()
        if fault is None:
            return await self._answer(request, params, body)
        fault.times -= 1
        await asyncio.sleep(fault.delay_seconds)
        if fault.refusal is not None:
            return _refuse(fault.refusal, fault.retry_after)
        if not fault.drop_before:
            answer = await self._answer(request, params, body)
            if not fault.drop_after:
                return answer
        _abort(request)
        return web.Response()

    async def _answer(self, request: web.Request, params: dict[str, str], body: bytes) -> web.StreamResponse:
        try:
            if params.get("watch"):
                return await self._watch(request, params)
            found = self.store.handle(request.method, request.path, params, body)
        except Refusal as refusal:
            return _refuse(refusal, None)
        return web.json_response(found, status=201 if request.method == "POST" else 200)

    async def _watch(self, request: web.Request, params: dict[str, str]) -> web.StreamResponse:
        target, at = Target.of(request.path), int(params["resourceVersion"])
        plan = self.watches.pop(0) if self.watches else WatchPlan()
        self.store.since(target, at)
        response = web.StreamResponse()
        await response.prepare(request)
        if plan.first_line is not None:
            await response.write(json.dumps(plan.first_line).encode() + b"\n")
        sent, quiet_since = 0, time.monotonic()
        while at >= self.store.oldest:
            for version, event in self.store.since(target, at):
                line = json.dumps(event).encode() + b"\n"
                if sent >= plan.cut_after_events or len(line) > plan.cut_after_bytes:
                    await self._cut(request, response, line[: plan.cut_after_bytes], plan)
                    return response
                for start in range(0, len(line), plan.chunk_bytes):
                    await response.write(line[start : start + plan.chunk_bytes])
                at, sent = version, sent + 1
            if sent >= plan.cut_after_events:
                await self._cut(request, response, b"", plan)
                return response
            if self.bookmark_seconds and time.monotonic() - quiet_since > self.bookmark_seconds:
                at, quiet_since = self.store.version, time.monotonic()
                await response.write(_bookmark(at))
            await asyncio.sleep(0.002)
        _abort(request)
        return response

    async def _cut(self, request: web.Request, response: web.StreamResponse, part: bytes, plan: WatchPlan) -> None:
        if plan.cut_after_bytes < FAR:
            await response.write(part)
        if plan.abrupt:
            await asyncio.sleep(0.05)  # what was written has to be read before the reset
            _abort(request)


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _bookmark(version: int) -> bytes:
    event = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": str(version)}}}
    return json.dumps(event).encode() + b"\n"


def _refuse(refusal: Refusal, retry_after: str | None) -> web.Response:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return web.json_response(refusal.body(), status=refusal.status, headers=headers)


@asynccontextmanager
async def serving(api: FakeApi, port: int = 0) -> AsyncIterator[FakeApi]:
    """Run the server on a free loopback port, or on the given one."""
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", api.serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield api
    finally:
        await runner.cleanup()


def kubeconfig(folder: Path, url: str, user: Json | None = None) -> Path:
    """Write a kubeconfig for the server."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fake", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": user or {"token": "t"}}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "me"}}],
        "current-context": "fake",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


@asynccontextmanager
async def connected(
    folder: Path, api: FakeApi | None = None, settings: Settings = DEFAULT_SETTINGS
) -> AsyncIterator[tuple[FakeApi, Client]]:
    """Run a server and a client of it."""
    async with (
        serving(api or FakeApi()) as running,
        Client.connect(kubeconfig(folder, running.url), "test", settings) as client,
    ):
        yield running, client


@dataclass
class Naps:
    """A sleep that does not wait but remembers."""

    taken: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.taken.append(seconds)
        await asyncio.sleep(0)


def hurried(naps: Naps) -> Settings:
    """Settings of a client that never waits."""
    return Settings(timing=Timing(sleep=naps.sleep, random=lambda: 0.0))


class MemoryClient(Client):
    """A client whose calls reach the store at once, or fail as `failures` says; time is the test's."""

    def __init__(self, store: Store, timing: Timing, failures: Iterable[Exception | None] = ()) -> None:
        self.store = store
        self.timing = timing
        self.failures = iter(failures)
        self.calls: list[tuple[str, str]] = []

    async def request(self, method: str, path: str, body: Body = None, options: Options = DEFAULTS) -> bytes:
        self.calls.append((method, path))
        failure = next(self.failures, None)
        if failure is not None:
            raise failure
        payload = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        params: dict[str, Any] = dict(options.params)
        try:
            return json.dumps(self.store.handle(method, path, params, payload)).encode()
        except Refusal as refusal:
            raise errors.from_answer(refusal.status, json.dumps(refusal.body()).encode(), None) from refusal
