"""Judges a change of the cluster with our hints, and says where they differ from those of kube-scheduler's plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cluster_model import node_record, objects, pod_changes, storage_objects
from cluster_model.node_record import NodeRecord
from cluster_model.pod import PendingPod
from cluster_model.pod_owners import OwnerTable
from cluster_model.verdict import Event
from scheduler_plugins.hints.interest import Hint, Interests
from scheduler_plugins.hints.table import HOLDING
from tests.differential import profiles
from tests.differential.answers import FrameworkAnswer, Stored
from tests.differential.compare import Difference
from tests.differential.framework import Case

TYPES: Mapping[str, type] = {
    "Node": objects.Node,
    "AssignedPod": objects.Pod,
    "TargetPod": objects.Pod,
    "PersistentVolume": storage_objects.PersistentVolume,
    "PersistentVolumeClaim": storage_objects.PersistentVolumeClaim,
    "storage.k8s.io/StorageClass": storage_objects.StorageClass,
    "storage.k8s.io/CSINode": storage_objects.CsiNode,
    "storage.k8s.io/CSIDriver": storage_objects.CsiDriver,
    "storage.k8s.io/CSIStorageCapacity": storage_objects.CsiStorageCapacity,
    "storage.k8s.io/VolumeAttachment": storage_objects.VolumeAttachment,
}
# Nobody registers for it, and with us only what was read from an annotation is told.
UNTOLD = frozenset({Event.NODE_ANNOTATION.value})


def differences(case: Case, answer: FrameworkAnswer) -> tuple[Difference, ...]:
    """Return all that differs: the events of the change, and for each what every plugin says."""
    if answer.error:
        return (Difference("case", answer.error, ""),)
    return tuple(_differences(case, answer))


def _differences(case: Case, answer: FrameworkAnswer) -> Iterator[Difference]:
    stored = answer.objects()
    assert stored.change is not None
    kind, pod = stored.change.kind, PendingPod.read(stored.pod)
    old = read(kind, stored.change.old)
    new = pod if kind == "TargetPod" else read(kind, stored.change.new)
    told = {heard.event for heard in answer.heard} - UNTOLD
    ours = set(events(kind, old, new)) - UNTOLD
    if told != ours:
        yield Difference("events", sorted(told), sorted(ours))
    known = _known(case, stored)
    for heard in answer.heard:
        for plugin in sorted({*known, *heard.hints} & {*known}):
            theirs = heard.hints.get(plugin, "")
            said = hint(known[plugin], heard.event, (pod, old, new))
            if theirs != said:
                yield Difference(f"{plugin} of {heard.event}", theirs, said)


def events(kind: str, old: Any, new: Any) -> tuple[str, ...]:
    """Name the events of a change as our state and queue name them."""
    if old is None or new is None:
        return (f"{kind}{'Add' if old is None else 'Delete'}",)
    if isinstance(new, NodeRecord):
        return tuple(node_record.changes(old, new))
    return pod_changes.changes(old, new) if isinstance(new, PendingPod) else (f"{kind}Update",)


def hint(interests: Interests, event: str, asked: tuple[PendingPod, Any, Any]) -> str:
    """Say what a plugin's hints come to; empty where it does not hear of the event."""
    said = [
        str(judge(*asked))
        for one in interests
        if (judge := one.judges.get(event)) is not None  # type: ignore[call-overload]
    ]
    return next((one for one in said if one != Hint.SKIP), said[0] if said else "")


def _known(case: Case, stored: Stored) -> dict[str, Interests]:
    owners = OwnerTable()
    for owner in stored.owners():
        owners.set(owner)
    profile = profiles.ours(case.get("config"))
    found = {one.name: one.hints(owners.frozen().selector) for one in profile.filters if one.hints is not None}
    return found | dict(HOLDING)


def read(kind: str, raw: msgspec.Raw) -> Any:
    if bytes(raw) == b"null":
        return None
    found: Any = msgspec.json.decode(raw, type=TYPES[kind])
    if kind == "Node":
        return NodeRecord.read(found, None, ())
    return PendingPod.read(found) if kind in ("AssignedPod", "TargetPod") else found
