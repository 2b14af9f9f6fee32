"""Reads from API objects how a pod stands when its ReplicaSet is scaled down, and which pods crowd it. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from cluster_model import deletion_cost, label_selectors
from cluster_model.label_selectors import IN, Selector, UnreadableSelector
from cluster_model.objects import OwnerReference
from deletion_cost.pod_objects import Meta, Pod, ReplicaSet
from deletion_cost.victims import Standing

_ZERO_TIME = "0001-01-01T00:00:00Z"


def read(pod: Pod) -> Standing:
    """Read how a pod stands."""
    meta = pod.metadata
    restarts, sidecar_restarts = _most_restarts(pod)
    ready = next((one for one in pod.status.conditions if one.type == "Ready"), None)
    is_ready = ready is not None and ready.status == "True"
    return Standing(
        name=meta.name,
        uid=meta.uid,
        node=pod.spec.node_name,
        phase=pod.status.phase,
        is_ready=is_ready,
        ready_since=seconds(ready.last_transition_time) if ready is not None and is_ready else None,
        cost=cost(meta),
        restarts=restarts,
        sidecar_restarts=sidecar_restarts,
        created=seconds(meta.creation_timestamp),
        is_terminating=meta.deletion_timestamp is not None,
    )


def cost(meta: Meta) -> int:
    """Read a pod's cost as the ReplicaSet controller does: absent or malformed is 0."""
    text = meta.annotations.get(deletion_cost.ANNOTATION)
    if text is None:
        return 0
    try:
        return deletion_cost.parse(text)
    except ValueError:
        return 0


def seconds(text: str | None) -> int | None:
    """Read a metav1.Time as seconds since the epoch; None where it is not set."""
    return None if not text or text == _ZERO_TIME else int(datetime.fromisoformat(text).timestamp())


def controller(meta: Meta) -> OwnerReference | None:
    """Return the owner that manages an object."""
    return next((owner for owner in meta.owner_references if owner.controller), None)


class Relations:
    """Pods and ReplicaSets of a moment, indexed to answer which pods crowd the nodes of one ReplicaSet's."""

    def __init__(self, pods: Iterable[Pod], replica_sets: Iterable[ReplicaSet]) -> None:
        self._pods: defaultdict[str, list[Pod]] = defaultdict(list)
        self._labelled: defaultdict[tuple[str, str, str], list[Pod]] = defaultdict(list)
        for pod in pods:
            self._add(pod)
        self._of_controller: defaultdict[str, list[ReplicaSet]] = defaultdict(list)
        for replica_set in replica_sets:
            if owner := controller(replica_set.metadata):
                self._of_controller[owner.uid].append(replica_set)

    def related(self, replica_set: ReplicaSet) -> tuple[Pod, ...]:
        """Return the pods that any ReplicaSet with the same controller selects, owned or not; none for a bare one."""
        owner = controller(replica_set.metadata)
        if owner is None:
            return ()
        found = {pod.metadata.uid: pod for other in self._of_controller[owner.uid] for pod in self._selected(other)}
        return tuple(found.values())

    def _add(self, pod: Pod) -> None:
        namespace = pod.metadata.namespace
        self._pods[namespace].append(pod)
        for key, value in pod.metadata.labels.items():
            self._labelled[namespace, key, value].append(pod)

    def _selected(self, replica_set: ReplicaSet) -> Iterator[Pod]:
        try:
            selector = label_selectors.read(replica_set.spec.selector)
        except UnreadableSelector:
            return
        for pod in self._fewest(replica_set.metadata.namespace, selector):
            if selector.matches(pod.metadata.labels):
                yield pod

    def _fewest(self, namespace: str, selector: Selector) -> list[Pod]:
        """Return the shortest indexed list that holds all pods that the selector can match."""
        exact = (one for one in selector.requirements if one.operator == IN and len(one.values) == 1)
        lists = [self._labelled.get((namespace, one.key, one.values[0]), []) for one in exact]
        return min(lists, key=len, default=self._pods.get(namespace, []))


def _most_restarts(pod: Pod) -> tuple[int, int]:
    """Return the most restarts of one normal container, and of one sidecar."""
    sidecars = {one.name for one in pod.spec.init_containers if one.restart_policy == "Always"}
    normal = max((one.restart_count for one in pod.status.container_statuses), default=0)
    beside = (one.restart_count for one in pod.status.init_container_statuses if one.name in sidecars)
    return max(normal, 0), max(beside, default=0)
