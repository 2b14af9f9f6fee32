"""Ends pods that have to make room, as kube-scheduler does: marked first, then deleted with their own grace period."""

from cluster_model import objects
from kube_client import conditions
from kube_client.client import Client
from kube_client.errors import ApiError


async def evict(client: Client, victim: objects.Pod, scheduler_name: str) -> bool:
    """Mark and delete a pod; False if it is gone already, or another has its name."""
    await conditions.set_preempted(client, victim, scheduler_name)
    meta = victim.metadata
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": meta.uid}}
    try:
        await client.delete(f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}", body)
    except ApiError as error:
        if error.is_not_found or error.is_conflict:
            return False
        raise
    return True
