"""Counts an application's requests, connections and cache look-ups, over all processes of a prefork server.

Part of the library that applications import: standard library only, and nothing here may raise into a request.
"""

import functools
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from deletion_cost import process_counts, process_files, wrapping
from deletion_cost.process_counts import Counts
from deletion_cost.process_files import OwnFile, Sum
from deletion_cost.sample import Sample

if TYPE_CHECKING:
    from deletion_cost import asgi, wsgi
    from deletion_cost.endpoint_app import EndpointServer

PATH = "/deletion-cost"
_log = logging.getLogger("deletion_cost")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Span:
    """One request or connection: a context manager (also `async with`) for one use, or a decorator for many."""

    __slots__ = ("_answered_at", "_began_at", "_cell", "_counts", "_is_failed", "_tracker")

    def __init__(self, tracker: "ConnectionTracker", cell: int) -> None:
        self._tracker, self._cell = tracker, cell
        self._counts: Counts | None = None
        self._began_at, self._answered_at, self._is_failed = -1.0, -1.0, False

    def begin(self) -> Self:
        """Count from now on."""
        if self._began_at >= 0:
            raise RuntimeError("a span counts once: ask the tracker for another")
        self._counts, self._began_at = self._tracker._begin(self._cell)
        return self

    def answered(self) -> None:
        """Say that the response begins now; without it the response time goes to the end."""
        if self._answered_at < 0:
            self._answered_at = self._tracker.now()

    def failed(self) -> None:
        """Let the request count neither as served nor in the mean."""
        self._is_failed = True

    def end(self) -> None:
        """Count no more; a second call does nothing."""
        seconds = None
        if self._cell == process_counts.ACTIVE and not self._is_failed:
            seconds = (self._answered_at if self._answered_at >= 0 else self._tracker.now()) - self._began_at
        self._tracker._end(self, self._cell, seconds)

    def __enter__(self) -> Self:
        return self.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.failed()
        self.end()

    async def __aenter__(self) -> Self:
        return self.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: _Function) -> _Function:
        """Count each call: of a coroutine until it returns, of a generator until it ends or is closed."""
        return cast(_Function, wrapping.wrap(function, functools.partial(Span, self._tracker, self._cell)))


class ConnectionTracker:
    """The load of this application, safe to count from any thread, task and process.

    `shared` is True for all processes of this process group (a server and its workers), a folder for those that are
    given the same one, False for this process alone.
    """

    def __init__(
        self,
        *,
        window_seconds: float = 60.0,
        shared: bool | str | os.PathLike[str] = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 1 <= window_seconds <= 3600:
            raise ValueError(f"window_seconds: Invalid value: {window_seconds}: must be 1 to 3600")
        self.now, self._window_seconds, self._shared = clock, window_seconds, shared
        # Taken again by its holder where a collected generator ends its request. Held over each fork, too, so that no
        # child gets a descriptor that it knows nothing of.
        self.lock = threading.RLock()
        self._folder: Path | None = None
        self._file: OwnFile | None = None
        self._counts: Counts | None = None
        self._at_exit: weakref.finalize[Any, Any] | None = None
        _watch_forks(weakref.ref(self))

    def request(self) -> Span:
        """One request: counts as active, then as served with its response time."""
        return Span(self, process_counts.ACTIVE)

    def connection(self) -> Span:
        """One connection, for servers whose clients stay: a WebSocket, a stream, a session."""
        return Span(self, process_counts.CONNECTIONS)

    def cache_hit(self) -> None:
        """Count a look into the cache that found something."""
        self._look_up(True)

    def cache_miss(self) -> None:
        """Count a look into the cache that found nothing."""
        self._look_up(False)

    def reading(self) -> Sample:
        """The load of all processes together, now."""
        return self._sum().totals.sample()

    def running_seconds(self) -> float:
        """For how long processes of this application have been there without a gap."""
        since = self._sum().since
        return 0.0 if since is None else max(0.0, self.now() - since)

    def folder(self) -> Path | None:
        """Where the processes of this application meet; None if this one is alone."""
        with self.lock:
            self._own()
            return self._folder

    def close(self) -> None:
        """Take this process out of the sum. Counting again begins anew."""
        with self.lock:
            if self._at_exit is not None:
                self._at_exit()
            self._forget()

    def wsgi(self, application: "wsgi.Application", path: str | None = PATH) -> "wsgi.WsgiMiddleware":
        """Count the requests of a WSGI application, and serve the reading at `path` (None: not there)."""
        from deletion_cost.wsgi import WsgiMiddleware

        return WsgiMiddleware(application, self, path)

    def asgi(self, application: "asgi.Application", path: str | None = PATH) -> "asgi.AsgiMiddleware":
        """Count an ASGI application's requests and WebSockets, and serve the reading at `path` (None: not there)."""
        from deletion_cost.asgi import AsgiMiddleware

        return AsgiMiddleware(application, self, path)

    def serve(self, port: int, host: str = "") -> "EndpointServer":
        """Serve the reading on a port of its own, from a thread; it is there even when all workers are busy."""
        from deletion_cost.endpoint_app import EndpointServer

        server = EndpointServer(self, port, host)
        server.start()
        return server

    def _begin(self, cell: int) -> tuple[Counts, float]:
        with self.lock:
            counts = self._own()
            counts.add(cell, 1)
        return counts, self.now()

    def _end(self, span: Span, cell: int, seconds: float | None) -> None:
        with self.lock:
            counts, span._counts = span._counts, None
            if counts is None:
                return
            counts.add(cell, -1)
            if seconds is not None:
                counts.answered(self.now(), seconds)

    def _look_up(self, is_hit: bool) -> None:
        with self.lock:
            self._own().looked_up(self.now(), is_hit)

    def _sum(self) -> Sum:
        with self.lock:
            counts, folder = self._own(), self._folder
        if folder is not None:
            try:
                return process_files.read(folder, self.now())
            except OSError as error:
                _log.warning("counts of the other processes not read error=%s", error)
        return Sum(process_counts.totals(counts.cells, self.now()), process_counts.since(counts.cells))

    def _own(self) -> Counts:
        """This process's counts, from the first use on."""
        if self._counts is None:
            self._counts = self._claim() or Counts(process_counts.private_cells(), self._window_seconds, self.now())
        return self._counts

    def _claim(self) -> Counts | None:
        if self._shared is False:
            return None
        folder = process_files.common_folder() if self._shared is True else Path(self._shared)
        try:
            if self._shared is True:
                process_files.sweep(folder.parent)
                process_files.prepare(folder)
            self._file = process_files.claim(folder, self._window_seconds, self.now())
        except OSError as error:
            _log.warning("load is counted for this process alone folder=%s error=%s", folder, error)
            return None
        self._folder = folder
        self._at_exit = weakref.finalize(self, _leave, self._file, folder)
        return self._file.counts

    def _renew(self) -> None:
        """Begin a forked child: it has no request yet, and its parent's counts and lock are not its own."""
        if self._at_exit is not None:
            self._at_exit.detach()
        if self._file is not None:
            self._file.abandon()
        self._forget()
        self.lock = threading.RLock()

    def _forget(self) -> None:
        self._folder = self._file = self._counts = self._at_exit = None


def _leave(file: OwnFile, folder: Path) -> None:
    file.unlock()
    process_files.discard(folder)


def _watch_forks(reference: "weakref.ref[ConnectionTracker]") -> None:
    """Keep forks and counting apart. A hook stays for ever, so it holds no tracker that the application has dropped."""
    held: list[ConnectionTracker] = []

    def before() -> None:
        tracker = reference()
        if tracker is not None:
            tracker.lock.acquire()
            held.append(tracker)

    def in_parent() -> None:
        while held:
            held.pop().lock.release()

    def in_child() -> None:
        while held:
            held.pop()._renew()

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)
