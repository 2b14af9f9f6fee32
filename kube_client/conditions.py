"""Writes what kube-scheduler writes into the status of pods: why one is not scheduled, where it waits, who must go."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from cluster_model import objects
from kube_client.client import Client
from kube_client.errors import ApiError
from kube_client.retries import DEFAULT_BACKOFF
from kube_client.timing import rfc3339

POD_SCHEDULED = "PodScheduled"
DISRUPTION_TARGET = "DisruptionTarget"
ATTEMPTS = 5
Reason = Literal["Unschedulable", "SchedulerError"]


async def set_unscheduled(
    client: Client, pod: objects.Pod, reason: Reason, message: str, nominated: str | None = None
) -> bool:
    """Set PodScheduled=False unless the pod as last seen has it so; tell whether anything was written.

    `nominated` is the node where room is made for it, empty if that is over, which is always written; None leaves
    what the pod has.
    A pod that is gone, or replaced by another of its name, is left alone.
    """
    status = _condition(pod, (POD_SCHEDULED, "False", reason, message), client.timing.utc_now())
    if nominated is not None and (not nominated or nominated != pod.status.nominated_node_name):
        status["nominatedNodeName"] = nominated or None
    return await patch_status(client, pod, status)


async def set_preempted(client: Client, pod: objects.Pod, scheduler_name: str) -> bool:
    """Mark a pod as a target of preemption; tell whether that was written. False too where the pod is gone."""
    message = f"{scheduler_name}: preempting to accommodate a higher priority pod"
    words = (DISRUPTION_TARGET, "True", "PreemptionByScheduler", message)
    return await patch_status(client, pod, _condition(pod, words, client.timing.utc_now()))


async def nominate(client: Client, pod: objects.Pod, node: str) -> bool:
    """Write on which node the pod is expected before it is bound; tell whether that was written."""
    return await patch_status(client, pod, {"nominatedNodeName": node})


async def clear_nomination(client: Client, pod: objects.Pod) -> bool:
    """Take back that a pod waits for a node; tell whether that was written."""
    return await patch_status(client, pod, {"nominatedNodeName": None})


async def patch_status(client: Client, pod: objects.Pod, status: Mapping[str, Any]) -> bool:
    """Write parts of a pod's status, if there are any; False if there are none, or the pod is not there any more."""
    if not status:
        return False
    # The uid guards it: a pod that was created anew under this name is not ours to describe.
    patch = {"metadata": {"uid": pod.metadata.uid}, "status": status}
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


def _condition(pod: objects.Pod, words: tuple[str, str, str, str], now: datetime) -> dict[str, Any]:
    """Return the part of a status that sets a condition: type, status, reason, message; nothing where it is set."""
    kind, status, reason, message = words
    old = next((condition for condition in pod.status.conditions if condition.type == kind), None)
    condition: dict[str, Any] = {"type": kind, "status": status, "reason": reason, "message": message}
    if pod.metadata.generation:
        condition["observedGeneration"] = pod.metadata.generation
    if old is None or old.status != status:
        # The time of the last change of `status`; where that stays as it is, the merge keeps the time.
        condition["lastTransitionTime"] = rfc3339(now)
    elif (old.reason, old.message) == (reason, message):
        return {}
    return {"conditions": [condition]}
