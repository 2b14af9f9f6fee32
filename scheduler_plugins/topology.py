"""The domains of a topology: which nodes share a value of a label, and sums over those that do."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cluster_model.columns import Amounts, Mask, Numbers, sealed
from cluster_model.snapshot import NodeColumns, Rows

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """The nodes by their value of one label. Nodes without it share the domain of the empty value, but lack it."""

    numbers: Numbers  # [node] the node's domain
    count: int
    present: Mask  # [node]
    everywhere: bool  # every node has the label

    @property
    def among(self) -> Mask | None:
        """The nodes that have the label; None is all."""
        return None if self.everywhere else self.present

    def sums(self, amounts: Amounts, among: Mask | None = None) -> NDArray[np.float64]:
        """Sum up by domain, over the marked nodes only; [domain], exact up to 2**53."""
        numbers = self.numbers if among is None else self.numbers[among]
        weights = (amounts if among is None else amounts[among]).astype(np.float64)
        return np.bincount(numbers, weights, self.count).astype(np.float64, copy=False)

    def sizes(self, among: Mask | None = None) -> Amounts:
        """Count the marked nodes of each domain; [domain]."""
        return np.bincount(self.numbers if among is None else self.numbers[among], minlength=self.count)

    def inhabited(self, rows: Rows) -> int:
        """Count the domains that some of the given nodes are in."""
        return int(np.count_nonzero(np.bincount(self.numbers.take(rows))))


def domains(nodes: NodeColumns, key: str) -> Domains:
    """Return the domains of a label key."""
    return nodes.remembered(("topology", key), lambda: _domains(nodes, key))


def _domains(nodes: NodeColumns, key: str) -> Domains:
    column = nodes.label(key)
    absent, empty = column.places.get(None), column.places.get("")
    if absent is None:
        present = np.ones(len(column.numbers), np.bool_)
        return Domains(column.numbers, len(column.values), sealed(present), True)
    present = column.numbers != absent
    numbers = column.numbers if empty is None else np.where(present, column.numbers, empty).astype(np.int32)
    return Domains(sealed(numbers), len(column.values), sealed(present), bool(present.all()))
