"""The contract for users' plugins: all that such a plugin imports. Nothing here runs one.

A plugin is one class, named by an entry point of the group `gpu_scheduler.plugins`. It derives from the points where it
works, says in `args` what its `pluginConfig` may hold, and is made once for each profile with `(args, handle)`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Reason
from gpu_scheduler.waiting_pods import ANY_EVENT as ANY_EVENT
from gpu_scheduler.waiting_pods import Wait as Wait
from gpu_scheduler.waiting_pods import WaitingPod as WaitingPod
from gpu_scheduler.waiting_pods import WaitingPods
from kube_client.binding import Outcome
from kube_client.client import Client
from scheduler_plugins.framework import PluginError as PluginError
from scheduler_plugins.framework import Verdict as Verdict
from scheduler_plugins.interfaces import FilterPlugin as FilterPlugin
from scheduler_plugins.interfaces import PostFiltered as PostFiltered
from scheduler_plugins.interfaces import PostFilterPlugin as PostFilterPlugin
from scheduler_plugins.interfaces import PreEnqueuePlugin as PreEnqueuePlugin
from scheduler_plugins.interfaces import QueueSortPlugin as QueueSortPlugin
from scheduler_plugins.interfaces import ReservePlugin as ReservePlugin
from scheduler_plugins.interfaces import ScorePlugin as ScorePlugin
from scheduler_plugins.plugin_args import Args as Args
from scheduler_plugins.plugin_args import NoArgs as NoArgs


class PermitPlugin(ABC):
    """Has the last word on whether a pod may have the node chosen for it."""

    @abstractmethod
    def permit(self, pod: PendingPod, node: str) -> Reason | Wait | None:
        """Allow with None, deny with a reason, or wait: `handle.waiting` then takes the plugin's answer."""


class PreBindPlugin(ABC):
    """Does what must be done before a pod is bound."""

    def has_work(self, pod: PendingPod, node: str) -> bool:  # noqa: ARG002
        """Say whether there is anything to do for this pod; where nobody has work it is bound at once."""
        return True

    @abstractmethod
    async def pre_bind(self, pod: PendingPod, node: str) -> None:
        """Do it; raise where it fails. The pod keeps its place meanwhile."""


class BindPlugin(ABC):
    """Binds pods in DefaultBinder's stead."""

    @abstractmethod
    async def bind(self, pod: PendingPod, node: str) -> Outcome | None:
        """Say what became of the binding; None leaves the pod to the next such plugin.

        The outcomes are those of `kube_client.binding`. Whatever is raised says that the pod is certainly not bound.
        """


class PostBindPlugin(ABC):
    """Is told of bindings."""

    @abstractmethod
    async def post_bind(self, pod: PendingPod, node: str) -> None:
        """Take note that the pod is bound. A failure is logged, it changes nothing."""


# By the name of the point in a configuration. `preFilter` and `preScore` are parts of `filter` and `score`.
INTERFACES: Mapping[str, type] = MappingProxyType(
    {
        "queueSort": QueueSortPlugin,
        "preEnqueue": PreEnqueuePlugin,
        "filter": FilterPlugin,
        "postFilter": PostFilterPlugin,
        "score": ScorePlugin,
        "reserve": ReservePlugin,
        "permit": PermitPlugin,
        "preBind": PreBindPlugin,
        "bind": BindPlugin,
        "postBind": PostBindPlugin,
    }
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the running process lends to plugins."""

    client: Client
    snapshot: Callable[[], Snapshot]
    activate: Callable[[str], None]  # by UID


class Handle:
    """What a plugin may ask of the process, once that runs: not yet when the plugin is made."""

    def __init__(self, waiting: WaitingPods) -> None:
        self.waiting = waiting
        self._parts: Parts | None = None

    def lend(self, parts: Parts) -> None:
        """Give plugins what they may use: the process does, once."""
        self._parts = parts

    @property
    def client(self) -> Client:
        """The client of the API server, for the points with I/O."""
        return self._lent().client

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now, pods that have a node and are not bound yet among it."""
        return self._lent().snapshot()

    def activate(self, uid: str) -> None:
        """Try a pod soon that waits for an event or for its backoff."""
        self._lent().activate(uid)

    def _lent(self) -> Parts:
        if self._parts is None:
            raise RuntimeError("the scheduler does not run yet")
        return self._parts
