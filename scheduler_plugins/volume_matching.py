"""Which volume each claim of a pod would get on each node: one that exists, or one that is made for it there.

A claim takes what is reserved for it, else the smallest volume that fits; the smaller claims choose first. What is
left is provisioned by its class, if the class can do so for the node.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cluster_model import label_selectors
from cluster_model.columns import Amounts, Mask, Numbers
from cluster_model.label_selectors import Selector, UnreadableSelector
from cluster_model.quantity import Nanos, value
from cluster_model.snapshot import NodeColumns, Rows
from cluster_model.storage_columns import Sized, Storage
from cluster_model.storage_objects import SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from cluster_model.volume_pools import STORAGE, amount
from scheduler_plugins import volume_topology
from scheduler_plugins.framework import PluginError

NO_VOLUME = -1
NO_CAPACITY = -1
NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What one claim gets on each node."""

    claim: PersistentVolumeClaim
    volume: Numbers  # [node] place in Choices.volumes, NO_VOLUME
    provisioned: Mask  # [node]
    capacity_bytes: Amounts  # [node] of the storage that would provide it there, NO_CAPACITY where nobody counts


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """What all claims that still have no volume get on each node, and on which nodes they do not get it."""

    choices: tuple[Choice, ...]  # those already sent to a node first, then by size
    volumes: tuple[PersistentVolume, ...]
    unmatched: Mask  # [node] some claim finds no volume there, and none can be made
    full: Mask  # [node] one could be made but for lack of space


@dataclass(frozen=True, slots=True, eq=False)
class Provision:
    """Where a class can make a volume for a claim."""

    possible: Mask  # [node]
    enough: Mask  # [node]
    capacity_bytes: Amounts  # [node]


def choose(delayed: tuple[PersistentVolumeClaim, ...], nodes: NodeColumns, storage: Storage) -> Choices:
    """Choose for claims that bind when the pod has a node."""
    sent = tuple(claim for claim in delayed if SELECTED_NODE in claim.metadata.annotations)
    open_ = sorted((claim for claim in delayed if SELECTED_NODE not in claim.metadata.annotations), key=_asked)
    apart = _apart(sent, nodes)
    matcher = _Matcher(len(open_), nodes, storage)
    found = [matcher.match(claim) for claim in open_]
    nothing = np.full(len(nodes.names), NO_VOLUME, np.int32)
    wanted = [*((claim, nothing) for claim in sent), *zip(open_, found, strict=True)]
    return _provide(wanted, tuple(matcher.volumes), apart, (nodes, storage))


def _asked(claim: PersistentVolumeClaim) -> Nanos:
    return amount(claim.spec.resources.requests)


def _apart(sent: tuple[PersistentVolumeClaim, ...], nodes: NodeColumns) -> Mask:
    """Return the nodes that some claim was not sent to."""
    apart: Mask = np.zeros(len(nodes.names), np.bool_)
    for claim in sent:
        row = nodes.rows.get(claim.metadata.annotations[SELECTED_NODE])
        elsewhere: Mask = np.ones(len(nodes.names), np.bool_)
        if row is not None:
            elsewhere[row] = False
        apart |= elsewhere
    return apart


def _provide(
    wanted: list[tuple[PersistentVolumeClaim, Numbers]],
    volumes: tuple[PersistentVolume, ...],
    apart: Mask,
    where: tuple[NodeColumns, Storage],
) -> Choices:
    """Let classes make what is not there. On each node the first claim that fails there says why."""
    unmatched, full = apart.copy(), np.zeros(len(apart), np.bool_)
    choices = []
    for claim, volume in wanted:
        needed = (volume == NO_VOLUME) & ~apart
        found = _provision(claim, *where) if needed.any() else None
        if found is None:
            choices.append(Choice(claim, volume, needed, np.full(len(apart), NO_CAPACITY, np.int64)))
            continue
        failing = needed & ~(unmatched | full)
        unmatched |= failing & ~found.possible
        full |= failing & found.possible & ~found.enough
        choices.append(Choice(claim, volume, needed, found.capacity_bytes))
    return Choices(tuple(choices), volumes, unmatched, full)


def _provision(claim: PersistentVolumeClaim, nodes: NodeColumns, storage: Storage) -> Provision:
    found, count = storage.classes[claim.class_name], len(nodes.names)
    unlimited, unknown = np.ones(count, np.bool_), np.full(count, NO_CAPACITY, np.int64)
    if found.provisioner in NO_PROVISIONER:
        return Provision(np.zeros(count, np.bool_), unlimited, unknown)
    possible = volume_topology.allowed(found.allowed_topologies, nodes)
    driver = storage.drivers.get(found.provisioner)
    if STORAGE not in claim.spec.resources.requests or driver is None or not driver.spec.storage_capacity:
        return Provision(possible, unlimited, unknown)
    asked = value(_asked(claim))
    for capacity in reversed(storage.capacities.get(claim.class_name, ())):
        if capacity.limit_bytes is not None and capacity.limit_bytes >= asked:
            unknown[volume_topology.selected(capacity.selector, nodes)] = capacity.capacity_bytes
    return Provision(possible, unknown != NO_CAPACITY, unknown)


class _Matcher:
    """Matches the claims of one pod one after another; what one has taken on a node, no other gets there."""

    def __init__(self, claims: int, nodes: NodeColumns, storage: Storage) -> None:
        self._claims = claims
        self._nodes = nodes
        self._storage = storage
        self._places: dict[str, int] = {}  # volume -> its place in `volumes`
        self._taken: list[Numbers] = []  # each [node]
        self.volumes: list[PersistentVolume] = []

    def match(self, claim: PersistentVolumeClaim) -> Numbers:
        """Return the place of the volume that the claim gets on each node, NO_VOLUME where it finds none."""
        wanted = _Wanted.of(claim)
        chosen: Numbers = np.full(len(self._nodes.names), NO_VOLUME, np.int32)
        undecided = self._reserved(wanted, chosen)
        rows, places = self._candidates(wanted)
        allowed = undecided.take(rows)
        for taken in self._taken:
            allowed &= taken.take(rows) != places
        # Of several for one row the last stands: they come largest first.
        chosen[rows[allowed]] = places[allowed]
        self._taken.append(chosen)
        return chosen

    def _reserved(self, wanted: "_Wanted", chosen: Numbers) -> Mask:
        """Give the claim what names it, and nothing else where that cannot be used; return where it is still open."""
        undecided: Mask = np.ones(len(chosen), np.bool_)
        for volume in self._storage.reserved.get(wanted.claim.key, ()):
            if not wanted.is_named_by(volume) or not wanted.suits(volume, amount(volume.spec.capacity)):
                continue
            place = self._place(volume)
            here = undecided.copy()
            for taken in self._taken:
                here &= taken != place
            undecided &= ~here
            usable: Mask = np.zeros(len(chosen), np.bool_)
            usable[volume_topology.rows(volume, self._nodes)] = True
            chosen[here & usable] = place
        return undecided

    def _candidates(self, wanted: "_Wanted") -> tuple[Rows, Numbers]:
        """Return pairs of a row and the place of a volume that fits there, the largest volumes first."""
        fitting = tuple(self._fitting(wanted))[::-1]
        rows = [volume_topology.rows_within_reach(sized, self._nodes) for sized in fitting]
        places = [self._place(sized.volume) for sized in fitting]
        counts = [len(found) for found in rows]
        nowhere: NDArray[np.intp] = np.zeros(0, np.intp)
        return np.concatenate([nowhere, *rows]), np.repeat(np.array(places, np.int32), counts)

    def _fitting(self, wanted: "_Wanted") -> Iterator[Sized]:
        """Yield the volumes that fit, smallest first; of those for the same nodes, no more than the pod could take."""
        seen: dict[int, int] = {}
        for sized in self._storage.free.get(wanted.claim.class_name, ()):
            if seen.get(sized.reach, 0) < self._claims and wanted.takes(sized):
                seen[sized.reach] = seen.get(sized.reach, 0) + 1
                yield sized

    def _place(self, volume: PersistentVolume) -> int:
        place = self._places.setdefault(volume.metadata.name, len(self.volumes))
        if place == len(self.volumes):
            self.volumes.append(volume)
        return place


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a claim asks of a volume, read once."""

    claim: PersistentVolumeClaim
    size: Nanos
    modes: frozenset[str]
    attributes: str
    selector: Selector | None

    @classmethod
    def of(cls, claim: PersistentVolumeClaim) -> "_Wanted":
        spec = claim.spec
        attributes = spec.volume_attributes_class_name or ""
        return cls(claim, _asked(claim), frozenset(spec.access_modes), attributes, _selector(claim))

    def is_named_by(self, volume: PersistentVolume) -> bool:
        """Say whether a volume that names a claim of this name means this one."""
        named = volume.spec.claim_ref
        meant = named is not None and named.uid in ("", self.claim.metadata.uid)
        return meant and volume.class_name == self.claim.class_name

    def suits(self, volume: PersistentVolume, size: Nanos) -> bool:
        """Say whether a volume is large enough and of the right make, wherever it is."""
        spec = volume.spec
        if size < self.size or spec.volume_mode != self.claim.spec.volume_mode:
            return False
        return (spec.volume_attributes_class_name or "") == self.attributes and not volume.metadata.deletion_timestamp

    def takes(self, sized: Sized) -> bool:
        """Say whether a volume that nobody claims will do."""
        if not self.modes <= sized.modes or not self.suits(sized.volume, sized.size):
            return False
        return self.selector is None or self.selector.matches(sized.volume.metadata.labels)


def _selector(claim: PersistentVolumeClaim) -> Selector | None:
    if claim.spec.selector is None:
        return None
    try:
        return label_selectors.read(claim.spec.selector)
    except UnreadableSelector as unreadable:
        said = f"error creating internal label selector for claim: {claim.key}: {unreadable}"
        raise PluginError(f'running "VolumeBinding" filter plugin: {said}') from unreadable
