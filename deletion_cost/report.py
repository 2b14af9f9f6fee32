"""What a person is told of each pod's cost: its band, why it has it, since when, and when the pod would go. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cluster_model import deletion_cost
from cluster_model.objects import OwnerReference
from deletion_cost import bands, standings, victims
from deletion_cost.bands import Band
from deletion_cost.ownership import OURS, holder
from deletion_cost.pod_objects import Pod, ReplicaSet

HEEDING = ("ReplicaSet", "ReplicationController")  # whose controllers look at the cost
FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a pod stands in its ReplicaSet's order of deletion: 1 goes next."""

    order: int
    of: int


@dataclass(frozen=True, slots=True)
class Row:
    """One pod. `cost` is None without a value, `place` where the pod is in no order or the order is not known."""

    pod: Pod
    owner: OwnerReference | None
    cost: int | None
    band: Band
    reason: str
    written_seconds: int | None  # since the epoch
    writer: str
    place: Place | None


def rows(pods: Iterable[Pod], replica_sets: Iterable[ReplicaSet] | None, now_ns: int) -> list[Row]:
    """Tell of each pod that has a cost or whose controller looks at it; without ReplicaSets no place is known.

    Grouped by namespace and owner; the next to go comes first.
    """
    running = [pod for pod in pods if pod.status.phase not in FINISHED]
    groups: defaultdict[tuple[str, str, str, str], list[Pod]] = defaultdict(list)
    for pod in running:
        owner = standings.controller(pod.metadata)
        if deletion_cost.ANNOTATION in pod.metadata.annotations or (owner and owner.kind in HEEDING):
            groups[_group(pod, owner)].append(pod)
    relations = None if replica_sets is None else _Relations(running, tuple(replica_sets))
    return [row for _, group in sorted(groups.items()) for row in _group_rows(group, relations, now_ns)]


class _Relations:
    """Which pods crowd those of an owner."""

    def __init__(self, pods: Iterable[Pod], replica_sets: tuple[ReplicaSet, ...]) -> None:
        self._relations = standings.Relations(pods, replica_sets)
        self._by_uid: Mapping[str, ReplicaSet] = {one.metadata.uid: one for one in replica_sets}

    def of(self, owner: OwnerReference) -> tuple[Pod, ...]:
        found = self._by_uid.get(owner.uid)
        return () if found is None else self._relations.related(found)


def _group(pod: Pod, owner: OwnerReference | None) -> tuple[str, str, str, str]:
    kind, name, uid = (owner.kind, owner.name, owner.uid) if owner else ("", pod.metadata.name, "")
    return pod.metadata.namespace, name, kind, uid


def _group_rows(pods: list[Pod], relations: _Relations | None, now_ns: int) -> Iterator[Row]:
    """Tell of the pods of one owner."""
    places = _places(pods, relations, now_ns)
    last = len(pods)
    ordered = sorted(pods, key=lambda pod: (_order(places, pod, last), standings.cost(pod.metadata), pod.metadata.name))
    marked = [pod.metadata.uid for pod in ordered if bands.of(standings.cost(pod.metadata)) == "victim"]
    for pod in ordered:
        uid = pod.metadata.uid
        mark = f"{marked.index(uid) + 1} of {len(marked)}" if uid in marked else ""
        yield _row(pod, places.get(uid), mark)


def _order(places: Mapping[str, Place], pod: Pod, last: int) -> int:
    place = places.get(pod.metadata.uid)
    return last + 1 if place is None else place.order


def _places(pods: list[Pod], relations: _Relations | None, now_ns: int) -> dict[str, Place]:
    owner = standings.controller(pods[0].metadata)
    if relations is None or owner is None or owner.kind not in HEEDING:
        return {}
    order = victims.in_order(map(standings.read, pods), map(standings.read, relations.of(owner)), now_ns)
    return {one.uid: Place(place, len(order)) for place, one in enumerate(order, 1)}


def _row(pod: Pod, place: Place | None, mark: str) -> Row:
    meta = pod.metadata
    has_cost = deletion_cost.ANNOTATION in meta.annotations
    cost = standings.cost(meta) if has_cost else None
    owner, writers = standings.controller(meta), [one for one in meta.managed_fields if one.owns_cost]
    # What nobody owns was written by a webhook when the pod was created.
    written = max((one.time for one in writers), default=meta.creation_timestamp) if has_cost else None
    return Row(
        pod=pod,
        owner=owner,
        cost=cost,
        band=bands.of(cost),
        reason=_reason(pod, owner, mark),
        written_seconds=standings.seconds(written),
        writer=", ".join(one.manager for one in writers),
        place=place,
    )


def _reason(pod: Pod, owner: OwnerReference | None, mark: str) -> str:
    """Say why a pod has its cost."""
    meta = pod.metadata
    if meta.deletion_timestamp is not None:
        return "is being deleted"
    if owner is None or owner.kind not in HEEDING:
        return f"ignored: no {owner.kind} looks at it" if owner else "ignored: the pod has no owner"
    band, whose = bands.of(standings.cost(meta)), holder(meta)
    match whose:
        case "nobody":
            return "no value, counts as 0"
        case "initial":
            return "not warm yet" if band == "cold" else "written at creation"
        case "template":
            return "value of the pod template"
        case "reporter":
            return "reported by the application"
        case "ours":
            return {"cold": "cold again after a restart or a time not Ready", "victim": f"victim mark {mark}"}.get(
                band, "follows its load"
            )
    return _foreign([writer for writer in meta.cost_writers if writer != OURS])


def _foreign(writers: list[str]) -> str:
    """Name another writer; kubectl is the hand of a user."""
    by_hand = all(writer.startswith("kubectl") for writer in writers)
    return f"value by user, with {', '.join(writers)}" if by_hand else f"foreign writer {', '.join(writers)}"
