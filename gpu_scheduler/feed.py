"""Carries what the watches say into the cluster's state and the queue. Reads each pod once, decides nothing."""

import logging
from collections.abc import Callable, Collection

import msgspec

from cluster_model import objects, resizing
from cluster_model.node_facts import Untrusted
from cluster_model.pod import BUILT_IN_MODELS, PendingPod
from cluster_model.request import Rules
from cluster_model.state import TERMINAL, ClusterState
from cluster_model.verdict import Event
from gpu_scheduler.teller import Teller
from kube_client.changes import Added, Change, Deleted, Modified, Synced
from kube_client.logs import quoted

log = logging.getLogger(__name__)

ROOM = frozenset({Event.ASSIGNED_POD_DELETE})  # as kube-scheduler tells of a nomination that ends
CAME = frozenset({Event.ASSIGNED_POD_ADD})
ADDED, UPDATED, DELETED = "UnscheduledPodAdd", "UnscheduledPodUpdate", "UnscheduledPodDelete"
BOUND_UPDATED = Event.ASSIGNED_POD_UPDATE.value


class Feed:
    """The one writer of the state and the queue beside the scheduling cycle."""

    def __init__(
        self,
        state: ClusterState,
        teller: Teller,
        scheduler_names: Collection[str],
        unreadable: Callable[[str], None],  # counts a fact of a node, by its label, that could not be read
        known: Rules = BUILT_IN_MODELS,
    ) -> None:
        self._state = state
        self._teller = teller
        self._queue = teller.queue
        self._names = frozenset(scheduler_names)
        self._count_unreadable = unreadable
        self._known = known
        self._unreadable: dict[str, tuple[Untrusted, ...]] = {}
        self._backlog: dict[str, objects.Pod] | None = {}

    def node(self, change: Change[objects.Node]) -> None:
        """Take one change of a node, and wake the pods it could cure."""
        began = self._teller.now()
        match change:
            case Added(node) | Modified(node):
                name = node.metadata.name
                before, events = self._state.node(name), self._state.set_node(node)
                self._teller.tell(began, events, before, self._state.node(name))
                self._note_unreadable(name)
            case Deleted(node):
                name = node.metadata.name
                before, events = self._state.node(name), self._state.remove_node(name)
                self._teller.tell(began, events, before)
                self._unreadable.pop(name, None)
            case Synced():
                pass

    def pod(self, change: Change[objects.Pod]) -> None:
        """Take one change of a pod: ours without a node wait in the queue, those with one count on their node."""
        began = self._teller.now()
        match change:
            case Added(pod):
                self._nominate(pod, "")
                self._take(pod, began)
            case Modified(pod, old):
                self._nominate(pod, old.status.nominated_node_name)
                if _only_its_status(pod, old):
                    self._teller.note(began, BOUND_UPDATED)
                    return
                self._take(pod, began)
                self._give_up_room(pod, old, began)
            case Deleted(pod):
                self._delete(pod, began)
            case Synced():
                self._queue_backlog()

    def _take(self, pod: objects.Pod, began: float) -> None:
        uid = pod.metadata.uid
        if pod.spec.node_name or pod.status.phase in TERMINAL:
            self._place(pod, began)
        elif uid in self._queue:
            self._teller.note(began, UPDATED, *map(_of_unscheduled, self._queue.put(self._read(pod))))
        elif pod.spec.scheduler_name not in self._names or self._state.holds(uid) is not None:
            return  # not ours, or older news than our own binding
        elif self._backlog is not None:
            self._backlog[uid] = pod
        else:
            self._queue.put(self._read(pod))
            self._teller.note(began, ADDED)

    def _place(self, pod: objects.Pod, began: float) -> None:
        """Let a pod count where it runs, or no more once it has finished."""
        uid, pending = pod.metadata.uid, self._read(pod)
        held, node, waited = self._state.held(uid), self._state.holds(uid), uid in self._queue
        self._leave(uid)
        events = self._state.set_pod(pending)
        before = None if held is None or node is None or events == CAME else held.on(node)
        self._teller.tell(began, events, before, pending)
        if waited:
            self._teller.note(began, DELETED)

    def _delete(self, pod: objects.Pod, began: float) -> None:
        """Forget a pod; room that was kept for it is free."""
        uid = pod.metadata.uid
        before, node = self._held(uid), self._state.nominations.node(uid)
        nominated, waited = self._state.nominations.drop(uid), uid in self._queue
        self._leave(uid)
        self._teller.tell(began, self._state.remove_pod(uid), before)
        if nominated is not None and before is None:
            self._tell_of_room(nominated, node, began)
        if waited:
            self._teller.note(began, DELETED)

    def _held(self, uid: str) -> PendingPod | None:
        """Return a pod that counts somewhere as it was last read, on its node: an assumed one names none."""
        held, node = self._state.held(uid), self._state.holds(uid)
        return None if held is None or node is None else held.on(node)

    def _nominate(self, pod: objects.Pod, before: str) -> None:
        """Hold room for a pod where it waits, ours or another's; one that is on its way there holds it already."""
        if self._state.holds(pod.metadata.uid) is not None or pod.spec.node_name or pod.status.phase in TERMINAL:
            self._state.nominations.drop(pod.metadata.uid)
        elif pod.status.nominated_node_name != before:
            self._state.nominations.set(self._read(pod), pod.status.nominated_node_name)

    def _give_up_room(self, pod: objects.Pod, old: objects.Pod, began: float) -> None:
        """Tell those whom it may help that a pod waits for another node now, for none, or has come to another."""
        before, now = old.status.nominated_node_name, pod.spec.node_name or pod.status.nominated_node_name
        waited = not old.spec.node_name and pod.status.phase not in TERMINAL
        if waited and before and before != now:
            self._tell_of_room(self._read(old), before, began)

    def _tell_of_room(self, pod: PendingPod, node: str, began: float) -> None:
        """Tell those before whom the pod had room, as if it had been deleted from there: no more important ones."""
        priority = pod.pod.spec.priority
        gone = pod.nominated_to(node)
        self._teller.tell(began, ROOM, gone, None, lambda queued: queued.pending.pod.spec.priority <= priority)

    def _read(self, pod: objects.Pod) -> PendingPod:
        """Read a pod; an earlier reading holds on when only its node or its status is new."""
        uid = pod.metadata.uid
        queued = self._queue.get(uid)
        known = queued.pending if queued is not None else self._state.held(uid)
        if known is not None and _same_request(pod, known.pod):
            return PendingPod(pod, known.request)
        return PendingPod.read(pod, self._known)

    def _leave(self, uid: str) -> None:
        self._queue.remove(uid)
        if self._backlog is not None:
            self._backlog.pop(uid, None)

    def _queue_backlog(self) -> None:
        """Queue what waited before we came, in the order in which it was created: a list comes by name."""
        waited, self._backlog = self._backlog or {}, None
        for pod in sorted(waited.values(), key=lambda pod: pod.metadata.creation_timestamp):
            began = self._teller.now()
            self._queue.put(self._read(pod))
            self._teller.note(began, ADDED)

    def _note_unreadable(self, name: str) -> None:
        record = self._state.node(name)
        found = record.unreadable if record is not None else ()
        before = self._unreadable.get(name, ())
        if found == before:
            return
        self._unreadable[name] = found
        if not found:
            log.info("node facts readable again node=%s", name)
            return
        for fact in found:
            if fact not in before:
                self._count_unreadable(fact.label)
        said = ", ".join(f"{fact.label}={fact.value}: {fact.why}" for fact in found)
        log.warning("node facts unreadable node=%s facts=%s", name, quoted(said))


def _of_unscheduled(event: Event) -> str:
    """Say an update of a waiting pod as kube-scheduler says it of one that others hear of."""
    return event.replace("TargetPod", "UnscheduledPod")


def _only_its_status(new: objects.Pod, old: objects.Pod) -> bool:
    """Whether nothing is new that counts: the pod runs where it ran and asks for what it asked for."""
    node = new.spec.node_name
    stays = bool(node) and node == old.spec.node_name and new.status.phase not in TERMINAL
    # One on its way out holds what it held, but no longer counts for spreading.
    leaving = new.metadata.deletion_timestamp != old.metadata.deletion_timestamp
    # When it started says how important it is among those that may have to go.
    return stays and not leaving and new.status.start_time == old.status.start_time and _same_request(new, old)


def _same_request(new: objects.Pod, old: objects.Pod) -> bool:
    """Whether a pod asks for the same as before and is of the same size, wherever it is and whatever became of it."""
    spec = old.spec
    if spec.node_name != new.spec.node_name:
        spec = msgspec.structs.replace(spec, node_name=new.spec.node_name)
    return (
        spec == new.spec
        and resizing.same(new.status, old.status)
        and old.metadata.annotations == new.metadata.annotations
        and old.metadata.labels == new.metadata.labels
    )
