"""The domains of a topology: which nodes share a value of a label, and sums over those that do."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cluster_model.columns import Amounts, Mask, sealed
from cluster_model.interning import Interned
from cluster_model.snapshot import NodeColumns, Rows

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """The nodes by their value of one label. Nodes without it share the domain of the empty value, but lack it."""

    numbers: Rows  # [node] the node's domain
    count: int
    inhabited: int  # domains that some node is in
    present: Mask  # [node]
    everywhere: bool  # every node has the label

    @property
    def among(self) -> Mask | None:
        """The nodes that have the label; None is all."""
        return None if self.everywhere else self.present

    def sums(self, amounts: Amounts, among: Mask | None = None) -> NDArray[np.float64]:
        """Sum up by domain, over the marked nodes only; [domain], exact up to 2**53."""
        numbers = self.numbers if among is None else self.numbers[among]
        weights: NDArray[Any] = amounts if among is None else amounts[among]
        # Without any node the sums would be integers.
        return np.bincount(numbers, weights, self.count).astype(np.float64, copy=False)

    def sizes(self, among: Mask | None = None) -> Amounts:
        """Count the marked nodes of each domain; [domain]."""
        return np.bincount(self.numbers if among is None else self.numbers[among], minlength=self.count)

    def inhabited_by(self, rows: Rows) -> int:
        """Count the domains that some of the given nodes are in."""
        if len(rows) == len(self.numbers):
            return self.inhabited
        return int(np.count_nonzero(np.bincount(self.numbers.take(rows))))


def domains(nodes: NodeColumns, key: str) -> Domains:
    """Return the domains of a label key."""
    return nodes.remembered(("topology", key), lambda: named(nodes.label(key)))


def named(column: Interned[str | None]) -> Domains:
    """Return the domains that a column names; None where a node is in none."""
    absent, empty = column.places.get(None), column.places.get("")
    numbers = column.numbers.astype(np.intp)
    present: Mask = np.ones(len(numbers), np.bool_)
    if absent is not None:
        present = column.numbers != absent
        numbers = numbers if empty is None else np.where(present, numbers, empty)
    inhabited = int(np.count_nonzero(np.bincount(numbers)))
    return Domains(sealed(numbers), len(column.values), inhabited, sealed(present), bool(present.all()))
