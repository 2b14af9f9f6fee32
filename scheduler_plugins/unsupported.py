"""UnsupportedConstraints: refuse a pod whose hard constraints we cannot keep yet; nothing is dropped in silence."""

from cluster_model.pod import PendingPod
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import ReasonSet, cures

NAME = "UnsupportedConstraints"
CURES = cures(Event.POD_UPDATE)


def refuse(pod: PendingPod) -> ReasonSet:
    """Name every malformed annotation and every hard constraint that is not implemented."""
    malformed = tuple(Reason(str(problem), CURES) for problem in pod.request.problems)
    unknown = (Reason(f"{path} is not supported by this scheduler yet", CURES) for path in pod.request.unsupported)
    return malformed + tuple(unknown)
