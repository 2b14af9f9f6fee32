"""The four things that must never be mixed: a verdict with its reasons, malformed input, a failed call, a bug.

The first two are values and live here; a failed call is `kube_client.errors.ApiError`; anything else is a bug.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cluster_model.go_text import quoted


class Event(StrEnum):
    """Changes of the cluster that can cure a rejection, under kube-scheduler's own labels."""

    NODE_ADD = "NodeAdd"
    NODE_DELETE = "NodeDelete"
    NODE_ALLOCATABLE = "NodeUpdateNodeAllocatable"
    NODE_LABEL = "NodeUpdateNodeLabel"
    NODE_TAINT = "NodeUpdateNodeTaint"
    NODE_CONDITION = "NodeUpdateNodeCondition"
    NODE_ANNOTATION = "NodeUpdateNodeAnnotation"
    NODE_FEATURE = "NodeUpdateNodeDeclaredFeature"
    ASSIGNED_POD_ADD = "AssignedPodAdd"
    ASSIGNED_POD_DELETE = "AssignedPodDelete"
    ASSIGNED_POD_LABEL = "AssignedPodUpdatePodLabel"
    ASSIGNED_POD_SCALE_DOWN = "AssignedPodUpdatePodScaleDown"
    ASSIGNED_POD_SCALE_UP = "AssignedPodUpdatePodScaleUp"
    ASSIGNED_POD_GATES = "AssignedPodUpdatePodSchedulingGatesEliminated"
    ASSIGNED_POD_TOLERATION = "AssignedPodUpdatePodToleration"
    ASSIGNED_POD_UPDATE = "AssignedPodUpdate"  # of nothing of the kinds above
    POD_LABEL = "TargetPodUpdatePodLabel"  # these are about the pod itself that waits
    POD_SCALE_DOWN = "TargetPodUpdatePodScaleDown"
    POD_SCALE_UP = "TargetPodUpdatePodScaleUp"
    POD_GATES = "TargetPodUpdatePodSchedulingGatesEliminated"
    POD_TOLERATION = "TargetPodUpdatePodToleration"
    POD_UPDATE = "TargetPodUpdate"  # of nothing of the kinds above; as a cure: any of them
    VOLUME_ADD = "PersistentVolumeAdd"
    VOLUME_UPDATE = "PersistentVolumeUpdate"
    CLAIM_ADD = "PersistentVolumeClaimAdd"
    CLAIM_UPDATE = "PersistentVolumeClaimUpdate"
    CLASS_ADD = "storage.k8s.io/StorageClassAdd"
    CLASS_UPDATE = "storage.k8s.io/StorageClassUpdate"
    CSI_NODE_ADD = "storage.k8s.io/CSINodeAdd"
    CSI_NODE_UPDATE = "storage.k8s.io/CSINodeUpdate"
    CSI_DRIVER_UPDATE = "storage.k8s.io/CSIDriverUpdate"
    CAPACITY_ADD = "storage.k8s.io/CSIStorageCapacityAdd"
    CAPACITY_UPDATE = "storage.k8s.io/CSIStorageCapacityUpdate"
    ATTACHMENT_DELETE = "storage.k8s.io/VolumeAttachmentDelete"


EVENTS = frozenset(Event)
OWN_UPDATES = frozenset(event for event in Event if event.startswith("TargetPod"))


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a node was rejected, in the words the user reads, and which events could cure it."""

    text: str
    cured_by: frozenset[Event]

    def __post_init__(self) -> None:
        # Users' plugins make reasons too, and the queue keeps pods by them.
        if not (isinstance(self.text, str) and isinstance(self.cured_by, frozenset) and self.cured_by <= EVENTS):
            raise TypeError(f"a Reason takes a text and a frozenset of Events, not {self.text!r}, {self.cured_by!r}")

    @property
    def preemption_may_help(self) -> bool:
        """Whether evicting pods could cure it: kube-scheduler's Unschedulable, else UnschedulableAndUnresolvable."""
        return Event.ASSIGNED_POD_DELETE in self.cured_by


@dataclass(frozen=True, slots=True)
class Problem:
    """Malformed input: where it stands, what was found, and the accepted form."""

    path: str
    value: Any
    rule: str

    def __str__(self) -> str:
        """Say it in the API server's form: `path: Invalid value: "v": rule`."""
        shown = quoted(self.value) if isinstance(self.value, str) else str(self.value)
        return f"{self.path}: Invalid value: {shown}: {self.rule}"


class BadRequest(ValueError):
    """Malformed input that stops what was asked for; carries every problem found."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems
