"""Ends pods that have to make room, as kube-scheduler does: marked first, then deleted with their own grace period."""

from collections.abc import Callable

from cluster_model import objects
from kube_client import conditions
from kube_client.client import Client
from kube_client.errors import ApiError


class Fenced(Exception):
    """Another process may be deciding by now: nothing more was written."""


async def evict(client: Client, victim: objects.Pod, scheduler_name: str, may_write: Callable[[], bool]) -> bool:
    """Mark and delete a pod; False if it is gone already, or another has its name. Raises Fenced between the writes."""
    _ask(may_write)
    await conditions.set_preempted(client, victim, scheduler_name)
    _ask(may_write)
    meta = victim.metadata
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": meta.uid}}
    try:
        await client.delete(f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}", body)
    except ApiError as error:
        if error.is_not_found or error.is_conflict:
            return False
        raise
    return True


def _ask(may_write: Callable[[], bool]) -> None:
    if not may_write():
        raise Fenced("no longer the leader")
