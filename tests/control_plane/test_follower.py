"""The follower against an API server in memory that cuts, forgets and fails."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Iterator
from typing import cast

from tests.control_plane.api import Api, ApiError, Json
from tests.control_plane.follower import Follower


def item(version: int) -> Json:
    """An object of that version."""
    return {"metadata": {"name": f"v{version}", "resourceVersion": str(version)}}


class Stream:
    """One watch: its events, then the end."""

    def __init__(self, *events: Json) -> None:
        self._events = events

    def events(self) -> Iterator[Json]:
        """What the server sends before it hangs up."""
        return iter(self._events)

    def cut(self) -> None:
        """Nothing waits here."""


class FakeApi:
    """Lists at version 10, then answers each watch with the next of a script; an empty script answers 500."""

    def __init__(self, *script: Stream | ApiError) -> None:
        self.asked: list[str] = []
        self._script = list(script)

    def get(self, *_path: str, **_query: str) -> Json:
        """The list."""
        self.asked.append("list")
        return {"metadata": {"resourceVersion": "10"}, "items": []}

    @contextlib.contextmanager
    def watch(self, _path: str, resourceVersion: str, **_query: str) -> Iterator[Stream]:
        """The next watch."""
        answer = self._script.pop(0) if self._script else ApiError(500, "over")
        if isinstance(answer, ApiError):
            raise answer
        self.asked.append(resourceVersion)
        yield answer


def asked_until(last: int, *script: Stream | ApiError) -> list[str]:
    """What a follower asks for until it has seen an object of version `last`."""
    api, seen = FakeApi(*script), queue.Queue[Json]()
    follower = Follower(cast(Api, api), "/things", lambda _, thing: seen.put(thing))
    follower.start()
    while seen.get(timeout=5) != item(last):
        pass
    follower.stop()
    return api.asked


def test_cut_watch_resumes_at_the_last_version_seen() -> None:
    """A bookmark counts as seen; nothing is listed again."""
    first = Stream({"type": "ADDED", "object": item(11)}, {"type": "BOOKMARK", "object": item(15)})

    assert asked_until(16, first, Stream({"type": "ADDED", "object": item(16)})) == ["list", "10", "15"]


def test_forgotten_version_lists_again() -> None:
    """410 as an event and 410 as an answer both start over; another error does not."""
    gone = Stream({"type": "ERROR", "object": {"code": 410, "message": "too old"}})
    last = Stream({"type": "ADDED", "object": item(12)})

    assert asked_until(12, gone, ApiError(410, "gone"), ApiError(500, "oops"), last) == [
        "list", "10", "list", "list", "10",
    ]  # fmt: skip
