"""VolumeBinding: a pod needs a node where each of its claims has its volume, finds one, or can get one made.

Among such nodes it prefers, by default, those whose storage is left emptiest.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cluster_model.columns import Amounts, Mask, sealed
from cluster_model.pod import PendingPod
from cluster_model.quantity import value
from cluster_model.snapshot import NodeColumns, Rows, Snapshot
from cluster_model.storage_columns import Storage
from cluster_model.storage_objects import PersistentVolume, PersistentVolumeClaim
from cluster_model.verdict import Event, Problem, Reason
from cluster_model.volume_pools import amount
from scheduler_plugins import allocation_scores, plugin_args, volume_claims, volume_matching, volume_topology
from scheduler_plugins.fit_args import Ratio, ShapePoint
from scheduler_plugins.framework import MAX_SCORE, ReasonSet, Scores, Verdict, cures
from scheduler_plugins.volume_matching import NO_CAPACITY, NO_VOLUME, Choice, Choices

NAME = "VolumeBinding"
CURES = cures(
    Event.CLASS_ADD,
    Event.CLASS_UPDATE,
    Event.CLAIM_ADD,
    Event.CLAIM_UPDATE,
    Event.VOLUME_ADD,
    Event.VOLUME_UPDATE,
    Event.NODE_ADD,
    Event.NODE_LABEL,
    Event.CSI_NODE_ADD,
    Event.CSI_NODE_UPDATE,
    Event.CSI_DRIVER_UPDATE,
    Event.CAPACITY_ADD,
    Event.CAPACITY_UPDATE,
)
CONFLICT = Reason("node(s) didn't match PersistentVolume's node affinity", CURES)
UNMATCHED = Reason("node(s) didn't find available persistent volumes to bind", CURES)
FULL = Reason("node(s) did not have enough free storage", CURES)
MISSING = Reason("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", CURES)
UNBOUND = Reason("pod has unbound immediate PersistentVolumeClaims", CURES)
SEVERAL = (CONFLICT, UNMATCHED, FULL, MISSING)  # in the order in which a node says them
# Code k says the reasons whose bits k has.
TABLE: tuple[ReasonSet, ...] = tuple(
    tuple(reason for bit, reason in enumerate(SEVERAL) if code >> bit & 1) for code in range(1, 1 << len(SEVERAL))
)
EMPTIEST = (ShapePoint(utilization=0, score=10), ShapePoint(utilization=100, score=0))
BIND_TIMEOUT_SECONDS = 600


class BindingArgs(plugin_args.Args, frozen=True):
    """How long a pod waits for its volumes, and what a share of storage in use is worth."""

    bind_timeout_seconds: int = BIND_TIMEOUT_SECONDS
    shape: tuple[ShapePoint, ...] = EMPTIEST

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what is wrong with the args."""
        if self.bind_timeout_seconds < 0:
            rule = "invalid BindTimeoutSeconds, should not be a negative value"
            yield Problem(f"{path}.bindTimeoutSeconds", self.bind_timeout_seconds, rule)
        yield from Ratio(shape=self.shape).problems(path)


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be written before a pod can be bound to its node."""

    bindings: tuple[tuple[PersistentVolume, PersistentVolumeClaim], ...] = ()  # volumes for claims
    provisions: tuple[PersistentVolumeClaim, ...] = ()  # claims whose volume is to be made for the node


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What was found out for a pod; kept until the next pod with claims, for those who ask again."""

    pod: PendingPod
    nodes: NodeColumns
    conflict: Mask  # [node] a bound volume cannot be used there
    missing: Mask  # [node] a bound volume does not exist
    found: Choices


def refuse(pod: PendingPod, snapshot: Snapshot) -> ReasonSet:
    """Refuse a pod with a claim that is not there, cannot be used, or should be bound by now."""
    if not pod.request.volumes.claims:
        return ()
    problem = volume_claims.problem(pod, snapshot.storage)
    if problem is not None:
        return (Reason(problem, CURES),)
    return (UNBOUND,) if volume_claims.sort_out(pod, snapshot.storage).immediate else ()


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes where some claim has no volume that can be used; each says all that is wrong there."""
    if not pod.request.volumes.claims:
        return None
    judged = _judged(pod, snapshot)
    masks = (judged.conflict, judged.found.unmatched, judged.found.full, judged.missing)
    codes = np.zeros(len(snapshot), np.uint8)
    for bit, mask in enumerate(masks):
        codes |= mask.view(np.uint8) << bit
    return Verdict(sealed(codes), TABLE) if codes.any() else None


def score(pod: PendingPod, snapshot: Snapshot, rows: Rows, args: BindingArgs) -> Scores:
    """Score how full the pod's claims would leave each class's storage: of volumes chosen, else of what is provided."""
    if not pod.request.volumes.claims:
        return np.zeros(len(rows), np.int64)
    found = _judged(pod, snapshot).found
    if not found.choices:
        return np.zeros(len(rows), np.int64)
    return _mean_worth(found, args, len(snapshot)).take(rows)


def plan(pod: PendingPod, snapshot: Snapshot, node: str) -> Plan:
    """Return what has to be written for a pod on a node that fits."""
    if not pod.request.volumes.claims:
        return Plan()
    row, found = snapshot.nodes.rows[node], _judged(pod, snapshot).found
    bound = ((choice.claim, int(choice.volume[row])) for choice in found.choices)
    made = (choice.claim for choice in found.choices if choice.provisioned[row])
    return Plan(tuple((found.volumes[place], claim) for claim, place in bound if place != NO_VOLUME), tuple(made))


def _judged(pod: PendingPod, snapshot: Snapshot) -> Judged:
    storage, nodes = snapshot.storage, snapshot.nodes
    last: Judged | None = storage.memory.get(NAME)
    if last is None or last.pod is not pod or last.nodes is not nodes:
        claims = volume_claims.sort_out(pod, storage)
        conflict, missing = _bound(claims.bound, nodes, storage)
        found = volume_matching.choose(claims.delayed, nodes, storage)
        last = storage.memory[NAME] = Judged(pod, nodes, conflict, missing, found)
    return last


def _bound(claims: tuple[PersistentVolumeClaim, ...], nodes: NodeColumns, storage: Storage) -> tuple[Mask, Mask]:
    """Return where a bound volume cannot be used, and where it does not exist; the first such claim speaks."""
    conflict: Mask = np.zeros(len(nodes.names), np.bool_)
    for claim in claims:
        volume = storage.volumes.get(claim.spec.volume_name)
        if volume is None:
            return conflict, ~conflict
        conflict |= ~volume_topology.usable(volume, nodes, storage)
    return conflict, np.zeros(len(nodes.names), np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class _Load:
    """What the claims of one class ask of its storage."""

    requested: Amounts  # [node]
    capacity: Amounts  # [node]
    counts: Mask  # [node] whether there is any

    @classmethod
    def none(cls, nodes: int) -> "_Load":
        return cls(np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.bool_))


def _mean_worth(found: Choices, args: BindingArgs, nodes: int) -> Scores:
    ratio = Ratio(shape=args.shape)
    line = np.array([allocation_scores.worth(share, ratio) for share in range(MAX_SCORE + 1)], np.int64)
    total, classes = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    for load in _loads(found, nodes):
        beyond = (load.capacity == 0) | (load.requested > load.capacity)
        share = load.requested * MAX_SCORE // np.where(load.capacity == 0, 1, load.capacity)
        total += np.where(load.counts, line.take(np.where(beyond, MAX_SCORE, share)), 0)
        classes += load.counts
    return allocation_scores.rounded(total / np.maximum(classes, 1))


def _loads(found: Choices, nodes: int) -> Iterator[_Load]:
    """Yield what each class has to bear; where a volume is chosen, what is to be made counts no more."""
    chosen: Mask = np.zeros(nodes, np.bool_)
    for choice in found.choices:
        chosen |= choice.volume != NO_VOLUME
    by_name: dict[str, list[int]] = {}
    for place, volume in enumerate(found.volumes):
        by_name.setdefault(volume.spec.storage_class_name, []).append(place)
    yield from (_static(found, places, nodes) for places in by_name.values())
    made: dict[str, _Load] = {}
    for choice in found.choices:
        _add_made(choice, ~chosen, made)
    yield from made.values()


def _static(found: Choices, places: list[int], nodes: int) -> _Load:
    """Return what the volumes of one class, by their places, have to bear."""
    sizes, load = np.full(len(found.volumes) + 1, NO_CAPACITY, np.int64), _Load.none(nodes)  # the last: NO_VOLUME
    sizes[places] = [value(amount(found.volumes[place].spec.capacity)) for place in places]
    for choice in found.choices:
        size = sizes[choice.volume]
        here = size != NO_CAPACITY
        load.requested[here] += value(amount(choice.claim.spec.resources.requests))
        load.capacity[here] += size[here]
        load.counts[here] = True
    return load


def _add_made(choice: Choice, where: Mask, loads: dict[str, _Load]) -> None:
    here = choice.provisioned & where & (choice.capacity_bytes != NO_CAPACITY)
    if here.any():
        load = loads.setdefault(choice.claim.spec.storage_class_name or "", _Load.none(len(here)))
        load.requested[here] += value(amount(choice.claim.spec.resources.requests))
        load.capacity[here] = choice.capacity_bytes[here]
        load.counts[here] = True
