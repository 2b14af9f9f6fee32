"""`Reflector`: a collection as a stream of changes that never ends, never repeats and loses nothing.

It lists once, then watches. A cut watch resumes where it was; a version too old leads to a new list, told as changes.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from kube_client import errors, listing
from kube_client.changes import Change, KubeObject, Synced, WatchEvent
from kube_client.client import Client
from kube_client.errors import ApiError
from kube_client.known import Known, key_of
from kube_client.lines import LineSplitter
from kube_client.listing import PAGE_SIZE, Reader, Resource
from kube_client.timing import Backoff

T = TypeVar("T", bound=KubeObject)

log = logging.getLogger(__name__)


DEFAULT_BACKOFF = Backoff(first_seconds=0.1, factor=2.0, longest_seconds=30.0, jitter=1.0)


@dataclass(frozen=True, slots=True)
class Pace:
    """How a reflector lists, watches and waits. client-go's figures, but sooner after the first failure."""

    page_size: int = PAGE_SIZE
    # The server ends each watch after one to two times this, so that load spreads again after a restart.
    watch_seconds: float = 300.0
    # A watch that lasted this long, or said anything, was no failure: it resumes at once.
    proven_seconds: float = 1.0
    backoff: Backoff = DEFAULT_BACKOFF
    # Other tasks get their turn after this many changes of a list.
    breath_changes: int = 256


DEFAULT_PACE = Pace()


@dataclass(slots=True)
class Counts:
    """What happened so far; for metrics."""

    lists: int = 0
    watches: int = 0
    failures: int = 0
    unreadable: int = 0


class Reflector(Generic[T]):
    """Follows one collection. Iterate over `changes()` in one task; the flags may be read from anywhere."""

    def __init__(self, client: Client, resource: Resource[T], pace: Pace = DEFAULT_PACE) -> None:
        self._client = client
        self._resource = resource
        self._pace = pace
        self._reader = Reader(resource.kind)
        self._event = msgspec.json.Decoder(WatchEvent)
        self._known: Known[T] = Known()
        self._version: str | None = None
        self._failures_in_a_row = 0
        self._connected = False
        self.counts = Counts()
        self.synced = False

    @property
    def healthy(self) -> bool:
        """Whether everything has been told and the last contact with the server succeeded."""
        return self.synced and self._connected

    def objects(self) -> tuple[T, ...]:
        """Return what has been told and not taken back, in no order."""
        return self._known.objects()

    def relist(self) -> None:
        """Let the next `changes()` begin with a new list. What was told stays known, so only differences come."""
        self._version = None
        self.synced = False

    async def changes(self) -> AsyncGenerator[Change[T], None]:
        """Give every change, for ever; `Synced` follows the first list. Failures are waited out, not raised."""
        while True:
            try:
                if self._version is None:
                    async with aclosing(self._list()) as listed:
                        async for change in listed:
                            yield change
                async with aclosing(self._watch(self._version)) as watched:
                    async for change in watched:
                        yield change
                continue
            except ApiError as error:
                wait = self._failed(error)
            if wait:
                await self._client.timing.sleep(wait)

    async def _list(self) -> AsyncGenerator[Change[T], None]:
        found = await listing.read_all(self._client, self._resource, self._pace.page_size)
        self.counts.lists += 1
        for problem in found.problems:
            self._unreadable(problem)
        told = 0
        # The version moves only once all is told: a consumer that is stopped half-way has not been told the rest.
        for change in self._known.replace(found.objects):
            yield change
            told += 1
            if told % self._pace.breath_changes == 0:
                await asyncio.sleep(0)
        self._version = found.version
        if not self.synced:
            self.synced = True
            yield Synced()
        log.info("listed path=%s objects=%d changes=%d", self._resource.path, len(found.objects), told)

    async def _watch(self, version: str | None) -> AsyncGenerator[Change[T], None]:
        """Follow one watch to its end; raise ApiError unless it was a proven one that merely ended or broke."""
        proof = _Proof(self._client.timing.monotonic, self._pace.proven_seconds)
        lines = LineSplitter()
        try:
            async with aclosing(self._chunks(version or "")) as chunks:
                async for chunk in chunks:
                    proof.accept()
                    self._connected = True
                    for line in lines.feed(chunk):
                        for change in self._take(line):
                            yield change
                        proof.heard = True
        except ApiError as error:
            if proof.holds():
                self._failures_in_a_row = 0
            # An answer is an answer; only a connection that broke under a proven watch is nothing to wait for.
            if error.status or not proof.holds():
                raise
            log.info("watch cut path=%s version=%s cause=%s", self._resource.path, self._version, error)
        if not proof.holds():
            raise ApiError(errors.UNREACHABLE, "WatchEnded", "the watch ended at once and told nothing")
        self._failures_in_a_row = 0

    def _chunks(self, version: str) -> AsyncGenerator[bytes, None]:
        self.counts.watches += 1
        seconds = int(self._pace.watch_seconds * (1 + self._client.timing.random()))
        params = {
            **self._resource.params,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        return self._client.stream(self._resource.path, params, silence_seconds=seconds + 30.0)

    def _take(self, line: bytes) -> Iterator[Change[T]]:
        try:
            event = self._event.decode(line)
        except ValueError as problem:
            self._unreadable(f"line of {len(line)} bytes: {problem}")
            return
        if event.type == "ERROR":
            status = msgspec.json.decode(event.object, type=errors.Status)
            raise errors.from_status(status, status.code or 500)
        if event.type == "BOOKMARK":
            self._version = self._reader.identify(event.object).metadata.resource_version
            return
        yield from self._tell(event)

    def _tell(self, event: WatchEvent) -> Iterator[Change[T]]:
        last: T | None
        try:
            last = self._reader.read(event.object)
            metadata = last.metadata
        except ValueError as problem:
            last = None
            metadata = self._reader.identify(event.object).metadata
            self._unreadable(f"{metadata.namespace}/{metadata.name}: {problem}")
        if event.type == "DELETED":
            yield from self._known.lose(key_of(metadata), last)
        elif last is not None:
            yield from self._known.see(last)
        self._version = metadata.resource_version

    def _failed(self, error: ApiError) -> float:
        """Note a failure and give the wait before the next attempt."""
        self.counts.failures += 1
        self._connected = False
        self._failures_in_a_row += 1
        wait = self._pace.backoff.seconds(self._failures_in_a_row, self._client.timing.random())
        if error.is_gone:
            self._version = None
            if self._failures_in_a_row == 1:
                wait = 0.0
        wait = max(wait, error.retry_after_seconds or 0.0)
        log.warning(
            "watch failed path=%s failures=%d wait_seconds=%.2f error=%s",
            self._resource.path,
            self._failures_in_a_row,
            wait,
            error,
        )
        return wait

    def _unreadable(self, problem: str) -> None:
        self.counts.unreadable += 1
        log.warning("object unreadable path=%s problem=%s", self._resource.path, problem)


class _Proof:
    """Whether a watch was a working one: it said something, or stayed open for a while after it was accepted."""

    def __init__(self, monotonic: Callable[[], float], proven_seconds: float) -> None:
        self._monotonic = monotonic
        self._proven_seconds = proven_seconds
        self._accepted_at: float | None = None
        self.heard = False

    def accept(self) -> None:
        if self._accepted_at is None:
            self._accepted_at = self._monotonic()

    def holds(self) -> bool:
        lasted = 0.0 if self._accepted_at is None else self._monotonic() - self._accepted_at
        return self.heard or lasted >= self._proven_seconds


async def follow(client: Client, resource: Resource[T]) -> AsyncIterator[Change[T]]:
    """Follow a collection where nobody asks for the flags."""
    async with aclosing(Reflector(client, resource).changes()) as told:
        async for change in told:
            yield change
