"""Events in the form that kube-scheduler gives them, as bodies for events.k8s.io/v1. Sends nothing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec

from cluster_model import objects
from kube_client.changes import KubeObject
from kube_client.timing import micro_time

NOTE_BYTES = 1024
NOTE_CUT = " ..."
NAME_LENGTH = 253
INSTANCE_LENGTH = 128


@dataclass(frozen=True, slots=True)
class Words:
    """What an event says."""

    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str
    # Something that can happen to the same pod again; such events are counted as a series.
    repeats: bool = True


@dataclass(frozen=True, slots=True)
class Kind:
    """What kind of object an event is about."""

    api_version: str
    kind: str


POD = Kind("v1", "Pod")


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who says it: kubectl shows the controller as From."""

    controller: str
    instance: str


def reporter(scheduler_name: str, hostname: str) -> Reporter:
    """Report as kube-scheduler does, within the API server's limit on the instance's length."""
    return Reporter(scheduler_name, f"{scheduler_name}-{hostname}"[:INSTANCE_LENGTH])


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One thing that happened to one object, most often a pod, at one time."""

    pod: KubeObject
    words: Words
    reporter: Reporter
    moment: datetime
    nanoseconds: int  # of the name; unique within the reporter
    kind: Kind = POD


@dataclass(frozen=True, slots=True)
class Series:
    """How often the same happened, and when last."""

    count: int
    last: datetime


def scheduled(pod: objects.Pod, node: str) -> Words:
    """Say that the pod was bound; that happens once."""
    note = f"Successfully assigned {pod.metadata.namespace}/{pod.metadata.name} to {node}"
    return Words("Normal", "Scheduled", "Binding", note, repeats=False)


def failed_scheduling(message: str) -> Words:
    """Say why the pod was not bound."""
    return Words("Warning", "FailedScheduling", "Scheduling", message)


def preempted(preemptor: objects.Pod, node: str, recalled: bool = False) -> Words:
    """Say to a victim for whom it had to go; that happens once, unless it was recalled before it was bound."""
    note = f"Preempted by pod {preemptor.metadata.uid} on node {node}"
    note += " (in kube-scheduler memory)." if recalled else ""
    return Words("Normal", "Preempted", "Preempting", note, repeats=False)


class _Regarding(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    namespace: str
    uid: str
    resource_version: str = ""
    kind: str = ""
    api_version: str = ""


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str


class _Event(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    metadata: _Metadata
    event_time: str
    type: str
    reason: str
    action: str
    note: str
    regarding: _Regarding
    reporting_controller: str
    reporting_instance: str
    series: dict[str, Any] | None = None
    kind: str = ""
    api_version: str = ""


def name(happened: Occurrence) -> str:
    """Name an event `<pod>.<hex nanoseconds>`, the pod's name cut where the whole would be too long."""
    suffix = f".{happened.nanoseconds:x}"
    return happened.pod.metadata.name[: NAME_LENGTH - len(suffix)].rstrip(".-") + suffix


def create_body(happened: Occurrence, series: Series | None = None) -> bytes:
    """Build the body of a POST."""
    meta, words = happened.pod.metadata, happened.words
    event = _Event(
        metadata=_Metadata(name(happened), meta.namespace),
        event_time=micro_time(happened.moment),
        type=words.type,
        reason=words.reason,
        action=words.action,
        note=cut(words.note),
        regarding=_regarding(happened),
        reporting_controller=happened.reporter.controller,
        reporting_instance=happened.reporter.instance,
        series=None if series is None else _series(series),
        kind="Event",
        api_version="events.k8s.io/v1",
    )
    return msgspec.json.encode(event)


def series_patch(series: Series) -> dict[str, Any]:
    """Build the strategic merge patch that counts on."""
    return {"series": _series(series)}


def cut(note: str) -> str:
    """Shorten a note to 1024 bytes of UTF-8, at a character, marked as shortened."""
    raw = note.encode()
    if len(raw) <= NOTE_BYTES:
        return note
    return raw[: NOTE_BYTES - len(NOTE_CUT)].decode(errors="ignore") + NOTE_CUT


def _regarding(happened: Occurrence) -> _Regarding:
    meta, kind = happened.pod.metadata, happened.kind
    return _Regarding(meta.name, meta.namespace, meta.uid, meta.resource_version, kind.kind, kind.api_version)


def _series(series: Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": micro_time(series.last)}
