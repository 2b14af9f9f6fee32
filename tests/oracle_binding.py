"""The plain twin of VolumeBinding on one node: one claim, one volume at a time."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from cluster_model.storage_objects import (
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from tests.oracle_labels import Place, selector_matches
from tests.oracle_storage import is_for, size, suits, whole

if TYPE_CHECKING:
    from tests.oracle_volumes import Volumes

CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
UNMATCHED = "node(s) didn't find available persistent volumes to bind"
FULL = "node(s) did not have enough free storage"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class Bound:
    """What the claims of a pod get on one node."""

    def __init__(self, volumes: "Volumes", place: Place) -> None:
        self.volumes, self.place, self.told = volumes, place, volumes.told
        self.reasons: list[str] = []
        self.static: list[tuple[PersistentVolumeClaim, PersistentVolume]] = []
        self.made: list[tuple[PersistentVolumeClaim, CsiStorageCapacity | None]] = []
        kinds = [(one, volumes.kind(one)) for one in volumes.claims(own=True)]
        bound = self.check_bound([one for one, kind in kinds if kind == "bound"])
        delayed = self.check_delayed([one for one, kind in kinds if kind == "delayed"])
        said = {bound, delayed} - {""}
        self.reasons = [text for text in (CONFLICT, UNMATCHED, FULL, MISSING) if text in said]

    def check_bound(self, claims: list[PersistentVolumeClaim]) -> str:
        for one in claims:
            volume = self.told.volume(one.spec.volume_name)
            if volume is None:
                return MISSING
            if not self.reaches(volume):
                return CONFLICT
        return ""

    def reaches(self, volume: PersistentVolume) -> bool:
        affinity = volume.spec.node_affinity
        if affinity is None or affinity.required is None:
            return True
        terms = affinity.required.node_selector_terms
        return any(self.volumes.affinity_matches(term, self.place.node) for term in terms)

    def check_delayed(self, claims: list[PersistentVolumeClaim]) -> str:
        name, key = self.place.node.metadata.name, "volume.kubernetes.io/selected-node"
        if any(one.metadata.annotations.get(key, name) != name for one in claims):
            return UNMATCHED
        to_make = [one for one in claims if key in one.metadata.annotations]
        still_open = [one for one in claims if key not in one.metadata.annotations]
        for one in sorted(still_open, key=lambda claim: size(claim.spec.resources.requests)):
            volume = self.find(one)
            if volume is None:
                to_make.append(one)
            else:
                self.static.append((one, volume))
        return next((said for one in to_make if (said := self.make(one))), "")

    def find(self, one: PersistentVolumeClaim) -> PersistentVolume | None:
        taken = [volume.metadata.name for _, volume in self.static]
        of_class = [volume for volume in self.told.of(PersistentVolume) if volume.class_name == one.class_name]
        left = [volume for volume in of_class if volume.metadata.name not in taken and suits(one, volume)]
        for volume in sorted(left, key=lambda found: found.metadata.name):
            if is_for(one, volume):
                return volume if self.reaches(volume) else None
        free = [volume for volume in left if volume.spec.claim_ref is None and volume.status.phase == "Available"]
        wanted = one.spec.selector
        if wanted is not None:
            free = [volume for volume in free if selector_matches(wanted, volume.metadata.labels)]
        fitting = [volume for volume in free if set(one.spec.access_modes) <= set(volume.spec.access_modes)]
        reached = [volume for volume in fitting if self.reaches(volume)]
        return min(reached, key=lambda found: (size(found.spec.capacity), found.metadata.name), default=None)

    def make(self, one: PersistentVolumeClaim) -> str:
        found = self.told.storage_class(one.class_name)
        assert found is not None
        if found.provisioner in ("", "kubernetes.io/no-provisioner") or not self.allows(found):
            return UNMATCHED
        driver = self.told.driver(found.provisioner)
        if "storage" not in one.spec.resources.requests or driver is None or not driver.spec.storage_capacity:
            self.made.append((one, None))
            return ""
        asked = size(one.spec.resources.requests)
        for capacity in sorted(self.told.of(CsiStorageCapacity), key=lambda each: each.metadata.name):
            if capacity.storage_class_name == one.class_name and self.has(capacity, asked):
                self.made.append((one, capacity))
                return ""
        return FULL

    def allows(self, found: StorageClass) -> bool:
        labels, terms = self.place.node.metadata.labels, found.allowed_topologies
        return not terms or any(
            term.match_label_expressions
            and all(labels.get(one.key) in one.values for one in term.match_label_expressions)
            for term in terms
        )

    def has(self, capacity: CsiStorageCapacity, asked: Fraction) -> bool:
        most = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
        enough = most is not None and whole(size({"storage": most})) >= whole(asked)
        topology = capacity.node_topology
        return enough and topology is not None and selector_matches(topology, self.place.node.metadata.labels)

    def score(self) -> int:
        loads: dict[str, tuple[int, int]] = {}
        for one, volume in self.static:
            asked, held = loads.get(volume.spec.storage_class_name, (0, 0))
            more, most = whole(size(one.spec.resources.requests)), whole(size(volume.spec.capacity))
            loads[volume.spec.storage_class_name] = (asked + more, held + most)
        for one, capacity in () if self.static else self.made:
            if capacity is not None:
                name = one.spec.storage_class_name or ""
                more = loads.get(name, (0, 0))[0] + whole(size(one.spec.resources.requests))
                loads[name] = (more, whole(size({"storage": capacity.capacity or 0})))
        if not loads:
            return 0
        worths = [self.worth(asked, held) for asked, held in loads.values()]
        return math.floor(Fraction(sum(worths), len(worths)) + Fraction(1, 2))

    def worth(self, asked: int, held: int) -> int:
        share = 100 if not held or asked > held else asked * 100 // held
        points = [(at, score * 10) for at, score in self.volumes.shape]
        if share <= points[0][0]:
            return points[0][1]
        for (left, low), (right, high) in pairwise(points):
            if share <= right:
                return low + math.trunc(Fraction((high - low) * (share - left), right - left))
        return points[-1][1]
