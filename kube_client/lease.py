"""`LeaderElector`: of several processes one works, the holder of a Lease, by kube-scheduler's rules.

The clocks of other machines are never compared with ours: a lease is over once it was *seen* unchanged for so long.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec

from kube_client import lease_record
from kube_client.client import Client, Options
from kube_client.errors import ApiError
from kube_client.lease_record import Record, Terms
from kube_client.retries import NEVER

T = TypeVar("T")
Work: TypeAlias = Callable[[], Coroutine[Any, Any, T]]

log = logging.getLogger(__name__)


class LeaseLost(Exception):
    """The lease could not be renewed in time: somebody else may hold it now, and the work was cancelled."""


@dataclass(frozen=True, slots=True)
class LeaseName:
    """Which Lease decides."""

    namespace: str
    name: str

    @property
    def collection(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"

    @property
    def path(self) -> str:
        return f"{self.collection}/{self.name}"


@dataclass(slots=True)
class _Seen:
    """The lease as last read, and when it was first seen like that."""

    record: Record
    at: float


class LeaderElector:
    """Competes for one Lease under one identity, which must be unique (`<hostname>_<uuid>`)."""

    def __init__(self, client: Client, lease: LeaseName, identity: str, terms: Terms | None = None) -> None:
        self._client = client
        self._timing = client.timing
        self._lease = lease
        self._identity = identity
        self._terms = terms or Terms()
        self._seen: _Seen | None = None
        self._renewed_at: float | None = None
        # A hanging call must leave time for another try before the deadline.
        seconds = self._terms.renew_deadline.total_seconds() / 2
        self._once = Options(timeout_seconds=seconds, retries=NEVER)

    @property
    def holder(self) -> str:
        """Who held the lease when it was last read; empty if nobody."""
        return self._seen.record.holder if self._seen else ""

    @property
    def leading(self) -> bool:
        """Whether it is certain that nobody else may work now; ask before each write that must not happen twice.

        Counted from before the last successful renewal was sent, so it also fails after this process was stopped for
        a while, when nothing here has run yet that could have noticed.
        """
        return self._renewed_at is not None and self._age() < self._terms.renew_deadline.total_seconds()

    @property
    def overdue_seconds(self) -> float:
        """How far past its duration a lease that we think we hold is; kube-scheduler is unhealthy from 20 s on."""
        if self._renewed_at is None:
            return 0.0
        return max(0.0, self._age() - self._terms.lease_duration.total_seconds())

    async def lead(self, work: Work[T]) -> T:
        """Wait for the lease, do the work while it is held, give it up; raise LeaseLost if it could not be kept.

        The work is cancelled when the lease is lost, or when this call is; in the second case the lease is kept until
        the work has ended, so that it can finish what is in flight.
        """
        await self._acquire()
        try:
            return await self._work_while_held(work)
        finally:
            await self._release()

    async def _work_while_held(self, work: Work[T]) -> T:
        working = asyncio.create_task(work())
        renewing = asyncio.create_task(self._renew())
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
            lost = not working.done()
        finally:
            # Also when we are cancelled: the lease goes on being renewed while the work winds up.
            await self._wind_up(working, renewing)
        if lost:
            renewing.result()
            raise LeaseLost(f"{self._lease.namespace}/{self._lease.name}: not renewed in time")
        return working.result()

    async def _wind_up(self, working: asyncio.Task[T], renewing: asyncio.Task[None]) -> None:
        try:
            if not working.done():
                working.cancel()
                await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                # Lost: what is left of the lease's duration is all the time the work has.
                left = self._terms.lease_duration - self._terms.renew_deadline
                await asyncio.wait((working,), timeout=left.total_seconds())
        finally:
            renewing.cancel()
            await asyncio.wait((renewing,))
        if working.done() and not working.cancelled() and working.exception() is not None:
            log.error("leader's work failed error=%r", working.exception())

    async def _acquire(self) -> None:
        log.info("lease wanted lease=%s/%s identity=%s", self._lease.namespace, self._lease.name, self._identity)
        while not await self._try():
            stretch = 1 + self._terms.jitter * self._timing.random()
            await self._timing.sleep(self._terms.retry_period.total_seconds() * stretch)
        log.info("lease acquired lease=%s/%s identity=%s", self._lease.namespace, self._lease.name, self._identity)

    async def _renew(self) -> None:
        """Renew for ever; return once the deadline has passed without success, or another holder is seen."""
        while (left := self._terms.renew_deadline.total_seconds() - self._age()) > 0:
            await self._timing.sleep(min(left, self._terms.retry_period.total_seconds()))
            try:
                async with asyncio.timeout(max(0.0, self._terms.renew_deadline.total_seconds() - self._age())):
                    renewed = await self._try()
            except TimeoutError:
                break
            if not renewed and self.holder not in ("", self._identity):
                break
        log.error("lease lost lease=%s/%s holder=%s", self._lease.namespace, self._lease.name, self.holder)
        self._renewed_at = None

    async def _try(self) -> bool:
        """Take or renew the lease once; False: held by another, or the API server did not do it."""
        started = self._timing.monotonic()
        try:
            written = await self._write()
        except ApiError as error:
            log.warning("lease call failed lease=%s/%s error=%s", self._lease.namespace, self._lease.name, error)
            return False
        if written is None:
            return False
        self._observe(written)
        self._renewed_at = started
        return True

    async def _write(self) -> Record | None:
        if self._seen is not None and self.leading and self.holder == self._identity:
            # Nobody writes a lease that is held, so the version known is most likely the current one.
            try:
                return await self._put(self._seen.record.held_by(self._identity, self._terms, self._timing.utc_now()))
            except ApiError as error:
                if not error.is_conflict and not error.is_not_found:
                    raise
        try:
            record = await self._get()
        except ApiError as error:
            if not error.is_not_found:
                raise
            return await self._create()
        self._observe(record)
        if record.holder not in ("", self._identity) and not self._over():
            return None
        return await self._put(record.held_by(self._identity, self._terms, self._timing.utc_now()))

    def _observe(self, record: Record) -> None:
        if self._seen is None or self._seen.record.version != record.version:
            self._seen = _Seen(record, self._timing.monotonic())

    def _over(self) -> bool:
        if self._seen is None:
            return False
        return self._timing.monotonic() - self._seen.at > self._seen.record.duration_seconds

    def _age(self) -> float:
        return self._timing.monotonic() - (self._renewed_at or 0.0)

    async def _release(self) -> None:
        """Give the lease up if it is still ours; failing at that only makes the next holder wait."""
        if self._renewed_at is None:
            return
        self._renewed_at = None
        try:
            async with asyncio.timeout(self._terms.renew_deadline.total_seconds()):
                while not await self._released():
                    pass
        except (ApiError, TimeoutError) as problem:
            log.warning("lease not released lease=%s/%s error=%s", self._lease.namespace, self._lease.name, problem)

    async def _released(self) -> bool:
        record = await self._get()
        if record.holder != self._identity:
            return True
        try:
            await self._put(record.released(self._timing.utc_now()))
        except ApiError as error:
            # A renewal that was still under way has changed the version.
            if error.is_conflict:
                return False
            raise
        log.info("lease released lease=%s/%s identity=%s", self._lease.namespace, self._lease.name, self._identity)
        return True

    async def _get(self) -> Record:
        return _record(await self._client.request("GET", self._lease.path, None, self._once))

    async def _put(self, record: Record) -> Record:
        return _record(await self._client.request("PUT", self._lease.path, record.lease, self._once))

    async def _create(self) -> Record:
        name = self._lease
        record = lease_record.first(name.namespace, name.name, self._identity, self._terms, self._timing.utc_now())
        return _record(await self._client.request("POST", name.collection, record.lease, self._once))


def _record(body: bytes) -> Record:
    return Record(msgspec.json.decode(body, type=dict[str, Any]))
