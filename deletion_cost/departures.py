"""On what occasion a pod is deleted, as far as its ReplicaSets tell. Pure."""

from typing import Literal

from deletion_cost import standings
from deletion_cost.fleet import Fleet, Member

# scale_down: pods of the only revision that has any, of which fewer are wanted. rollout: another revision has pods too.
# other: a drain, a person, or all pods go: nothing that a cost could have changed.
Occasion = Literal["scale_down", "rollout", "other"]


def occasion(fleet: Fleet, leaving: Member) -> Occasion:
    """Say on what occasion a pod leaves, before the fleet takes its leave in."""
    owner = standings.controller(leaving.pod.metadata)
    replica_set = fleet.find(owner.uid) if owner is not None else None
    if replica_set is None:
        return "other"
    staying = {uid: _staying(fleet, uid) for uid in (one.metadata.uid for one in fleet.revisions(replica_set))}
    if sum(count > 0 for count in staying.values()) > 1:
        return "rollout"
    return "scale_down" if 0 < replica_set.spec.replicas < staying[replica_set.metadata.uid] else "other"


def _staying(fleet: Fleet, replica_set_uid: str) -> int:
    return sum(one.pod.metadata.deletion_timestamp is None for one in fleet.members(replica_set_uid).values())
