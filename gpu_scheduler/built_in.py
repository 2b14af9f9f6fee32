"""kube-scheduler's own plugins outside the decision, at the same extension points as those of users."""

from collections.abc import Callable
from dataclasses import dataclass

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Reason
from gpu_scheduler.extension_points import BindPlugin, PostFiltered, PostFilterPlugin, PreBindPlugin, ReservePlugin
from gpu_scheduler.metrics import Metrics
from gpu_scheduler.preemptor import Preemptor
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.volume_binder import Reservation, VolumeBinder
from kube_client import binding
from kube_client.binding import Outcome
from kube_client.client import Client
from scheduler_plugins import victims, volume_binding
from scheduler_plugins.framework import Decision, Profile

DEFAULT_BINDER = "DefaultBinder"
NAMES = frozenset({DEFAULT_BINDER, volume_binding.NAME, victims.NAME})


class DefaultBinder(BindPlugin):
    """Posts the binding."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def bind(self, pod: PendingPod, node: str) -> Outcome:
        """Bind the pod, and find out what became of it."""
        return await binding.bind(self._client, pod.pod, node)


class VolumeBinding(ReservePlugin, PreBindPlugin):
    """Binds a pod's volumes before the pod."""

    def __init__(self, volumes: VolumeBinder, timeout_seconds: float | None, exists: Callable[[str], bool]) -> None:
        self._volumes = volumes
        self._timeout_seconds = timeout_seconds
        self._exists = exists
        self._made: dict[str, Reservation] = {}  # by UID

    def reserve(self, pod: PendingPod, node: str, snapshot: Snapshot) -> Reason | None:
        """Reckon with the volumes that the decision rests on."""
        if pod.request.volumes.claims and self._timeout_seconds is not None:
            made = self._volumes.reserve(pod, node, snapshot, self._timeout_seconds)
            if made is not None:
                self._made[pod.pod.metadata.uid] = made
        return None

    def unreserve(self, pod: PendingPod, node: str) -> None:  # noqa: ARG002
        """Reckon with them no more."""
        made = self._made.pop(pod.pod.metadata.uid, None)
        if made is not None:
            self._volumes.give_back(made)

    def has_work(self, pod: PendingPod, node: str) -> bool:  # noqa: ARG002
        """Say whether anything is to be bound."""
        return pod.pod.metadata.uid in self._made

    async def pre_bind(self, pod: PendingPod, node: str) -> None:  # noqa: ARG002
        """Write what is wanted and wait for it. What is written is true: from then on nothing can be given back."""
        uid = pod.pod.metadata.uid
        await self._volumes.bind(self._made[uid], lambda: self._exists(uid))
        del self._made[uid]


class DefaultPreemption(PostFilterPlugin):
    """Makes room for a pod that fits nowhere."""

    def __init__(self, preemptor: Preemptor, queue: SchedulingQueue, metrics: Metrics) -> None:
        self._preemptor = preemptor
        self._queue = queue
        self._metrics = metrics

    def post_filter(self, decision: Decision) -> PostFiltered | None:
        """Look for pods that could go, and begin to end them."""
        queued = self._queue.get(decision.pod.pod.metadata.uid)
        if queued is None or decision.profile.preemption is None:
            return None
        room = self._preemptor.make_room(queued, decision)
        if room.victims is not None:
            self._metrics.preempted(room.victims)
        return PostFiltered(room.suffix.strip(), room.nominated or "", clears=room.nominated == "")


@dataclass(frozen=True, slots=True)
class Parts:
    """What our plugins are made of."""

    binder: BindPlugin
    queue: SchedulingQueue
    metrics: Metrics
    volumes: VolumeBinder
    preemptor: Preemptor


def plugins(profile: Profile, parts: Parts) -> dict[str, object]:
    """Return ours for one profile, by name."""
    return {
        DEFAULT_BINDER: parts.binder,
        volume_binding.NAME: VolumeBinding(parts.volumes, profile.bind_timeout_seconds, parts.queue.__contains__),
        victims.NAME: DefaultPreemption(parts.preemptor, parts.queue, parts.metrics),
    }
