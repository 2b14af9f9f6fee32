"""What a user's plugin may implement without I/O: one class for each extension point, with the method that is called.

A plugin is one class that derives from the points where it works. All of it runs in the scheduling cycle, so nothing
here may wait. The points with I/O are in `gpu_scheduler.extension_points`, the place for users to import from.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Rows, Snapshot
from cluster_model.verdict import Reason
from scheduler_plugins.framework import Decision, Narrowing, ReasonSet, Scores, Verdict


class QueueSortPlugin(ABC):
    """Orders the pods that wait. All profiles must share one."""

    @abstractmethod
    def queue_sort(self, pod: PendingPod, since_seconds: float) -> tuple[float, ...]:
        """Return a key, the lowest of which is tried first; `since_seconds` is when the pod began to wait.

        It may change only where the pod does.
        """


class PreEnqueuePlugin(ABC):
    """Keeps pods out of the queue for a while."""

    @abstractmethod
    def pre_enqueue(self, pod: PendingPod) -> Reason | None:
        """Say why the pod is not to be tried yet; it is asked again after the reason's events."""


class FilterPlugin(ABC):
    """Says on which nodes a pod cannot run."""

    # Set it where a node's code depends on nothing but that node's row, `pod.pod.spec` and `pod.request.gpu`: then the
    # answer is kept and given to all pods that ask alike. An answer that depends on anything else must not be kept.
    filters_row_by_row: ClassVar[bool] = False

    @abstractmethod
    def filter(self, pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
        """Judge all nodes at once; None: nothing to say about this pod."""

    def refuse(self, pod: PendingPod, snapshot: Snapshot) -> ReasonSet:  # noqa: ARG002
        """Reject the pod everywhere, for what it says or names, before any node is judged."""
        return ()

    def narrow(self, pod: PendingPod) -> Narrowing | None:  # noqa: ARG002
        """Name the only nodes worth judging."""
        return None


@dataclass(frozen=True, slots=True)
class PostFiltered:
    """What became of a pod that fits nowhere: text for its sentence, and the node where it will soon fit.

    A node ends the point; so does `final`, which says that no other plugin can help either. `clears` ends an earlier
    wait of the pod for a node.
    """

    message: str = ""
    nominated: str = ""
    final: bool = False
    clears: bool = False


class PostFilterPlugin(ABC):
    """Helps a pod that fits nowhere."""

    @abstractmethod
    def post_filter(self, decision: Decision) -> PostFiltered | None:
        """Say what can be done; None: nothing."""


class ScorePlugin(ABC):
    """Says how good the nodes are on which a pod can run."""

    scores_row_by_row: ClassVar[bool] = False  # as `filters_row_by_row`

    @abstractmethod
    def score(self, pod: PendingPod, snapshot: Snapshot, rows: Rows) -> Scores | None:
        """Score these rows of the snapshot, one whole number each; None: no say about this pod."""

    def normalise(self, scores: Scores) -> Scores:
        """Bring the scores into 0..100."""
        return scores


class ReservePlugin(ABC):
    """Keeps account of what a pod takes from the moment its node is chosen."""

    @abstractmethod
    def reserve(self, pod: PendingPod, node: str, snapshot: Snapshot) -> Reason | None:
        """Take what the pod needs there; the reason why not rejects the pod. The snapshot is the decision's."""

    @abstractmethod
    def unreserve(self, pod: PendingPod, node: str) -> None:
        """Give it back. Called after any failure from `reserve` on, also where this plugin was not asked yet."""
