"""A small synchronous client for what the tests' own machinery asks of the API server: JSON in, JSON out, and watches.

It knows no kinds and no schedulers. Tests of our own code use that code's client instead.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
import yaml

Json = dict[str, Any]
STRATEGIC = "application/strategic-merge-patch+json"
TIMEOUT = urllib3.Timeout(connect=5, read=60)


class ApiError(RuntimeError):
    """An answer other than 2xx."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"HTTP {status}: {text}")
        self.status = status


class Watch:
    """The lines of one watch; `cut` ends it from another thread."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response

    def events(self) -> Iterator[Json]:
        """Each event as it arrives, until the server or `cut` ends the stream."""
        rest = b""
        for chunk in self._response.stream(1 << 16):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (json.loads(line) for line in lines if line)

    def cut(self) -> None:
        """Wake the reader, which sees the connection end; one that has ended already is left alone."""
        with contextlib.suppress(ValueError, RuntimeError, OSError):
            self._response.shutdown()

    def close(self) -> None:
        """Give the connection up; an unfinished stream cannot be used again."""
        self._response.close()


class Api:
    """Calls with one identity, safe to share between threads."""

    def __init__(self, kubeconfig: Path, connections: int = 16) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        self._url: str = cluster["server"]
        self._headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        self._pool = urllib3.PoolManager(
            maxsize=connections, ssl_context=_trust(cluster, user), timeout=TIMEOUT, retries=False
        )

    def get(self, path: str, **query: str) -> Json:
        """GET an object or a list."""
        return self._call("GET", _with(path, query))

    def post(self, path: str, body: Json) -> Json:
        """Create an object, or call a subresource such as `binding`."""
        return self._call("POST", path, body)

    def put(self, path: str, body: Json) -> Json:
        """Replace an object."""
        return self._call("PUT", path, body)

    def patch(self, path: str, body: Json) -> Json:
        """Strategic merge: lists with merge keys (conditions) are merged."""
        return self._call("PATCH", path, body, STRATEGIC)

    def delete(self, path: str, body: Json | None = None) -> Json:
        """Delete an object; `body` is DeleteOptions."""
        return self._call("DELETE", path, body)

    def text(self, path: str) -> str:
        """A plain answer such as /readyz or /metrics."""
        return self._send("GET", path).data.decode()

    def ok(self, path: str) -> bool:
        """Whether the path answers 2xx; an unreachable server is a no."""
        try:
            self._send("GET", path)
        except (ApiError, urllib3.exceptions.HTTPError):
            return False
        return True

    def probe(self, path: str) -> Callable[[], bool]:
        """`ok` for one path, to be asked again and again."""
        return lambda: self.ok(path)

    def at(self, url: str) -> Api:
        """The same identity at another server of the cluster."""
        other = copy.copy(self)
        other._url = url
        return other

    @contextlib.contextmanager
    def watch(self, path: str, **query: str) -> Iterator[Watch]:
        """Follow a collection; the caller names `resourceVersion` and selectors."""
        target = _with(path, {"watch": "true", "allowWatchBookmarks": "true", **query})
        watch = Watch(self._send("GET", target, stream=True))
        try:
            yield watch
        finally:
            watch.close()

    def close(self) -> None:
        """Close all connections."""
        self._pool.clear()

    def _call(self, method: str, path: str, body: Json | None = None, kind: str = "application/json") -> Json:
        answer: Json = json.loads(self._send(method, path, body, kind).data)
        return answer

    def _send(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        kind: str = "application/json",
        stream: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        response = self._pool.request(
            method,
            self._url + path,
            body=None if body is None else json.dumps(body).encode(),
            headers={**self._headers, "Content-Type": kind, "Accept": "application/json"},
            preload_content=not stream,
        )
        if response.status >= 300:
            raise ApiError(response.status, response.data.decode(errors="replace").strip())
        return response


def _with(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _trust(cluster: Json, user: Json) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    if "client-certificate-data" in user:
        # The ssl module takes a client certificate from a file only.
        with tempfile.NamedTemporaryFile() as file:
            file.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            file.flush()
            context.load_cert_chain(file.name)
    return context
