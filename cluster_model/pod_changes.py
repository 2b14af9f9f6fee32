"""What changed between two readings of a pod, in kube-scheduler's kinds of change. Says nothing of whom it helps."""

from collections.abc import Mapping

from cluster_model.pod import PendingPod
from cluster_model.verdict import Event

Kinds = tuple[Event, Event, Event, Event, Event, Event]

OF_ASSIGNED: Kinds = (
    Event.ASSIGNED_POD_LABEL,
    Event.ASSIGNED_POD_SCALE_DOWN,
    Event.ASSIGNED_POD_SCALE_UP,
    Event.ASSIGNED_POD_GATES,
    Event.ASSIGNED_POD_TOLERATION,
    Event.ASSIGNED_POD_UPDATE,
)
OF_WAITING: Kinds = (
    Event.POD_LABEL,
    Event.POD_SCALE_DOWN,
    Event.POD_SCALE_UP,
    Event.POD_GATES,
    Event.POD_TOLERATION,
    Event.POD_UPDATE,
)


def changes(old: PendingPod, new: PendingPod) -> tuple[Event, ...]:
    """Name each kind of change in kube-scheduler's order; one that has no kind of its own is a plain update."""
    *kinds, plain = OF_ASSIGNED if new.pod.spec.node_name else OF_WAITING
    before, after = old.pod, new.pod
    changed = (
        before.metadata.labels != after.metadata.labels,
        _less(new.request.resources, old.request.resources),
        _less(old.request.resources, new.request.resources),
        bool(before.spec.scheduling_gates) and not after.spec.scheduling_gates,
        # Tolerations can only be added.
        len(before.spec.tolerations) != len(after.spec.tolerations),
    )
    found = tuple(kind for kind, differs in zip(kinds, changed, strict=True) if differs)
    return found or (plain,)


def asks_otherwise(old: PendingPod, new: PendingPod) -> bool:
    """Say whether anything changed that a verdict may rest on; what is written into its status is nothing of that."""
    before, after = old.pod, new.pod
    named = [(pod.metadata.labels, pod.metadata.annotations, pod.metadata.owner_references) for pod in (before, after)]
    return before.spec != after.spec or named[0] != named[1] or old.request != new.request


def _less(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Whether some amount is lower in the first, or there only in the second."""
    return any(name not in one or one[name] < amount for name, amount in other.items())
