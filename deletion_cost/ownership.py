"""Whose value a pod's cost is, as its managedFields tell, and when to stand down before another writer. Pure.

What a webhook writes at creation has no owner; what stands in a pod template is kube-controller-manager's; a patch
makes its field manager the owner; a removal leaves none.
"""

from dataclasses import dataclass
from typing import Literal

from cluster_model import deletion_cost
from deletion_cost import standings
from deletion_cost.own_pod import FIELD_MANAGER as REPORTER
from deletion_cost.pod_objects import Meta

OURS = "gpu-scheduler-deletion-cost"
TEMPLATE = "kube-controller-manager"

Holder = Literal["nobody", "ours", "initial", "template", "reporter", "foreign"]
# Why nothing is written any more for a pod: another writer, a key that vanished, or the application itself.
StandDown = Literal["foreign", "vanished", "reporter", "template"]


def holder(meta: Meta) -> Holder:
    """Say whose the pod's cost is."""
    if deletion_cost.ANNOTATION not in meta.annotations:
        return "nobody"
    others = [writer for writer in meta.cost_writers if writer != OURS]
    if not others:
        return "ours" if meta.cost_writers else "initial"
    if REPORTER in others:
        return "reporter"
    return "template" if others == [TEMPLATE] else "foreign"


@dataclass(slots=True)
class Ownership:
    """One pod's cost as last seen, and what we know of our own writes."""

    value: int | None = None
    holder: Holder = "nobody"
    stood_down: StandDown | None = None
    # A value of the pod template is the user's own, unless the user has switched the controller on as well.
    yields_to_template: bool = True
    _version: int = -1
    _removals: int = 0  # of ours that have not been seen to happen
    _sent_removal: bool = False

    def sending(self, value: int | None) -> None:
        """Be told what is about to be written: its echo may come before its answer, or without one, or much later."""
        removal = value is None
        # Sent again it is the same one: with no value written in between it happens once.
        self._removals += removal and not self._sent_removal
        self._sent_removal = removal

    def answered(self) -> None:
        """Be told that the state seen last is the newest: what came before it will not be told any more."""
        self._removals, self._sent_removal = 0, False

    def see(self, meta: Meta, judging: bool) -> StandDown | None:
        """Take a state of the pod, unless a newer one is known; return why to stand down where that begins now.

        Only who leads judges: to a standby the leader's removals look like another's.
        """
        version = int(meta.resource_version) if meta.resource_version.isdigit() else self._version
        if version < self._version:
            return None
        before, self._version = self.holder, version
        self.holder = holder(meta)
        self.value = None if self.holder == "nobody" else standings.cost(meta)
        if self.stood_down is not None or not judging:
            return None
        self.stood_down = self._reason(before)
        if self.holder == "nobody" and before == "ours":
            self._removals = max(0, self._removals - 1)
        return self.stood_down

    def begin(self) -> None:
        """Begin a term: what was concluded before it is forgotten, and only what is seen now counts."""
        self.answered()
        self.stood_down = None
        self.stood_down = self._reason("nobody")

    def _reason(self, before: Holder) -> StandDown | None:
        if self.holder == "foreign" or self.holder == "reporter":
            return self.holder
        if self.holder == "template" and self.yields_to_template:
            return "template"
        if self.holder == "nobody" and before == "ours" and not self._removals:
            return "vanished"
        return None
