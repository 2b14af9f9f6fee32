"""UnsupportedConstraints: refuse a pod whose hard constraints we cannot keep yet; nothing is dropped in silence."""

from cluster_model.capacity_type import ANNOTATION, Capacity
from cluster_model.pod import PendingPod
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import ReasonSet, cures

NAME = "UnsupportedConstraints"
CURES = cures(Event.POD_UPDATE)
NO_SPOT_SCHEDULER = Reason(f"metadata.annotations[{ANNOTATION}] needs SpotScheduler, which this profile lacks", CURES)


def refuse(pod: PendingPod, heeds_capacity: bool) -> ReasonSet:
    """Name every malformed annotation and every hard constraint that nothing in the profile heeds."""
    malformed = tuple(Reason(str(problem), CURES) for problem in pod.request.problems)
    unknown = (Reason(f"{path} is not supported by this scheduler yet", CURES) for path in pod.request.unsupported)
    unheeded = not heeds_capacity and pod.request.capacity in (Capacity.SPOT, Capacity.ON_DEMAND)
    return (*malformed, *unknown, *((NO_SPOT_SCHEDULER,) if unheeded else ()))
