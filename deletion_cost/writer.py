"""Sends costs to the API server as the budget allows, one merge patch of the one key each. It chooses no value."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cluster_model import deletion_cost
from deletion_cost.budget import Budget
from deletion_cost.fleet import Fleet, Member
from deletion_cost.metrics import Metrics
from deletion_cost.ownership import OURS
from deletion_cost.plan import Urgency, Wanted
from deletion_cost.pod_objects import Pod
from kube_client.client import MERGE_PATCH, Client, Options
from kube_client.errors import ApiError
from kube_client.retries import NEVER

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
RETRY_SECONDS = 5.0
THROTTLED_SECONDS = 1.0  # where the API server says nothing of its own
FORBIDDEN_SECONDS = 30.0  # without the right no write passes
DENIED_SECONDS = 300.0  # somebody's policy denies changes of this pod; others may be changed
NO_RIGHT = "cannot patch resource"  # how the API server says that it is the right that is missing

# Ends before a lease that is lost while it is under way can pass to another.
PATCH = Options(content_type=MERGE_PATCH, params={"fieldManager": OURS}, timeout_seconds=5.0, retries=NEVER)


@dataclass(slots=True)
class Suppressed:
    """Values that were not sent after all."""

    equal: int = 0
    gone: int = 0
    stood_down: int = 0
    not_leading: int = 0


@dataclass(slots=True)
class Writer:
    """The only one who changes pods."""

    client: Client
    fleet: Fleet
    budget: Budget
    metrics: Metrics
    may_write: Callable[[], bool]
    suppressed: Suppressed = field(default_factory=Suppressed)
    _in_flight: set[str] = field(default_factory=set)  # UIDs of pods
    _decoder: msgspec.json.Decoder[Pod] = field(default_factory=lambda: msgspec.json.Decoder(Pod))

    async def run(self) -> None:
        """Write until cancelled; what is in flight then ends first."""
        timing = self.client.timing
        async with asyncio.TaskGroup() as group:
            while True:
                for replica_set, wanted in self.budget.take(timing.monotonic()):
                    # Not cancelled with us: an answer must be heard, or our own write would look like another's.
                    group.create_task(_to_its_end(self.write(replica_set, wanted)))
                await timing.sleep(LOOK_SECONDS)

    async def write(self, replica_set: str, wanted: Wanted) -> None:
        """Send one value, if it still should be sent and none is on its way."""
        member = self.fleet.member(replica_set, wanted.uid)
        if member is None or not self._still_wanted(member, wanted):
            self.suppressed.gone += member is None
            self.budget.unspent(wanted.urgency == Urgency.REFINE)
            return
        if wanted.uid in self._in_flight:
            # One at a time: the answer to the first would be taken for that to the second, and its echo for another's.
            self.budget.unspent(wanted.urgency == Urgency.REFINE)
            self.budget.put_back(replica_set, wanted, self.client.timing.monotonic(), LOOK_SECONDS)
            return
        self._in_flight.add(wanted.uid)
        try:
            await self._send(replica_set, wanted, member)
        finally:
            self._in_flight.discard(wanted.uid)

    async def _send(self, replica_set: str, wanted: Wanted, member: Member) -> None:
        """Send it and take the answer."""
        before, meta = member.ownership.value, member.pod.metadata
        member.ownership.sending(wanted.value)
        path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}"
        try:
            answer = await self.client.request("PATCH", path, _patch(wanted), PATCH)
        except ApiError as error:
            self._failed(replica_set, wanted, member, error)
            return
        self.metrics.wrote("written")
        self._take(answer)
        why = wanted.urgency.name.lower()
        log.info("cost written pod=%s/%s cost=%s was=%s why=%s", meta.namespace, meta.name, wanted.value, before, why)

    def _take(self, answer: bytes) -> None:
        try:
            self.fleet.answer(self._decoder.decode(answer))
        except ValueError as problem:  # the watch will tell what has become of the pod
            log.warning("answer unreadable problem=%s", problem)

    def _still_wanted(self, member: Member, wanted: Wanted) -> bool:
        if not self.may_write():
            self.suppressed.not_leading += 1
        elif member.ownership.stood_down:
            self.suppressed.stood_down += 1
        elif member.ownership.value == wanted.value:
            self.suppressed.equal += 1
        else:
            return True
        return False

    def _failed(self, replica_set: str, wanted: Wanted, member: Member, error: ApiError) -> None:
        """Drop what can never be written, keep what may be written later; a newer value always goes first."""
        now = self.client.timing.monotonic()
        result = _result(error)
        self.metrics.wrote(result)
        if result == "throttled":
            wait = error.retry_after_seconds or THROTTLED_SECONDS
            self.budget.refused(now, wait)
            self.budget.put_back(replica_set, wanted, now, wait)
        elif result == "forbidden" and (error.status == 401 or NO_RIGHT in error.message):
            self.budget.refused(now, FORBIDDEN_SECONDS)
        elif result == "forbidden":
            self.budget.put_back(replica_set, wanted, now, DENIED_SECONDS)
        elif result == "error":
            self.budget.put_back(replica_set, wanted, now, max(RETRY_SECONDS, error.retry_after_seconds or 0.0))
        meta = member.pod.metadata
        log.warning("cost not written pod=%s/%s cost=%s error=%s", meta.namespace, meta.name, wanted.value, error)


def _patch(wanted: Wanted) -> dict[str, Any]:
    """Change the one key of this very pod: of another one of the same name the API server refuses the UID."""
    value = None if wanted.value is None else str(wanted.value)
    return {"metadata": {"uid": wanted.uid, "annotations": {deletion_cost.ANNOTATION: value}}}


def _result(error: ApiError) -> str:
    if error.is_throttled:
        return "throttled"
    known = {404: "gone", 409: "conflict", 422: "invalid", 400: "invalid", 403: "forbidden", 401: "forbidden"}
    return known.get(error.status, "error")


async def _to_its_end(work: Any) -> None:
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
