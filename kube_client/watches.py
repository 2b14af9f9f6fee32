"""Keeps one collection's watch running and hands each change on; lists anew when asked to. Retrying is not its part."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Generic, TypeVar

from kube_client.changes import Change, KubeObject, Synced
from kube_client.watch import Reflector

T = TypeVar("T", bound=KubeObject)


class Watch(Generic[T]):
    """One reflector and its consumer, which is called for each change and must not wait."""

    def __init__(self, reflector: Reflector[T], take: Callable[[Change[T]], None], news: asyncio.Event) -> None:
        self._reflector = reflector
        self._take = take
        self._news = news
        self._synced = asyncio.Event()
        self._round: asyncio.Task[None] | None = None
        self._anew = False

    @property
    def healthy(self) -> bool:
        """Whether everything that exists was told and the server answers."""
        return self._reflector.healthy

    async def run(self) -> None:
        """Follow until cancelled; a new list begins a new round."""
        while True:
            self._round = asyncio.create_task(self._follow())
            try:
                await asyncio.wait({self._round})
            finally:
                self._round.cancel()
                await asyncio.gather(self._round, return_exceptions=True)
            if not self._anew:
                await self._round
            self._anew = False
            self._reflector.relist()

    async def synced(self) -> None:
        """Wait until everything that exists was told."""
        await self._synced.wait()

    async def relist(self) -> None:
        """List anew, and wait until what this list says has been told."""
        self._synced.clear()
        if self._round is not None:
            self._anew = True
            self._round.cancel()
        await self._synced.wait()

    async def _follow(self) -> None:
        async with aclosing(self._reflector.changes()) as changes:
            async for change in changes:
                self._take(change)
                if isinstance(change, Synced) and not self._anew:
                    self._synced.set()
                self._news.set()
