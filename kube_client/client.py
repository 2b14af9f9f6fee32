"""`Client`: one identity's HTTP calls to the API server, bytes in and bytes out; repeats what is safe to repeat.

It knows no kinds. Authentication, TLS and configuration are the official client's; its models are not used.
"""

import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import msgspec
from yarl import URL

from kube_client import credentials as credentials_
from kube_client import errors
from kube_client.calls import Calls
from kube_client.credentials import Credentials
from kube_client.errors import ApiError
from kube_client.retries import REPEATABLE_METHODS, Retries
from kube_client.timing import Timing

T = TypeVar("T")
Body = bytes | msgspec.Struct | Mapping[str, Any] | list[Any] | None
Params = Mapping[str, str]

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"

# Go's server closes a connection that was idle for 90 s; ours must be gone before that, or a POST meets a closed one.
IDLE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """What a call may set beside method, path and body."""

    content_type: str = JSON
    params: Params = field(default_factory=dict)
    timeout_seconds: float = 30.0
    repeatable: bool | None = None  # None: by the method; a POST is not
    retries: Retries | None = None  # None: the client's


@dataclass(frozen=True, slots=True)
class Settings:
    """How a client connects; `connections` bounds the calls in flight, watches included."""

    context: str | None = None
    connections: int = 256
    retries: Retries = field(default_factory=Retries)
    timing: Timing = field(default_factory=Timing)
    counts: Calls | None = None  # where calls are counted; None: for this client alone


DEFAULTS = Options()
DEFAULT_SETTINGS = Settings()


class Client:
    """Calls to one API server; made by `Client.connect`, and safe to share between tasks."""

    def __init__(
        self, session: aiohttp.ClientSession, credentials: Credentials, settings: Settings = DEFAULT_SETTINGS
    ) -> None:
        self._session = session
        self._credentials = credentials
        self._retries = settings.retries
        self.timing = settings.timing
        self.counts = settings.counts or Calls()
        self._to_server: dict[str, Any] = {"allow_redirects": False}
        if credentials.proxy:
            self._to_server["proxy"] = credentials.proxy
        if credentials.tls_server_name:
            self._to_server["server_hostname"] = credentials.tls_server_name

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        kubeconfig: Path | None = None,
        user_agent: str = "gpu-scheduler",
        settings: Settings = DEFAULT_SETTINGS,
    ) -> AsyncIterator["Client"]:
        """Open a client; without a kubeconfig as the pod's ServiceAccount, else as kubectl would."""
        loaded = await credentials_.load(kubeconfig, settings.context, settings.timing.monotonic)
        connector = aiohttp.TCPConnector(
            limit=settings.connections,
            ssl=loaded.trust(),
            keepalive_timeout=IDLE_SECONDS,
            socket_factory=credentials_.keepalive_socket,
        )
        # Answers are small or go straight into the decoder: compression would only cost CPU on both sides.
        headers = {"User-Agent": user_agent, "Accept": JSON, "Accept-Encoding": "identity"}
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(connector=connector, headers=headers, cookie_jar=jar) as session:
            yield cls(session, loaded, settings)

    async def request(self, method: str, path: str, body: Body = None, options: Options = DEFAULTS) -> bytes:
        """Send a call and give the answer's body; raise ApiError once repeating is unsafe or has not helped."""
        payload = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        retries = options.retries or self._retries
        repeatable = method in REPEATABLE_METHODS if options.repeatable is None else options.repeatable
        for attempt in itertools.count(1):
            try:
                return await self._send(method, path, payload, options)
            except ApiError as error:
                wait = retries.wait_seconds(error, repeatable, attempt, self.timing.random())
                if wait is None:
                    raise
            await self.timing.sleep(wait)
        raise AssertionError("unreachable")

    async def get(self, path: str, params: Params | None = None) -> bytes:
        """Read an object or a list."""
        return await self.request("GET", path, None, Options(params=params) if params else DEFAULTS)

    async def read(self, path: str, kind: type[T], params: Params | None = None) -> T:
        """Read an object or a list as a struct."""
        body = await self.get(path, params)
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise ApiError(200, "Undecodable", f"{path}: {problem}") from problem

    async def post(self, path: str, body: Body) -> bytes:
        """Create an object or call a subresource; never repeated when it may have been done."""
        return await self.request("POST", path, body)

    async def put(self, path: str, body: Body) -> bytes:
        """Replace an object; its resourceVersion guards it."""
        return await self.request("PUT", path, body)

    async def patch(self, path: str, body: Body, content_type: str = STRATEGIC_MERGE) -> bytes:
        """Change an object in part."""
        return await self.request("PATCH", path, body, Options(content_type=content_type))

    async def delete(self, path: str, body: Body = None) -> bytes:
        """Delete an object; `body` is DeleteOptions."""
        return await self.request("DELETE", path, body)

    async def stream(self, path: str, params: Params, silence_seconds: float) -> AsyncGenerator[bytes]:
        """Give an answer's chunks as they arrive, first an empty one once the server has accepted the call."""
        timeout = aiohttp.ClientTimeout(total=None, connect=30.0, sock_connect=30.0, sock_read=silence_seconds)
        try:
            async with await self._accepted("GET", path, {"params": params, "timeout": timeout}) as answer:
                yield b""
                async for chunk in answer.content.iter_any():
                    yield chunk
        except (aiohttp.ClientError, TimeoutError) as problem:
            raise _unreachable(problem) from problem

    async def _send(self, method: str, path: str, payload: bytes | None, options: Options) -> bytes:
        call = {
            "data": payload,
            "params": options.params,
            "timeout": aiohttp.ClientTimeout(total=options.timeout_seconds),
            "headers": {"Content-Type": options.content_type} if payload is not None else {},
        }
        try:
            async with await self._accepted(method, path, call) as answer:
                return await answer.read()
        except (aiohttp.ClientError, TimeoutError) as problem:
            raise _unreachable(problem) from problem

    async def _accepted(self, method: str, path: str, call: dict[str, Any]) -> aiohttp.ClientResponse:
        """Give the one accepted answer, open; a refused token is read again and tried once more."""
        url = URL(self._credentials.url + path, encoded=True)
        for last in (False, True):
            authorization = await self._credentials.authorization()
            headers = {**call.get("headers", {}), **({"Authorization": authorization} if authorization else {})}
            answer = await self._call(method, url, {**call, "headers": headers})
            if answer.status < 300:
                return answer
            async with answer:
                error = errors.from_answer(answer.status, await answer.read(), answer.headers.get("Retry-After"))
            if last or error.status != 401 or not await self._credentials.refused(authorization):
                raise error
        raise AssertionError("unreachable")

    async def _call(self, method: str, url: URL, call: dict[str, Any]) -> aiohttp.ClientResponse:
        started, code = self.timing.monotonic(), None
        try:
            answer = await self._session.request(method, url, **call, **self._to_server)
            code = answer.status
            return answer
        finally:
            self.counts.note(method, url.authority, code, self.timing.monotonic() - started)


def _unreachable(problem: Exception) -> ApiError:
    # Refused, not resolved, or no TLS: the request has not left. Anything later may have reached the server.
    sent = not isinstance(problem, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError))
    return ApiError(errors.UNREACHABLE, type(problem).__name__, str(problem) or "no answer in time", sent=sent)
