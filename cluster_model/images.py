"""Which container images lie on which nodes: a name's size beside one bit a row. Knows nothing of pods or scores."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cluster_model import objects
from cluster_model.columns import Mask, sealed


@dataclass(frozen=True, slots=True)
class Spread:
    """One image name: how large it is, and the rows that hold it, as the bits of a number."""

    size_bytes: int  # as the node said that was first to have it
    holders: int


NOWHERE = Spread(0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """The image names of all nodes, which nothing changes any more."""

    spreads: Mapping[str, Spread]
    nodes: int  # in the whole cluster
    rows: NDArray[np.intp] | None = None  # [node] places in the whole cluster; None: all of them

    def share_bytes(self, name: str) -> int:
        """Return the size of an image times the part of all nodes that hold it, as kube-scheduler cuts it."""
        found = self.spreads.get(name, NOWHERE)
        return int(found.size_bytes * (found.holders.bit_count() / self.nodes)) if self.nodes else 0

    def holders(self, name: str) -> Mask:
        """Return which rows hold an image."""
        found = self.spreads.get(name, NOWHERE)
        octets = np.frombuffer(found.holders.to_bytes((self.nodes + 7) // 8, "little"), np.uint8)
        held = np.unpackbits(octets, count=self.nodes, bitorder="little").view(np.bool_)
        return sealed(held if self.rows is None else held.take(self.rows))

    def take(self, rows: NDArray[np.intp]) -> "Images":
        """Return the images of the given rows; what an image is worth still depends on the whole cluster."""
        return Images(self.spreads, self.nodes, rows if self.rows is None else self.rows.take(rows))


@dataclass(slots=True)
class ImageTable:
    """The mutable owner. A name is forgotten with the last node that holds it."""

    _spreads: dict[str, Spread] = field(default_factory=dict)
    _last: Images | None = None

    def add(self, row: int, images: Iterable[objects.ContainerImage]) -> None:
        """Put a node's images on its row."""
        bit = 1 << row
        for image in images:
            for name in image.names:
                found = self._spreads.get(name)
                size = image.size_bytes if found is None else found.size_bytes
                self._spreads[name] = Spread(size, bit if found is None else found.holders | bit)
        self._last = None

    def remove(self, row: int, images: Iterable[objects.ContainerImage]) -> None:
        """Take a node's images off its row."""
        bit = 1 << row
        for name in {name for image in images for name in image.names}:
            found = self._spreads.pop(name)
            if found.holders != bit:
                self._spreads[name] = Spread(found.size_bytes, found.holders & ~bit)
        self._last = None

    def replace(
        self, row: int, before: tuple[objects.ContainerImage, ...], after: tuple[objects.ContainerImage, ...]
    ) -> bool:
        """Exchange a node's images; say whether they differ."""
        if before == after:
            return False
        self.remove(row, before)
        self.add(row, after)
        return True

    def move(self, source: int, row: int, images: Iterable[objects.ContainerImage]) -> None:
        """Move a node's images to another row."""
        bits = 1 << source | 1 << row
        for name in {name for image in images for name in image.names}:
            found = self._spreads[name]
            self._spreads[name] = Spread(found.size_bytes, found.holders ^ bits)

    def frozen(self, nodes: int) -> Images:
        """Return the images as they are now; the same object until something changes."""
        if self._last is None or self._last.nodes != nodes:
            self._last = Images(dict(self._spreads), nodes)
        return self._last
