"""Writes the pod condition that says why a pod is not scheduled, as kube-scheduler does. Words come from the caller."""

from datetime import datetime
from typing import Any, Literal

from cluster_model import objects
from kube_client.client import Client
from kube_client.errors import ApiError
from kube_client.retries import DEFAULT_BACKOFF
from kube_client.timing import rfc3339

POD_SCHEDULED = "PodScheduled"
ATTEMPTS = 5
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
    for attempt in range(1, ATTEMPTS + 1):
        try:
            await client.patch(path, patch)
            return True
        except ApiError as error:
            if error.is_not_found or _is_another(error):
                return False
            # The server gave up after meeting other writers; the patch is as good as before.
            if not error.is_conflict or attempt == ATTEMPTS:
                raise
        await client.timing.sleep(DEFAULT_BACKOFF.seconds(attempt, client.timing.random()))
    raise AssertionError("unreachable")


def _is_another(error: ApiError) -> bool:
    # The server compares the uid as an immutable field, not as a precondition: it answers 422, not 409.
    return error.status == 422 and "metadata.uid" in error.message


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
    # The uid guards it: a pod that was created anew under this name is not ours to describe.
    return {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}}
