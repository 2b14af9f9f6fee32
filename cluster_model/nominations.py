"""Which pods wait for room that is being made for them, and on which node. Knows nothing of what they ask for."""

from collections.abc import Iterable, Iterator

from cluster_model import objects
from cluster_model.pod import PendingPod


class Nominations:
    """Pods by the node they are nominated to. A pod is nominated to one node at most."""

    def __init__(self) -> None:
        self._nodes: dict[str, str] = {}  # UID -> node name
        self._pods: dict[str, dict[str, PendingPod]] = {}  # node name -> UID -> pod

    def set(self, pod: PendingPod, node: str) -> None:
        """Nominate a pod to a node, or to none where the name is empty."""
        uid = pod.pod.metadata.uid
        self.drop(uid)
        if node:
            self._nodes[uid] = node
            self._pods.setdefault(node, {})[uid] = pod

    def drop(self, uid: str) -> PendingPod | None:
        """Forget a pod's nomination; return the pod that had one."""
        node = self._nodes.pop(uid, None)
        if node is None:
            return None
        there = self._pods[node]
        gone = there.pop(uid)
        if not there:
            del self._pods[node]
        return gone

    def take_back(self, pod: objects.Pod) -> bool:
        """Let a pod wait for no node any more; tell whether it did, here or by its status."""
        dropped = self.drop(pod.metadata.uid) is not None
        return dropped or bool(pod.status.nominated_node_name)

    def node(self, uid: str) -> str:
        """Return the node that a pod is nominated to, empty where none is."""
        return self._nodes.get(uid, "")

    def on(self, node: str) -> tuple[PendingPod, ...]:
        """Return the pods nominated to a node."""
        return tuple(self._pods.get(node, {}).values())

    def holding(self, node: str, pod: PendingPod) -> tuple[PendingPod, ...]:
        """Return the others of at least the pod's priority that are nominated to a node."""
        return tuple(_at_least(pod, self._pods.get(node, {}).values()))

    def before(self, pod: PendingPod) -> Iterator[tuple[str, tuple[PendingPod, ...]]]:
        """Yield the nodes where others of at least the pod's priority are nominated, with those others."""
        for node, there in self._pods.items():
            found = tuple(_at_least(pod, there.values()))
            if found:
                yield node, found


def _at_least(pod: PendingPod, others: Iterable[PendingPod]) -> Iterator[PendingPod]:
    uid, priority = pod.pod.metadata.uid, pod.pod.spec.priority
    for other in others:
        if other.pod.spec.priority >= priority and other.pod.metadata.uid != uid:
            yield other
