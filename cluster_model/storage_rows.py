"""Storage by node, one row a node: what its CSINode says, which volumes its pods use, what is attached there.

Used by StorageState alone, which says what claims and attachments stand for.
"""

from dataclasses import dataclass

from cluster_model.csi_migration import CsiVolume
from cluster_model.interning import Interned, Interner
from cluster_model.pod import PendingPod
from cluster_model.pod_volumes import NO_VOLUMES
from cluster_model.storage_columns import CsiFacts
from cluster_model.storage_objects import VolumeAttachment
from cluster_model.storage_tables import AttachmentTable
from cluster_model.volume_table import VolumeTable


@dataclass(frozen=True, slots=True)
class Attached:
    """An attachment as a source of a volume."""

    name: str


@dataclass(frozen=True, slots=True)
class MadeFor:
    """The use of a claim by the pod that it was made for; to share such a claim is no question."""

    claim: str


class StorageRows:
    """The rows, and what is known of nodes that have none yet."""

    def __init__(self) -> None:
        self.table = VolumeTable()
        self.attachments = AttachmentTable()
        self._csi_facts: dict[str, CsiFacts] = {}
        self._csi_nodes: Interner[CsiFacts | None] = Interner()
        self._rows: dict[str, int] = {}
        self._names: list[str] = []  # [node]

    def __len__(self) -> int:
        return len(self._names)

    def append(self, node: str) -> None:
        """Add a row for a node, with what is known of it already."""
        row = self._rows[node] = len(self._names)
        self._names.append(node)
        self.table.append()
        self._csi_nodes.append(self._csi_facts.get(node))
        for name in self.attachments.on(node):
            self.table.attach(row, Attached(name))

    def remove(self, row: int) -> None:
        """Drop a node's row; the last row takes its place."""
        self.table.remove(row)
        self._csi_nodes.remove(row)
        del self._rows[self._names[row]]
        last = self._names.pop()
        if row < len(self._names):
            self._names[row] = last
            self._rows[last] = row

    def count(self, row: int, pod: PendingPod, sign: int) -> None:
        """Count a pod's volumes on a node, or count them no more."""
        volumes = pod.request.volumes
        if volumes is NO_VOLUMES:
            return
        change = self.table.use if sign > 0 else self.table.leave
        for claim in volumes.claims:
            key = f"{pod.pod.metadata.namespace}/{claim.name}"
            change(row, MadeFor(key) if claim.ephemeral else key)
        for volume in volumes.attached:
            change(row, volume)
        if volumes.disks:
            self.table.use_disks(row, volumes.disks, sign)

    def set_csi(self, node: str, facts: CsiFacts | None) -> bool:
        """Take what a node's CSINode says, None if there is none; tell whether that is new."""
        before = self._csi_facts.pop(node, None)
        if facts is not None:
            self._csi_facts[node] = facts
        row = self._rows.get(node)
        if row is not None:
            self._csi_nodes.put(row, facts)
        return before != facts

    def attach(self, found: VolumeAttachment, volume: CsiVolume | None) -> None:
        """Take an attachment that is not there, and what it stands for."""
        source, row = Attached(found.metadata.name), self._rows.get(found.spec.node_name)
        self.attachments.add(found)
        self.table.mean(source, volume)
        if row is not None:
            self.table.attach(row, source)

    def detach(self, name: str) -> bool:
        """Forget an attachment; tell whether there was one."""
        gone = self.attachments.remove(name)
        if gone is None:
            return False
        source, row = Attached(name), self._rows.get(gone.spec.node_name)
        if row is not None:
            self.table.detach(row, source)
        self.table.mean(source, None)
        return True

    def mean(self, claim: str, volume: CsiVolume | None) -> None:
        """Say which volume a claim stands for now."""
        for source in (claim, MadeFor(claim)):
            self.table.mean(source, volume)

    def csi_nodes(self) -> Interned[CsiFacts | None]:
        """Return what each node's CSINode says."""
        return self._csi_nodes.frozen()
