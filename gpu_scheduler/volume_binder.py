"""Binds the volumes of a decided pod before the pod itself: reckons with them, writes what is wanted, waits for it.

The writes only start the binding. The volume controller and provisioners finish it, and what they do comes back through
the watches. A write that was done is not undone when the rest fails: the next attempt builds on it.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.state import ClusterState
from cluster_model.storage_objects import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from kube_client import volumes
from kube_client.client import Client
from kube_client.errors import ApiError
from scheduler_plugins import volume_binding, volume_topology
from scheduler_plugins.framework import PluginError

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5


class NotBound(PluginError):
    """The volumes of a pod could not be bound; the message is what kube-scheduler says of it."""


@dataclass(slots=True)
class Reservation:
    """What is reckoned with for one pod on one node; `written` counts what the server has been told of it."""

    node: str
    timeout_seconds: float
    volumes: list[tuple[PersistentVolume, PersistentVolumeClaim]] = field(default_factory=list)
    claims: list[PersistentVolumeClaim] = field(default_factory=list)
    written_volumes: int = 0
    written_claims: int = 0


@dataclass(frozen=True, slots=True)
class Pacing:
    """The clock, how to wait, and whether this process may write."""

    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    may_write: Callable[[], bool]


class VolumeBinder:
    """Reserves, binds and gives back the volumes of pods."""

    def __init__(self, client: Client, state: ClusterState, pacing: Pacing) -> None:
        self._client = client
        self._state = state
        self._pacing = pacing
        self.failures: Counter[str] = Counter()  # by stage, under kube-scheduler's names

    def reserve(self, pod: PendingPod, node: str, snapshot: Snapshot, timeout_seconds: float) -> Reservation | None:
        """Reckon with the volumes that a decision rests on; None where nothing is to be bound."""
        plan = volume_binding.plan(pod, snapshot, node)
        if not plan.bindings and not plan.provisions:
            return None
        made = Reservation(node, timeout_seconds)
        for volume, claim in plan.bindings:
            wanted = _claimed(volume, claim)
            self._state.storage.assume_volume(wanted)
            made.volumes.append((wanted, claim))
        for claim in plan.provisions:
            wanted_claim = _sent(claim, node)
            self._state.storage.assume_claim(wanted_claim)
            made.claims.append(wanted_claim)
        return made

    def give_back(self, made: Reservation) -> None:
        """Reckon no more with what was not written; what was written is true, or the watch tells better."""
        for volume, _ in made.volumes[made.written_volumes :]:
            self._state.storage.restore_volume(volume)
        for claim in made.claims[made.written_claims :]:
            self._state.storage.restore_claim(claim)

    async def bind(self, made: Reservation, exists: Callable[[], bool]) -> None:
        """Write what is wanted, then wait until all of it is bound; raise NotBound where that fails or lasts too long.

        `exists` says whether the pod still does.
        """
        try:
            await self._bind(made, exists)
        except NotBound:
            self.failures["bind"] += 1
            raise

    async def _bind(self, made: Reservation, exists: Callable[[], bool]) -> None:
        try:
            await self._write(made)
        except ApiError as error:
            raise NotBound(error.message or error.reason) from error
        ends = self._pacing.now() + made.timeout_seconds
        while not self._done(made, exists):
            if self._pacing.now() >= ends:
                raise NotBound("binding volumes: context deadline exceeded")
            await self._pacing.sleep(POLL_SECONDS)

    async def _write(self, made: Reservation) -> None:
        for place, (volume, claim) in enumerate(made.volumes):
            self._check_leading()
            made.volumes[place] = (await volumes.claim(self._client, volume), claim)
            made.written_volumes += 1
        for place, wanted in enumerate(made.claims):
            self._check_leading()
            made.claims[place] = await self._send(wanted, made.node)
            made.written_claims += 1

    async def _send(self, wanted: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
        """Send a claim to a node, unless another pod that uses it has done so."""
        told = self._state.storage.claims.told(wanted.key)
        if told is not None and told.metadata.annotations.get(SELECTED_NODE) == node:
            return told
        try:
            return await volumes.select_node(self._client, wanted)
        except ApiError as error:
            if not error.is_conflict:
                raise
            await self._pacing.sleep(POLL_SECONDS)
            told = self._state.storage.claims.told(wanted.key)
            if told is None or told.metadata.annotations.get(SELECTED_NODE) != node:
                raise
            return told

    def _check_leading(self) -> None:
        if not self._pacing.may_write():
            raise NotBound("binding volumes: another scheduler leads")

    def _done(self, made: Reservation, exists: Callable[[], bool]) -> bool:
        """Say whether all is bound; raise NotBound for what will never be."""
        if self._state.node(made.node) is None:
            raise _failed(f'failed to get node "{made.node}": node "{made.node}" not found')
        if not exists():
            raise _failed("pod does not exist any more")
        return all(self._is_bound(volume, claim, made.node) for volume, claim in made.volumes) and all(
            self._is_made(claim, made.node) for claim in made.claims
        )

    def _is_bound(self, written: PersistentVolume, claim: PersistentVolumeClaim, node: str) -> bool:
        name = written.metadata.name
        volume, told = self._state.storage.volumes.told(name), self._state.storage.claims.told(claim.key)
        if volume is None:
            raise _failed(f'failed to check binding: persistentvolume "{name}" not found')
        if told is None:
            raise _failed(f'failed to check binding: persistentvolumeclaim "{claim.metadata.name}" not found')
        if _is_older(volume, written):
            return False
        self._check_node(volume, node)
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            raise _failed(f'ClaimRef got reset for pv "{name}"')
        return told.fully_bound

    def _is_made(self, written: PersistentVolumeClaim, node: str) -> bool:
        name, told = written.metadata.name, self._state.storage.claims.told(written.key)
        if told is None:
            raise _failed(f'failed to check provisioning pvc: persistentvolumeclaim "{name}" not found')
        if _is_older(told, written):
            return False
        if not told.metadata.annotations:
            raise _failed(f'selectedNode annotation reset for PVC "{name}"')
        if told.metadata.annotations.get(SELECTED_NODE) != node:
            raise _failed(f'provisioning failed for PVC "{name}"')
        if told.spec.volume_name:
            volume = self._state.storage.volumes.told(told.spec.volume_name)
            if volume is None:
                return False
            self._check_node(volume, node)
        return told.fully_bound

    def _check_node(self, volume: PersistentVolume, node: str) -> None:
        """Fail where the volume cannot be used on the node after all."""
        if not volume_topology.is_usable(volume, self._state.snapshot(), node):
            said = f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node}"'
            raise _failed(f"{said}: no matching NodeSelectorTerms")


def _claimed(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return a volume as it is to be written for a claim; one that was reserved by hand keeps saying so."""
    meta = claim.metadata
    wanted = ObjectReference(
        kind="PersistentVolumeClaim",
        api_version="v1",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
    spec = msgspec.structs.replace(volume.spec, claim_ref=wanted)
    if volume.spec.claim_ref is not None:
        return msgspec.structs.replace(volume, spec=spec)
    marks = {**volume.metadata.annotations, BOUND_BY_CONTROLLER: "yes"}
    return msgspec.structs.replace(
        volume, spec=spec, metadata=msgspec.structs.replace(volume.metadata, annotations=marks)
    )


def _sent(claim: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
    marks = {**claim.metadata.annotations, SELECTED_NODE: node}
    return msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, annotations=marks))


def _failed(what: str) -> NotBound:
    return NotBound(f"binding volumes: {what}")


def _is_older(
    told: PersistentVolume | PersistentVolumeClaim, written: PersistentVolume | PersistentVolumeClaim
) -> bool:
    """Say whether the watch still tells a state from before our write."""
    return _version(told.metadata.resource_version) < _version(written.metadata.resource_version)


def _version(text: str) -> int:
    return int(text) if text.isdecimal() else 0
