"""What kube-scheduler's framework says of a case, as the Go program prints it. Data only."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from cluster_model import controller_objects, objects, storage_objects
from cluster_model.pod_owners import Owner


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Base: immutable, camelCase on the wire, absent parts at their default."""


class Status(Wire, frozen=True):
    """A plugin's verdict; without a plugin it is the framework's own, of nodes that PreFilter left out."""

    code: str = ""
    plugin: str = ""
    reasons: tuple[str, ...] = ()


class Skipped(Wire, frozen=True):
    """The plugins with nothing to say about the pod."""

    filter: tuple[str, ...] = ()
    score: tuple[str, ...] = ()


class Score(Wire, frozen=True):
    """One plugin's score of one node, before its weight."""

    raw: int = 0
    normalised: int = 0


class Candidate(Wire, frozen=True):
    """A node where preemption would make room."""

    victims: tuple[str, ...] = ()  # namespace/name, most important first
    pdb_violations: int = msgspec.field(default=0, name="pdbViolations")


class PostFilter(Wire, frozen=True):
    """What the scheduler would do to make room."""

    code: str = ""
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    nominated: str = ""  # node
    clears: bool = False  # an earlier nomination
    victims: tuple[str, ...] = ()
    candidates: dict[str, Candidate] = {}
    hopeless: dict[str, Status] = {}

    @property
    def suffix(self) -> str:
        """What it adds to the sentence."""
        return ", ".join(self.reasons)


class Change(Wire, frozen=True):
    """What happens to one object of the cluster, whose form depends on the kind."""

    kind: str
    old: msgspec.Raw = msgspec.Raw(b"null")
    new: msgspec.Raw = msgspec.Raw(b"null")


class Heard(Wire, frozen=True):
    """One event of a change, and what each plugin that hears of it says."""

    event: str
    hints: dict[str, str] = {}


class Stored(Wire, frozen=True):
    """The objects of the case as a scheduler reads them from the API server."""

    pod: objects.Pod
    change: Change | None = None
    pods: tuple[objects.Pod, ...] = ()
    nodes: tuple[objects.Node, ...] = ()
    namespaces: tuple[controller_objects.Namespace, ...] = ()
    services: tuple[controller_objects.Service, ...] = ()
    replication_controllers: tuple[controller_objects.ReplicationController, ...] = ()
    replica_sets: tuple[controller_objects.ReplicaSet, ...] = ()
    stateful_sets: tuple[controller_objects.StatefulSet, ...] = ()
    persistent_volumes: tuple[storage_objects.PersistentVolume, ...] = ()
    persistent_volume_claims: tuple[storage_objects.PersistentVolumeClaim, ...] = ()
    storage_classes: tuple[storage_objects.StorageClass, ...] = ()
    csi_nodes: tuple[storage_objects.CsiNode, ...] = ()
    csi_drivers: tuple[storage_objects.CsiDriver, ...] = ()
    csi_storage_capacities: tuple[storage_objects.CsiStorageCapacity, ...] = ()
    volume_attachments: tuple[storage_objects.VolumeAttachment, ...] = ()

    def owners(self) -> Iterator[Owner]:
        """Yield what may select pods for others."""
        yield from self.services
        yield from self.replication_controllers
        yield from self.replica_sets
        yield from self.stateful_sets


class FrameworkAnswer(Wire, frozen=True):
    """Everything said of one case. Texts are empty, and parts None, where there was nothing to say."""

    id: str = ""
    error: str = ""  # the case could not be judged
    refused: tuple[str, ...] = ()  # what the API server would refuse about a pod
    stored: msgspec.Raw = msgspec.Raw(b"null")
    pre_enqueue: Status | None = None
    pre_filter: Status | None = None
    node: str = ""  # chosen by the scheduler
    message: str = ""  # as in the condition
    reason: str = ""  # of the condition
    rejected: dict[str, Status] = {}  # by node
    feasible: tuple[str, ...] = ()
    skipped: Skipped = Skipped()
    score_error: str = ""
    weights: dict[str, int] = {}  # by plugin
    scores: dict[str, dict[str, Score]] = {}  # by plugin, by node
    totals: dict[str, int] = {}  # weighted, by node
    post_filter: PostFilter | None = None
    heard: tuple[Heard, ...] = ()  # of a change, instead of all that

    def objects(self) -> Stored:
        """Read the stored objects as the scheduler under test reads them."""
        return msgspec.json.decode(self.stored, type=Stored)

    def normalised(self, plugin: str) -> dict[str, int]:
        """Return a plugin's normalised scores by node."""
        return {node: score.normalised for node, score in self.scores.get(plugin, {}).items()}

    def raw(self, plugin: str) -> dict[str, int]:
        """Return a plugin's raw scores by node."""
        return {node: score.raw for node, score in self.scores.get(plugin, {}).items()}
