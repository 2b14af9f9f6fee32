"""Writes the pod condition that says why a pod is not scheduled, as kube-scheduler does. Words come from the caller."""

from datetime import datetime
from typing import Any, Literal

from cluster_model import objects
from kube_client.client import Client
from kube_client.errors import ApiError
from kube_client.timing import rfc3339

POD_SCHEDULED = "PodScheduled"
Reason = Literal["Unschedulable", "SchedulerError"]


async def set_unscheduled(client: Client, pod: objects.Pod, reason: Reason, message: str) -> bool:
    """Set PodScheduled=False unless the pod as last seen has it so; tell whether it was written.

    A pod that is gone, or replaced by another of its name, is left alone.
    """
    old = next((condition for condition in pod.status.conditions if condition.type == POD_SCHEDULED), None)
    patch = _patch(pod, old, (reason, message), client.timing.utc_now())
    if patch is None:
        return False
    path = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}/status"
    try:
        await client.patch(path, patch)
    except ApiError as error:
        # 409: the uid is not ours any more. No resourceVersion is sent, so nothing else conflicts.
        if error.is_not_found or error.is_conflict:
            return False
        raise
    return True


def _patch(
    pod: objects.Pod, old: objects.PodCondition | None, words: tuple[Reason, str], now: datetime
) -> dict[str, Any] | None:
    reason, message = words
    condition: dict[str, Any] = {"type": POD_SCHEDULED, "status": "False", "reason": reason, "message": message}
    if pod.metadata.generation:
        condition["observedGeneration"] = pod.metadata.generation
    if old is None or old.status != "False":
        # The time of the last change of `status`; where that stays as it is, the merge keeps the time.
        condition["lastTransitionTime"] = rfc3339(now)
    elif (old.reason, old.message) == words:
        return None
    # The uid is a precondition: a pod that was created anew under this name is not ours to describe.
    return {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}}
