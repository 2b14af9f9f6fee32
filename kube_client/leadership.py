"""Who decides: the holder of the Lease, or this process alone where no election is held. Writes nothing but the Lease.

A process that loses the Lease stops deciding at once and stands for it again: an API server that was away must not
end the process, and a warm standby is back sooner than a restarted one. What makes that safe is that a new term begins
with a fresh list of the pods, and that `may_write` is asked before each write. The holder before cannot write any
more by then: it stops `leaseDuration - renewDeadline` before the Lease can pass on, and a clean end gives the Lease up
only after its last write.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from kube_client.lease import LeaderElector, LeaseLost

log = logging.getLogger(__name__)

MOST_OVERDUE_SECONDS = 20.0  # kube-scheduler calls itself unhealthy from here

Work = Callable[[], Coroutine[Any, Any, None]]


class Alone:
    """No election: this process always decides."""

    def may_write(self) -> bool:
        return True

    def unhealthy(self) -> str | None:
        return None

    async def serve(self, work: Work) -> None:
        """Do the work; it ends by cancellation only."""
        await work()


class Elected:
    """Decides while it holds the Lease."""

    def __init__(self, elector: LeaderElector) -> None:
        self._elector = elector

    def may_write(self) -> bool:
        """Whether nobody else can be deciding at this moment."""
        return self._elector.leading

    def unhealthy(self) -> str | None:
        """Say so when a Lease that was not renewed is still thought to be ours."""
        overdue = self._elector.overdue_seconds
        return f"lease overdue by {overdue:.0f} s" if overdue > MOST_OVERDUE_SECONDS else None

    async def serve(self, work: Work) -> None:
        """Do the work in every term; between two terms stand by with warm caches."""
        while True:
            try:
                await self._elector.lead(work)
            except LeaseLost as lost:
                log.warning("standing by again cause=%s", lost)
            await asyncio.sleep(0)


Leadership = Alone | Elected
