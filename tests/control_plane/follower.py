"""A thread that lists a collection once and then follows it, whatever happens to the connection."""

from __future__ import annotations

import threading
from collections.abc import Callable

import urllib3

from tests.control_plane.api import Api, ApiError, Json, Watch

GONE = 410
RETRY_SECONDS = 0.2


class Follower:
    """Calls `see(kind, object)` for every listed object (ADDED) and every change after that, in order.

    A cut watch resumes at the last version seen; only a version that the server no longer has lists again, and then
    deletions in between go unseen.
    """

    def __init__(self, api: Api, path: str, see: Callable[[str, Json], None], **selectors: str) -> None:
        self._api, self._path, self._see, self._selectors = api, path, see, selectors
        self._version: str | None = None
        self._watch: Watch | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"follow {path}", daemon=True)
        self.lists = 0
        self.watches = 0

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def cut(self) -> None:
        """Break the running watch as a network would."""
        if self._watch is not None:
            self._watch.cut()

    def stop(self) -> None:
        """End the thread; nothing is seen after that."""
        self._stopping.set()
        while self._thread.is_alive():
            self.cut()  # more than once: the watch may just be opening
            self._thread.join(0.1)

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                self._step()
            except ApiError as error:
                self._fail(error.status)
            except (urllib3.exceptions.HTTPError, OSError):
                self._fail(0)

    def _step(self) -> None:
        if self._version is None:
            self._list()
        else:
            self._resume(self._version)

    def _fail(self, status: int) -> None:
        if status == GONE:
            self._version = None
        self._stopping.wait(RETRY_SECONDS)

    def _list(self) -> None:
        self.lists += 1
        listed = self._api.get(self._path, **self._selectors)
        for item in listed["items"]:
            self._see("ADDED", item)
        self._version = listed["metadata"]["resourceVersion"]

    def _resume(self, version: str) -> None:
        self.watches += 1
        with self._api.watch(self._path, resourceVersion=version, **self._selectors) as self._watch:
            for event in self._watch.events():
                self._take(event["type"], event["object"])

    def _take(self, kind: str, item: Json) -> None:
        if kind == "ERROR":
            raise ApiError(item.get("code", 0), item.get("message", ""))
        if kind != "BOOKMARK":
            self._see(kind, item)
        self._version = item["metadata"]["resourceVersion"]
