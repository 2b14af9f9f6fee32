"""Which pods are on which node, as counts for any selector and for any pod that terms of others may concern.

`PodTable` is the mutable side, used by ClusterState alone; `PodCounts` is what a snapshot holds of it.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from cluster_model import objects
from cluster_model.columns import Amounts, Column, Numbers, sealed
from cluster_model.journal import Journal
from cluster_model.label_selectors import EXISTS, IN, Selector
from cluster_model.pod import PendingPod
from cluster_model.pod_terms import AffinityTerm

COUNT = "count"
ANY = ("",)  # the hook of terms that no label leads to


class Role(Enum):
    """What a term of a pod on a node says about other pods."""

    NEAR = "near"  # it had to be near such pods
    APART = "apart"  # such pods must keep away
    RATHER_NEAR = "rather near"
    RATHER_APART = "rather apart"


REQUIRED = (Role.NEAR, Role.APART)
TermKey: TypeAlias = tuple[Role, str]  # with the topology key


@dataclass(frozen=True, slots=True)
class Group:
    """Pods that no selector can tell apart."""

    namespace: str
    pairs: frozenset[tuple[str, str]]
    terminating: bool
    labels: Mapping[str, str] = field(compare=False)
    owner: str = ""  # UID of its controller
    supposed: bool = False  # no pods: what a supposition takes off the counts that leave terminating pods out


@dataclass(frozen=True, slots=True)
class HeldTerm:
    """A term that pods on nodes have."""

    role: Role
    term: AffinityTerm


@dataclass(frozen=True, slots=True)
class Wanted:
    """Pods by label in some namespaces; None: in all."""

    namespaces: frozenset[str] | None
    selector: Selector

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Say whether a pod is meant."""
        return (self.namespaces is None or namespace in self.namespaces) and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class Pods:
    """The question how many pods are on each node that are meant in all these ways."""

    wanted: tuple[Wanted, ...]
    with_terminating: bool = True

    def hooks(self) -> Iterator[tuple[Hashable, ...]]:
        for one in self.wanted:
            if one.selector.nothing:
                yield ()
            if one.namespaces is not None:
                yield tuple((namespace,) for namespace in one.namespaces)
            for requirement in one.selector.requirements:
                if requirement.operator == IN:
                    yield tuple((requirement.key, value) for value in requirement.values)
                elif requirement.operator == EXISTS:
                    yield (requirement.key,)

    def weigh(self, kind: Group) -> Iterator[tuple[Hashable, int]]:
        counts = not kind.supposed if self.with_terminating else not kind.terminating
        if counts and all(one.matches(kind.namespace, kind.labels) for one in self.wanted):
            yield COUNT, 1


@dataclass(frozen=True, slots=True)
class Owned:
    """The question how many pods of one controller are on each node; those on their way out do not count."""

    owner: str  # UID

    def hooks(self) -> Iterator[tuple[Hashable, ...]]:
        yield (self,)

    def weigh(self, kind: Group) -> Iterator[tuple[Hashable, int]]:
        if kind.owner == self.owner and not kind.terminating and not kind.supposed:
            yield COUNT, 1


@dataclass(frozen=True, slots=True)
class Concerned:
    """The question which terms of pods on nodes concern a pod, by role and topology key."""

    namespace: str
    pairs: frozenset[tuple[str, str]]
    namespace_pairs: frozenset[tuple[str, str]]
    labels: Mapping[str, str] = field(compare=False)
    namespace_labels: Mapping[str, str] = field(compare=False)

    @classmethod
    def of(cls, pod: objects.Pod, namespace_labels: Mapping[str, str]) -> "Concerned":
        """Ask for a pod, whose namespace has these labels."""
        meta = pod.metadata
        pairs, namespace_pairs = frozenset(meta.labels.items()), frozenset(namespace_labels.items())
        return cls(meta.namespace, pairs, namespace_pairs, meta.labels, namespace_labels)

    def hooks(self) -> Iterator[tuple[Hashable, ...]]:
        yield (*self.pairs, *self.labels, ANY)

    def weigh(self, kind: HeldTerm) -> Iterator[tuple[Hashable, int]]:
        term = kind.term
        inside = self.namespace in term.namespaces or term.namespace_selector.matches(self.namespace_labels)
        if inside and term.selector.matches(self.labels):
            yield (kind.role, term.topology_key), 1 if kind.role in REQUIRED else term.weight


@dataclass(frozen=True, slots=True, eq=False)
class PodCounts:
    """The pods on the nodes at one moment."""

    groups: Journal[Group]
    terms: Journal[HeldTerm]
    at: tuple[int, int]  # positions in the two
    slots: Numbers  # [node]
    most_slots: int

    @property
    def has_terms(self) -> bool:
        """Whether any pod on a node may have said something about others."""
        return self.at[1] > 0

    def matching(self, question: Pods | Owned) -> Amounts:
        """Count the pods of each node that are meant."""
        found = self.groups.sums(question, self.at[0], self.most_slots).get(COUNT)
        return np.zeros(len(self.slots), np.int64) if found is None else found.take(self.slots)

    def concerning(self, question: Concerned) -> dict[TermKey, Amounts]:
        """Sum up, for each node, the terms of its pods that concern a pod: their weights, or their number."""
        found = self.terms.sums(question, self.at[1], self.most_slots)
        return {cast(TermKey, name): cells.take(self.slots) for name, cells in found.items()}

    def take(self, rows: NDArray[np.intp]) -> "PodCounts":
        """Return the counts of the given rows, in their order."""
        return PodCounts(self.groups, self.terms, self.at, sealed(self.slots.take(rows)), self.most_slots)


class PodTable:
    """Pods by node name, whether or not there is a row for the node."""

    def __init__(self) -> None:
        self._groups: Journal[Group] = Journal(_group_hooks)
        self._terms: Journal[HeldTerm] = Journal(_term_hooks)
        self._slots = _Slots()
        self._rows: Column[np.int32] = Column(np.int32)

    def append(self, node: str) -> None:
        """Add the row of a node."""
        self._rows.append(self._slots.take(node))

    def remove(self, row: int, node: str) -> None:
        """Drop a node's row; the last row takes its place."""
        self._rows.remove(row)
        self._slots.leave(node)

    def count(self, pod: PendingPod, node: str) -> None:
        """Add a pod to a node."""
        self._change(pod, self._slots.take(node), 1)

    def release(self, pod: PendingPod, node: str) -> None:
        """Take a pod off a node."""
        self._change(pod, self._slots.leave(node), -1)

    def suppose(self, pod: PendingPod, node: str, sign: int) -> None:
        """Count what kube-scheduler's trials of an eviction do beside: a pod on its way out, which did not count for
        spreading, is taken off its count all the same.
        """
        group = _group(pod.pod.metadata)
        if group.terminating:
            self._groups.append(replace(group, terminating=False, supposed=True), self._slots.number(node), sign)

    def frozen(self) -> PodCounts:
        """Return the counts as they are now."""
        self._groups, self._terms = self._groups.shortened(), self._terms.shortened()
        at = (len(self._groups), len(self._terms))
        return PodCounts(self._groups, self._terms, at, self._rows.frozen(), self._slots.most)

    def _change(self, pod: PendingPod, slot: int, amount: int) -> None:
        self._groups.append(_group(pod.pod.metadata), slot, amount)
        for term in _held_terms(pod):
            self._terms.append(term, slot, amount)


class _Slots:
    """A number for each node that has a row or a pod; numbers are used again, once nothing is left under them."""

    def __init__(self) -> None:
        self.most = 0
        self._numbers: dict[str, int] = {}
        self._users: dict[str, int] = {}
        self._free: list[int] = []

    def take(self, node: str) -> int:
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = self._free.pop() if self._free else self.most
            self.most = max(self.most, number + 1)
        self._users[node] = self._users.get(node, 0) + 1
        return number

    def number(self, node: str) -> int:
        return self._numbers[node]

    def leave(self, node: str) -> int:
        number = self._numbers[node]
        self._users[node] -= 1
        if not self._users[node]:
            del self._users[node], self._numbers[node]
            self._free.append(number)
        return number


def controller(meta: objects.ObjectMeta) -> str:
    """Return the UID of a pod's controller; "" where it has none."""
    return next((owner.uid for owner in meta.owner_references if owner.controller), "")


def _group(meta: objects.ObjectMeta) -> Group:
    pairs = frozenset(meta.labels.items())
    return Group(meta.namespace, pairs, bool(meta.deletion_timestamp), meta.labels, controller(meta))


def _held_terms(pod: PendingPod) -> Iterator[HeldTerm]:
    affinity = pod.request.terms.affinity
    yield from (HeldTerm(Role.NEAR, term) for term in affinity.near)
    yield from (HeldTerm(Role.APART, term) for term in affinity.apart)
    yield from (HeldTerm(Role.RATHER_NEAR, term) for term in affinity.rather_near)
    yield from (HeldTerm(Role.RATHER_APART, term) for term in affinity.rather_apart)


def _group_hooks(group: Group) -> Iterator[Hashable]:
    yield (group.namespace,)
    if group.owner:
        yield Owned(group.owner)
    yield from group.pairs
    yield from group.labels


def _term_hooks(held: HeldTerm) -> Iterator[Hashable]:
    """Lead to a term by one label that it needs."""
    selector = held.term.selector
    if selector.nothing:
        return
    for requirement in selector.requirements:
        if requirement.operator == IN:
            yield from ((requirement.key, value) for value in requirement.values)
            return
        if requirement.operator == EXISTS:
            yield requirement.key
            return
    yield ANY
