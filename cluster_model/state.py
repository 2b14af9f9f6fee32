"""The one mutable owner of the cluster: what the watches said and what was assumed, keyed by node name and pod UID.

Every method may be called again, late, or in another order with the same end. No I/O, no clock, no lock: it belongs to
one thread.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from cluster_model import node_record, objects, pod_changes, pod_counts
from cluster_model.budgets import BudgetTable
from cluster_model.controller_objects import Namespace
from cluster_model.label_selectors import Selector
from cluster_model.namespaces import NamespaceTable
from cluster_model.node_facts import Untrusted
from cluster_model.node_record import NodeRecord
from cluster_model.node_table import NodeTable
from cluster_model.nominations import Nominations
from cluster_model.pod import PendingPod
from cluster_model.pod_counts import PodTable
from cluster_model.pod_owners import Owner, OwnerTable
from cluster_model.request import PodRequest
from cluster_model.snapshot import Snapshot, Supposed
from cluster_model.storage import StorageState
from cluster_model.usage_table import UsageTable
from cluster_model.verdict import Event

NOTHING: frozenset[Event] = frozenset()
TERMINAL = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Holding:
    """A pod that counts on a node, whether or not that node is known yet."""

    pod: PendingPod
    node: str
    assumed: bool  # decided here, not yet seen bound on the API server


class ClusterState:
    """Nodes, the pods that count on them, and snapshots of both. Its events say what could cure a rejection."""

    def __init__(self, extra_models: tuple[str, ...] = ()) -> None:
        self._extra_models = extra_models
        self._nodes = NodeTable()
        self._usage = UsageTable()
        self._pods = PodTable()
        self._namespaces = NamespaceTable()
        self._owners = OwnerTable()
        self.storage = StorageState(self._touch)
        self.budgets = BudgetTable()
        self.nominations = Nominations()
        self.evicting: set[str] = set()  # UIDs of pods that have to go and may not have been told yet
        # UIDs of pods for which others are being evicted -> the last of those; None while it is not its turn.
        self.preempting: dict[str, str | None] = {}
        self._holdings: dict[str, Holding] = {}
        self._by_node: dict[str, set[str]] = {}  # node name -> UIDs, unknown nodes too
        self._weakest: dict[str, int] = {}  # node name -> lowest priority there, where it was asked for
        self._generation = 0
        self._snapshot: Snapshot | None = None

    def set_node(self, node: objects.Node) -> frozenset[Event]:
        """Take a node as it is now; pods that arrived before it are counted with it."""
        name = node.metadata.name
        row = self._nodes.rows.get(name)
        if row is None:
            return self._add_node(NodeRecord.read(node, None, self._extra_models))
        before = self._nodes.records[row]
        record = NodeRecord.read(node, before, self._extra_models)
        events = node_record.changes(before, record)
        self._add_resources(record)
        self._nodes.replace(row, record)
        self._touch()
        return events

    def remove_node(self, name: str) -> frozenset[Event]:
        """Forget a node; its pods stay remembered until they are deleted, and count again if it returns."""
        if name not in self._nodes.rows:
            return NOTHING
        row = self._nodes.remove(name)
        self._usage.remove(row)
        self._pods.remove(row, name)
        self.storage.remove(row)
        self._touch()
        return frozenset({Event.NODE_DELETE})

    def set_pod(self, pod: PendingPod) -> frozenset[Event]:
        """Take a pod as it is now: bound and running on counts, finished no more; unbound says nothing about it."""
        uid = pod.pod.metadata.uid
        if pod.pod.status.phase in TERMINAL:
            return self._release(uid)
        node = pod.pod.spec.node_name
        if not node:
            return NOTHING  # a pod is never unbound: this is older news than what was assumed or seen
        held = self._holdings.get(uid)
        if held is None:
            self._hold(uid, Holding(pod, node, assumed=False))
            return frozenset({Event.ASSIGNED_POD_ADD})
        return self._confirm(uid, held, Holding(pod, node, assumed=False))

    def remove_pod(self, uid: str) -> frozenset[Event]:
        """Forget a deleted pod."""
        return self._release(uid)

    def assume(self, pod: PendingPod, node_name: str) -> None:
        """Count a pod on the node decided for it, before the binding is sent. A pod that counts already is a bug."""
        uid = pod.pod.metadata.uid
        if uid in self._holdings:
            raise ValueError(f"pod {uid} already counts on node {self._holdings[uid].node}")
        self.nominations.drop(uid)
        self._hold(uid, Holding(pod, node_name, assumed=True))

    def forget(self, uid: str) -> frozenset[Event]:
        """Undo an assumption whose binding failed; a pod that was seen bound meanwhile stays."""
        held = self._holdings.get(uid)
        return self._release(uid) if held is not None and held.assumed else NOTHING

    def set_namespace(self, namespace: Namespace) -> frozenset[Event]:
        """Take a namespace as it is now. No rejection waits for one: kube-scheduler's hints do not either."""
        if self._namespaces.set(namespace):
            self._touch()
        return NOTHING

    def remove_namespace(self, name: str) -> frozenset[Event]:
        """Forget a namespace."""
        if self._namespaces.remove(name):
            self._touch()
        return NOTHING

    def set_owner(self, owner: Owner) -> frozenset[Event]:
        """Take a Service or a controller as it is now; what it selects is spread by default."""
        if self._owners.set(owner):
            self._touch()
        return NOTHING

    def remove_owner(self, owner: Owner) -> frozenset[Event]:
        """Forget a Service or a controller."""
        if self._owners.remove(owner):
            self._touch()
        return NOTHING

    def selector_of(self, pod: objects.Pod) -> Selector:
        """Return what the Services and controllers of a pod select together."""
        return self._owners.frozen().selector(pod)

    def holds(self, uid: str) -> str | None:
        """Return the name of the node that a pod counts on."""
        held = self._holdings.get(uid)
        return None if held is None else held.node

    def held(self, uid: str) -> PendingPod | None:
        """Return a pod that counts somewhere, as it was last read."""
        held = self._holdings.get(uid)
        return None if held is None else held.pod

    def pods_on(self, node: str) -> tuple[PendingPod, ...]:
        """Return the pods that count on a node, in no order."""
        return tuple(self._holdings[uid].pod for uid in self._by_node.get(node, ()))

    def weakest(self, node: str) -> int | None:
        """Return the lowest priority among the pods that count on a node."""
        if node not in self._by_node:
            return None
        if node not in self._weakest:
            self._weakest[node] = min(self._holdings[uid].pod.pod.spec.priority for uid in self._by_node[node])
        return self._weakest[node]

    def holdings(self) -> Mapping[str, Holding]:
        """Return what counts where, by pod UID; a copy."""
        return dict(self._holdings)

    def node(self, name: str) -> NodeRecord | None:
        """Return a node and what was read from it."""
        row = self._nodes.rows.get(name)
        return None if row is None else self._nodes.records[row]

    def unreadable(self) -> dict[str, tuple[Untrusted, ...]]:
        """Return, by node name, what its object says that could not be read; such a fact is unknown."""
        found = {record.node.metadata.name: record.unreadable for record in self._nodes.records}
        return {name: facts for name, facts in found.items() if facts}

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now; the same object until something changes."""
        if self._snapshot is None:
            self._snapshot = self._freeze()
        return self._snapshot

    def supposing(self, gone: Iterable[PendingPod], come: Iterable[tuple[PendingPod, str]] = ()) -> Snapshot:
        """Return the cluster as it would be without some pods that count, and with others on known nodes.

        Nothing changes: snapshots taken before and after are the same.
        """
        kept = self.snapshot()
        changes = [Supposed(pod, self._holdings[pod.pod.metadata.uid].node, -1) for pod in gone]
        changes += [Supposed(pod, node, 1) for pod, node in come]
        for one in changes:
            self._count(one.pod, one.node, one.sign)
            self._pods.suppose(one.pod, one.node, one.sign)
        found = replace(self._freeze(), supposed=tuple(changes))
        for one in reversed(changes):
            self._pods.suppose(one.pod, one.node, -one.sign)
            self._count(one.pod, one.node, -one.sign)
        self._generation, self._snapshot = kept.generation, kept
        return found

    def _freeze(self) -> Snapshot:
        return Snapshot(
            self._generation,
            self._nodes.frozen(),
            self._usage.frozen(),
            self._pods.frozen(),
            self._namespaces.frozen(),
            self._owners.frozen(),
            self.storage.frozen(),
        )

    def _count(self, pod: PendingPod, node: str, sign: int) -> None:
        """Let a pod count on a node (1), or no more (-1)."""
        change = self._pods.count if sign > 0 else self._pods.release
        change(pod, node)
        row = self._nodes.rows.get(node)
        if row is not None:
            (self._usage.count if sign > 0 else self._usage.release)(row, pod.request)
            self.storage.count(row, pod, sign)
            self._touch()

    def _touch(self) -> None:
        self._generation += 1
        self._snapshot = None

    def _add_node(self, record: NodeRecord) -> frozenset[Event]:
        self._add_resources(record)
        row = self._nodes.append(record)
        self._usage.append()
        self._pods.append(record.node.metadata.name)
        self.storage.append(record.node.metadata.name)
        for uid in self._by_node.get(record.node.metadata.name, ()):
            self._usage.count(row, self._holdings[uid].pod.request)
            self.storage.count(row, self._holdings[uid].pod, 1)
        self._touch()
        return frozenset({Event.NODE_ADD})

    def _add_resources(self, record: NodeRecord) -> None:
        for resource in self._nodes.new_resources(record):
            self._usage.add_resource(resource, self._counted())

    def _counted(self) -> Iterator[tuple[int, PodRequest]]:
        for held in self._holdings.values():
            row = self._nodes.rows.get(held.node)
            if row is not None:
                yield row, held.pod.request

    def _confirm(self, uid: str, held: Holding, seen: Holding) -> frozenset[Event]:
        same_node = held.node == seen.node
        if same_node and held.pod.request == seen.pod.request:
            self._holdings[uid] = seen
            self._relabel(held.pod, seen)
        else:
            self._release(uid)
            self._hold(uid, seen)
        if held.assumed or not same_node:
            return frozenset(
                {Event.ASSIGNED_POD_ADD} if same_node else {Event.ASSIGNED_POD_ADD, Event.ASSIGNED_POD_DELETE}
            )
        return NOTHING if held.pod.pod == seen.pod.pod else frozenset(pod_changes.changes(held.pod, seen.pod))

    def _relabel(self, before: PendingPod, seen: Holding) -> None:
        """Count a pod as what it is called now, under its controller; one on its way out counts for no spreading."""
        old, new = before.pod.metadata, seen.pod.pod.metadata
        moved = old.labels != new.labels or pod_counts.controller(old) != pod_counts.controller(new)
        if moved or bool(old.deletion_timestamp) != bool(new.deletion_timestamp):
            self._pods.release(before, seen.node)
            self._pods.count(seen.pod, seen.node)
            self._touch()

    def _hold(self, uid: str, holding: Holding) -> None:
        self._holdings[uid] = holding
        self._by_node.setdefault(holding.node, set()).add(uid)
        self._weakest.pop(holding.node, None)
        self._count(holding.pod, holding.node, 1)

    def _release(self, uid: str) -> frozenset[Event]:
        held = self._holdings.pop(uid, None)
        if held is None:
            return NOTHING
        self.evicting.discard(uid)
        there = self._by_node[held.node]
        there.discard(uid)
        self._weakest.pop(held.node, None)
        if not there:
            del self._by_node[held.node]
        self._count(held.pod, held.node, -1)
        return frozenset({Event.ASSIGNED_POD_DELETE})
