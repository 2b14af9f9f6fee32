"""The smaller kinds of storage objects as they are kept: capacities by class, attachments by node and by volume."""

from collections.abc import Mapping

from cluster_model import label_selectors, quantity
from cluster_model.label_selectors import NOTHING, Selector, UnreadableSelector
from cluster_model.objects import LabelSelector, Quantity
from cluster_model.storage_columns import Capacity, CsiFacts
from cluster_model.storage_objects import MIGRATED_PLUGINS, CsiNode, CsiStorageCapacity, VolumeAttachment


def csi_facts(node: CsiNode) -> CsiFacts:
    """Read a CSINode."""
    drivers = node.spec.drivers or ()
    return CsiFacts(
        drivers=frozenset(driver.name for driver in drivers),
        limits=frozenset((one.name, one.allocatable.count) for one in drivers if one.allocatable.count is not None),
        migrated=frozenset(node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")) - {""},
    )


class CapacityTable:
    """CSIStorageCapacity objects by their class."""

    def __init__(self) -> None:
        self._objects: dict[str, CsiStorageCapacity] = {}
        self._by_class: dict[str, dict[str, Capacity]] = {}
        self._frozen: dict[str, tuple[Capacity, ...]] = {}
        self._stale: set[str] = set()

    def set(self, found: CsiStorageCapacity) -> CsiStorageCapacity | None:
        """Take one; return what it was before."""
        before = self.remove(found.key)
        self._objects[found.key] = found
        self._by_class.setdefault(found.storage_class_name, {})[found.key] = _read(found)
        self._stale.add(found.storage_class_name)
        return before

    def remove(self, key: str) -> CsiStorageCapacity | None:
        """Forget one; return what it was."""
        gone = self._objects.pop(key, None)
        if gone is not None:
            del self._by_class[gone.storage_class_name][key]
            self._stale.add(gone.storage_class_name)
        return gone

    def objects(self) -> tuple[CsiStorageCapacity, ...]:
        """Return them all."""
        return tuple(self._objects.values())

    def frozen(self) -> Mapping[str, tuple[Capacity, ...]]:
        """Return them as they are now, by class and name."""
        if self._stale:
            fresh = {name: tuple(one for _, one in sorted(self._by_class[name].items())) for name in self._stale}
            self._frozen = self._frozen | fresh
            self._stale.clear()
        return self._frozen


class AttachmentTable:
    """VolumeAttachment objects by name, by node and by volume."""

    def __init__(self) -> None:
        self._objects: dict[str, VolumeAttachment] = {}
        self._on: dict[str, set[str]] = {}
        self._of: dict[str | None, set[str]] = {}

    def get(self, name: str) -> VolumeAttachment | None:
        """Return one."""
        return self._objects.get(name)

    def add(self, found: VolumeAttachment) -> None:
        """Take one that is not there."""
        name = found.metadata.name
        self._objects[name] = found
        self._on.setdefault(found.spec.node_name, set()).add(name)
        self._of.setdefault(found.spec.source.persistent_volume_name, set()).add(name)

    def remove(self, name: str) -> VolumeAttachment | None:
        """Forget one; return what it was."""
        gone = self._objects.pop(name, None)
        if gone is not None:
            self._on[gone.spec.node_name].discard(name)
            self._of[gone.spec.source.persistent_volume_name].discard(name)
        return gone

    def objects(self) -> tuple[VolumeAttachment, ...]:
        """Return them all."""
        return tuple(self._objects.values())

    def on(self, node: str) -> frozenset[str]:
        """Return the names of those on a node."""
        return frozenset(self._on.get(node, ()))

    def of(self, volume: str) -> frozenset[str]:
        """Return the names of those of a volume."""
        return frozenset(self._of.get(volume, ()))


def most_bytes(found: CsiStorageCapacity) -> int | None:
    """Return how large one volume can be: what is said of that, else all that is left; None where nothing is said."""
    most = _bytes(found.maximum_volume_size)
    return _bytes(found.capacity) if most is None else most


def _read(found: CsiStorageCapacity) -> Capacity:
    return Capacity(_selector(found.node_topology), most_bytes(found), _bytes(found.capacity) or 0)


def _selector(found: LabelSelector | None) -> Selector:
    try:
        return label_selectors.read(found)
    except UnreadableSelector:
        return NOTHING


def _bytes(found: Quantity | None) -> int | None:
    try:
        return None if found is None else quantity.value(quantity.parse(found))
    except ValueError:
        return None
