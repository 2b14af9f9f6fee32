"""Volumes by who could take them: those that nobody claims by class and size, the others by the claim they name."""

from bisect import bisect_left, insort
from collections.abc import Mapping
from itertools import count

from cluster_model import quantity
from cluster_model.ledger import Ledger
from cluster_model.objects import Quantity
from cluster_model.quantity import Nanos
from cluster_model.storage_columns import Sized
from cluster_model.storage_objects import PersistentVolume, VolumeNodeAffinity

AVAILABLE = "Available"
MOST_REACHES = 65_536  # node affinities numbered before numbering starts anew; two numbers for one do no harm
STORAGE = "storage"


def amount(found: Mapping[str, Quantity]) -> Nanos:
    """Return how much storage is said; what is absent or cannot be read is nothing."""
    try:
        return quantity.parse(found.get(STORAGE, 0))
    except ValueError:
        return Nanos(0)


class VolumePools:
    """The two indexes of volumes."""

    def __init__(self) -> None:
        self._free: dict[str, list[Sized]] = {}
        self._frozen: dict[str, tuple[Sized, ...]] = {}
        self._stale: set[str] = set()
        self._reserved: Ledger[str, tuple[PersistentVolume, ...]] = Ledger()
        self._reaches: dict[VolumeNodeAffinity | None, int] = {}
        self._numbers = count()

    def add(self, volume: PersistentVolume) -> None:
        """Index a volume."""
        claim = volume.spec.claim_ref
        if claim is not None:
            key = f"{claim.namespace}/{claim.name}"
            others = self._reserved.get(key) or ()
            self._reserved.put(key, tuple(sorted((*others, volume), key=lambda one: one.metadata.name)))
        elif _is_free(volume):
            insort(self._free.setdefault(volume.class_name, []), self._sized(volume))
            self._stale.add(volume.class_name)

    def remove(self, volume: PersistentVolume) -> None:
        """Take a volume out, as it was indexed."""
        claim = volume.spec.claim_ref
        if claim is not None:
            key = f"{claim.namespace}/{claim.name}"
            others = self._reserved.get(key) or ()
            left = tuple(one for one in others if one.metadata.name != volume.metadata.name)
            if left:
                self._reserved.put(key, left)
            else:
                self._reserved.drop(key)
        elif _is_free(volume):
            pool = self._free[volume.class_name]
            del pool[bisect_left(pool, self._sized(volume))]
            self._stale.add(volume.class_name)

    def free(self) -> Mapping[str, tuple[Sized, ...]]:
        """Return the volumes that nobody claims, smallest first, by class."""
        if self._stale:
            self._frozen = self._frozen | {name: tuple(self._free[name]) for name in self._stale}
            self._stale.clear()
        return self._frozen

    def reserved(self) -> Mapping[str, tuple[PersistentVolume, ...]]:
        """Return the volumes that name a claim, by namespace and name of it."""
        return self._reserved.frozen()

    def _sized(self, volume: PersistentVolume) -> Sized:
        affinity = volume.spec.node_affinity
        if affinity not in self._reaches:
            if len(self._reaches) >= MOST_REACHES:
                self._reaches.clear()
            self._reaches[affinity] = next(self._numbers)
        size, modes = amount(volume.spec.capacity), frozenset(volume.spec.access_modes)
        return Sized(size, volume.metadata.name, volume, modes, self._reaches[affinity])


def _is_free(volume: PersistentVolume) -> bool:
    """Say whether a claim may take it: a volume in any other phase would most likely be lost again at once."""
    return volume.status.phase == AVAILABLE and not volume.metadata.deletion_timestamp
