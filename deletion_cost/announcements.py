"""What the controller tells users in events, and the words. It decides nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from cluster_model import deletion_cost
from cluster_model.objects import ObjectMeta, OwnerReference
from cluster_model.verdict import Problem
from deletion_cost.fleet import Member
from deletion_cost.ownership import StandDown
from deletion_cost.scale_down import HorizontalPodAutoscaler
from deletion_cost.workload import Workload
from kube_client.event_bodies import Kind, Words
from kube_client.events import Recorder

ACTION = "DeletionCost"
AUTOSCALER = Kind("autoscaling/v2", "HorizontalPodAutoscaler")


@dataclass(frozen=True, slots=True)
class _Subject:
    """An object that is known by its name only."""

    metadata: ObjectMeta


class Announcer:
    """Says each thing about the object that can cure it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def stood_down(self, member: Member, why: StandDown) -> None:
        """Say on the pod that somebody else keeps its cost."""
        key = deletion_cost.ANNOTATION
        if why == "foreign":
            writers = ", ".join(member.pod.metadata.cost_writers)
            note = f"annotation {key} was written by {writers}: this pod's cost is left to it"
            self._recorder.record(member.pod, _warning("DeletionCostForeignWriter", note))
        if why == "vanished":
            note = f"annotation {key} was removed by another: this pod's cost is left as it is"
            self._recorder.record(member.pod, _warning("DeletionCostRemoved", note))

    def deaf(self, owner: OwnerReference, namespace: str) -> None:
        """Say on a workload that its controller does not look at the cost."""
        note = f"a {owner.kind} does not look at {deletion_cost.ANNOTATION}: its pods get none"
        self._about(owner, namespace, _warning("DeletionCostIgnored", note))

    def invalid(self, workload: Workload, problems: Sequence[Problem]) -> None:
        """Say on a workload what is wrong with its annotations."""
        note = "; ".join(map(str, problems)) + ": the default policy holds"
        self._about(workload.owner, workload.namespace, _warning("DeletionCostInvalidPolicy", note))

    def frozen(self, workload: Workload, missing: int, asked: int) -> None:
        """Say on a workload that its pods' costs stand still."""
        note = f"{missing} of {asked} pods do not tell their load: costs stay as they are"
        self._about(workload.owner, workload.namespace, _warning("DeletionCostFrozen", note))

    def short_window(self, autoscaler: HorizontalPodAutoscaler, window_seconds: int, warmup_seconds: float) -> None:
        """Say on an autoscaler that it may take new pods before they are warm."""
        note = (
            f"scale-down is stabilized over {window_seconds} s, new pods are cold for {warmup_seconds:g} s "
            "and go first: a number of replicas that goes up and down keeps them from ever getting warm"
        )
        self._recorder.record(autoscaler, _warning("DeletionCostShortWindow", note), AUTOSCALER)

    def _about(self, owner: OwnerReference, namespace: str, words: Words) -> None:
        subject = _Subject(ObjectMeta(name=owner.name, namespace=namespace, uid=owner.uid))
        self._recorder.record(subject, words, Kind(owner.api_version, owner.kind))


def _warning(reason: str, note: str) -> Words:
    return Words("Warning", reason, ACTION, note)
