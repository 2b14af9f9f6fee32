"""The ReplicaSets that watches tell of, and which of them are revisions of one workload. It decides nothing."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from deletion_cost import standings
from deletion_cost.pod_objects import ReplicaSet
from kube_client.changes import Added, Change, Deleted, Modified


@dataclass(slots=True)
class Revisions:
    """All ReplicaSets by UID."""

    _known: dict[str, ReplicaSet] = field(default_factory=dict)
    _of_controller: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def take(self, change: Change[ReplicaSet]) -> None:
        """Take a change of a ReplicaSet."""
        match change:
            case Added(found) | Modified(found, _):
                self._known[found.metadata.uid] = found
                if owner := standings.controller(found.metadata):
                    self._of_controller[owner.uid].add(found.metadata.uid)
            case Deleted(found):
                self._forget(found)

    def __contains__(self, uid: str) -> bool:
        return uid in self._known

    def get(self, uid: str) -> ReplicaSet | None:
        """Return a ReplicaSet."""
        return self._known.get(uid)

    def of_one_workload(self, replica_set: ReplicaSet) -> Iterator[ReplicaSet]:
        """Give all ReplicaSets with the same controller, this one among them; none for a bare one."""
        owner = standings.controller(replica_set.metadata)
        for uid in self._of_controller.get(owner.uid, ()) if owner is not None else ():
            yield self._known[uid]

    def _forget(self, found: ReplicaSet) -> None:
        uid = found.metadata.uid
        self._known.pop(uid, None)
        if owner := standings.controller(found.metadata):
            self._of_controller[owner.uid].discard(uid)
            if not self._of_controller[owner.uid]:
                del self._of_controller[owner.uid]
