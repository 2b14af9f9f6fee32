"""The HorizontalPodAutoscalers that watches tell of, by what they scale. It decides nothing."""

from collections import defaultdict
from dataclasses import dataclass, field

from deletion_cost import standings
from deletion_cost.pod_objects import ReplicaSet
from deletion_cost.scale_down import HorizontalPodAutoscaler
from kube_client.changes import Added, Change, Deleted, Modified

Target = tuple[str, str, str]  # namespace, kind, name


@dataclass(slots=True)
class Autoscalers:
    """All of them: one that is renamed stands for a while beside its old self."""

    _of: defaultdict[Target, dict[str, HorizontalPodAutoscaler]] = field(default_factory=lambda: defaultdict(dict))

    def take(self, change: Change[HorizontalPodAutoscaler]) -> None:
        """Take a change of an autoscaler."""
        match change:
            case Modified(found, old):
                self._forget(old)
                self._of[_target(found)][found.metadata.uid] = found
            case Added(found):
                self._of[_target(found)][found.metadata.uid] = found
            case Deleted(found):
                self._forget(found)

    def of(self, replica_set: ReplicaSet) -> HorizontalPodAutoscaler | None:
        """Return the autoscaler of a ReplicaSet or of what owns it; of several, the one told of last."""
        owner, meta = standings.controller(replica_set.metadata), replica_set.metadata
        kind, name = (owner.kind, owner.name) if owner is not None else ("ReplicaSet", meta.name)
        found = self._of.get((meta.namespace, kind, name), {})
        return next(reversed(found.values()), None)

    def _forget(self, found: HorizontalPodAutoscaler) -> None:
        target = _target(found)
        self._of[target].pop(found.metadata.uid, None)
        if not self._of[target]:
            del self._of[target]


def _target(found: HorizontalPodAutoscaler) -> Target:
    to = found.spec.scale_target_ref
    return found.metadata.namespace, to.kind, to.name
