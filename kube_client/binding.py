"""Binds a pod to a node, and finds out what became of a binding whose answer was lost. Chooses nothing."""

import itertools
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from cluster_model import objects
from kube_client.client import Client
from kube_client.errors import ApiError
from kube_client.retries import DEFAULT_BACKOFF

ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Bound:
    """The pod is bound to the node asked for, by this call or by an earlier one."""


@dataclass(frozen=True, slots=True)
class AlreadyBound:
    """Another scheduler was first."""

    node: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The pod was deleted, is being deleted, or another one has its name: it will never be bound."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The pod is not bound. If not `certain`, the binding may still appear: its place must stay taken until a watch or
    a list shows the pod."""

    error: ApiError
    certain: bool


Outcome: TypeAlias = Bound | AlreadyBound | Gone | Failed


class _Target(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    api_version: str = "v1"
    kind: str = "Node"


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str
    uid: str


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Metadata
    target: _Target
    api_version: str = "v1"
    kind: str = "Binding"


async def bind(client: Client, pod: objects.Pod, node: str) -> Outcome:
    """Bind the pod, guarded by its uid: the server binds it once, whatever happens between us and it."""
    path = _path(pod)
    meta = pod.metadata
    body = msgspec.json.encode(_Binding(_Metadata(meta.name, meta.namespace, meta.uid), _Target(node)))
    doubt = False
    for attempt in itertools.count(1):
        try:
            await client.post(f"{path}/binding", body)
            return Bound()
        except ApiError as error:
            failure = error
        doubt = doubt or failure.is_ambiguous
        settled = await _settle(client, pod, node, failure)
        if settled is not None:
            return settled
        if not doubt or attempt == ATTEMPTS:
            return Failed(failure, certain=not doubt)
        # Not blindly: the pod was just seen unbound, or the server cannot be asked. It is the same node each time,
        # so a first call that lands late makes the next one a 409 that reads as Bound.
        await client.timing.sleep(DEFAULT_BACKOFF.seconds(attempt, client.timing.random()))
    raise AssertionError("unreachable")


async def _settle(client: Client, pod: objects.Pod, node: str, error: ApiError) -> Outcome | None:
    """Ask what became of the pod after a failed call; None: it is not bound, or the server does not say."""
    if error.is_not_found:
        return Gone()
    if not error.is_conflict and not error.is_transient:
        return None
    try:
        return _judge(await client.read(_path(pod), objects.Pod), pod, node)
    except ApiError as unasked:
        return Gone() if unasked.is_not_found else None


def _judge(found: objects.Pod, pod: objects.Pod, node: str) -> Outcome | None:
    if found.metadata.uid != pod.metadata.uid:
        return Gone()
    if found.spec.node_name:
        return Bound() if found.spec.node_name == node else AlreadyBound(found.spec.node_name)
    return Gone() if found.metadata.deletion_timestamp else None


def _path(pod: objects.Pod) -> str:
    return f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"
