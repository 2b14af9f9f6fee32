"""The pods that the controller may write to, by ReplicaSet, as the watches tell them. It decides no value.

Changes that only say what is known, such as our own writes, wake nobody: a ReplicaSet is `stirred` by what could
change a plan.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from cluster_model import deletion_cost
from cluster_model.controller_objects import Namespace
from cluster_model.objects import OwnerReference
from deletion_cost import bands, scope, standings
from deletion_cost.autoscalers import Autoscalers
from deletion_cost.ownership import Ownership, StandDown
from deletion_cost.pod_objects import Pod, ReplicaSet
from deletion_cost.readings import Reading
from deletion_cost.revisions import Revisions
from deletion_cost.scale_down import HorizontalPodAutoscaler
from deletion_cost.scope import Scope
from deletion_cost.warmth import Warmth
from kube_client.changes import Added, Change, Deleted, Modified

HEEDED = "ReplicaSet"
DEAF = ("StatefulSet", "Job", "DaemonSet")  # their controllers never look at the cost


@dataclass(slots=True)
class Member:
    """One pod of a ReplicaSet and what is known of it."""

    pod: Pod
    opted: bool
    warmth: Warmth
    ownership: Ownership
    joined_at: float
    reading: Reading = field(default_factory=Reading)

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid

    @property
    def ready(self) -> bool:
        """Whether the pod takes part in a scale-down as a running one."""
        return self.pod.metadata.deletion_timestamp is None and is_ready(self.pod)


@dataclass(slots=True)
class Reports:
    """Where the fleet tells what somebody should know; all of it may be called at any time and must not wait."""

    stood_down: Callable[[Member, StandDown], None]
    leaving: Callable[[Member], None]
    gone: Callable[[str], None]
    deaf: Callable[[OwnerReference, str], None]  # the owner, its namespace


@dataclass(frozen=True, slots=True)
class _Deaf:
    """An owner that does not look at the cost, and its pods that asked for one."""

    owner: OwnerReference
    namespace: str
    pods: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Fleet:
    """Everything watched, indexed for plans."""

    reports: Reports
    monotonic: Callable[[], float]
    judging: bool = False
    scope: Scope = "annotated"
    stirred: set[str] = field(default_factory=set)  # UIDs of ReplicaSets
    _members: defaultdict[str, dict[str, Member]] = field(default_factory=lambda: defaultdict(dict))
    _replica_sets: Revisions = field(default_factory=Revisions)
    _labels: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _autoscalers: Autoscalers = field(default_factory=Autoscalers)
    _owner_of: dict[str, str] = field(default_factory=dict)  # the ReplicaSet's UID by its member's
    _deaf: dict[str, _Deaf] = field(default_factory=dict)  # by the owner's UID

    def pod(self, change: Change[Pod]) -> None:
        """Take a change of a pod."""
        match change:
            case Added(pod) | Modified(pod, _):
                self.take(pod)
            case Deleted(pod):
                self._lose(pod)

    def replica_set(self, change: Change[ReplicaSet]) -> None:
        """Take a change of a ReplicaSet."""
        self._replica_sets.take(change)
        if isinstance(change, Added | Modified):
            self.stirred.add(change.object.metadata.uid)

    def namespace(self, change: Change[Namespace]) -> None:
        """Take a change of a namespace: its label may switch all its pods."""
        match change:
            case Added(found) | Modified(found, _):
                self._label(found.metadata.name, found.metadata.labels)
            case Deleted(found):
                self._labels.pop(found.metadata.name, None)

    def autoscaler(self, change: Change[HorizontalPodAutoscaler]) -> None:
        """Take a change of an autoscaler."""
        self._autoscalers.take(change)

    def answer(self, pod: Pod) -> None:
        """Take the answer to a patch; a pod whose end the watch has told in the meantime stays gone."""
        owner = standings.controller(pod.metadata)
        if owner is not None and (member := self.member(owner.uid, pod.metadata.uid)) is not None:
            self._update(owner.uid, member, pod)
            member.ownership.answered()

    def take(self, pod: Pod) -> None:
        """Take a pod's state from the watch."""
        owner = standings.controller(pod.metadata)
        heeded = owner is not None and owner.kind == HEEDED
        if self._owner_of.get(pod.metadata.uid) != (owner.uid if owner is not None and heeded else None):
            self._drop(pod.metadata.uid)
        if owner is None or not heeded:
            if owner is not None and owner.kind in DEAF:
                self._warn_deaf(pod, owner)
            return
        member = self.member(owner.uid, pod.metadata.uid)
        if member is None:
            self._join(owner.uid, pod)
        else:
            self._update(owner.uid, member, pod)

    def workloads(self) -> Iterator[str]:
        """Give the UIDs of all ReplicaSets that have pods and are known themselves."""
        return (uid for uid, members in self._members.items() if members and uid in self._replica_sets)

    def find(self, replica_set_uid: str) -> ReplicaSet | None:
        """Return a ReplicaSet."""
        return self._replica_sets.get(replica_set_uid)

    def members(self, replica_set_uid: str) -> Mapping[str, Member]:
        """Return the pods of a ReplicaSet by UID."""
        return self._members.get(replica_set_uid, {})

    def member(self, replica_set_uid: str, uid: str) -> Member | None:
        """Return one pod."""
        return self.members(replica_set_uid).get(uid)

    def revisions(self, replica_set: ReplicaSet) -> tuple[ReplicaSet, ...]:
        """Return all ReplicaSets of the same workload; of a bare one only itself."""
        return tuple(self._replica_sets.of_one_workload(replica_set)) or (replica_set,)

    def related(self, replica_set: ReplicaSet) -> Iterator[Member]:
        """Give the pods of all revisions of the same workload, which crowd each other's nodes; none of a bare one."""
        for one in self._replica_sets.of_one_workload(replica_set):
            yield from self.members(one.metadata.uid).values()

    def autoscaler_of(self, replica_set: ReplicaSet) -> HorizontalPodAutoscaler | None:
        """Return the autoscaler of a ReplicaSet or of what owns it."""
        return self._autoscalers.of(replica_set)

    def begin_term(self) -> None:
        """Judge from now on, by what is there now."""
        self.judging = True
        for deaf in self._deaf.values():
            self.reports.deaf(deaf.owner, deaf.namespace)
        for members in self._members.values():
            for member in members.values():
                member.reading = Reading()
                member.ownership.begin()
                self._tell_stood_down(member)
        self.stirred.update(self._members)

    def end_term(self) -> None:
        """Only watch from now on."""
        self.judging = False

    def _tell_stood_down(self, member: Member) -> None:
        if self.judging and (why := member.ownership.stood_down):
            member.reading = Reading()  # it is read no more, and what it said last must not count for ever
            if member.opted:
                self.reports.stood_down(member, why)

    def _join(self, replica_set_uid: str, pod: Pod) -> None:
        now, meta = self.monotonic(), pod.metadata
        ownership = Ownership(yields_to_template=not self._explicit(pod))
        why = ownership.see(meta, self.judging)
        cold = bands.of(ownership.value) == "cold"
        warmth = Warmth.first_seen(now, is_ready(pod), restarts(pod), cold)
        member = Member(pod, self._opted(pod), warmth, ownership, now)
        self._members[replica_set_uid][meta.uid] = member
        self._owner_of[meta.uid] = replica_set_uid
        self.stirred.add(replica_set_uid)
        if why:
            self._tell_stood_down(member)

    def _update(self, replica_set_uid: str, member: Member, pod: Pod) -> None:
        before, after = member.pod.metadata, pod.metadata
        why = member.ownership.see(after, self.judging)
        if _older(after.resource_version, before.resource_version):
            return
        if before.deletion_timestamp is None and after.deletion_timestamp is not None:
            self.reports.leaving(member)
            self.stirred.add(replica_set_uid)
        member.pod = pod
        if member.warmth.see(self.monotonic(), is_ready(pod), restarts(pod)):
            if member.warmth.cold:
                member.reading = Reading()
            self.stirred.add(replica_set_uid)
        if before.annotations.get(deletion_cost.SWITCH) != after.annotations.get(deletion_cost.SWITCH):
            self._switch(replica_set_uid, member)
        elif why:
            self._tell_stood_down(member)
            self.stirred.add(replica_set_uid)

    def _switch(self, replica_set_uid: str, member: Member) -> None:
        """Ask again whether a pod is ours; who switches it on again takes us back after another writer."""
        was = (member.opted, member.ownership.yields_to_template)
        member.opted, member.ownership.yields_to_template = self._opted(member.pod), not self._explicit(member.pod)
        if member.opted and was != (member.opted, member.ownership.yields_to_template):
            member.ownership.begin()
            member.reading = Reading()  # nobody asked it in the meantime
            self._tell_stood_down(member)
        self.stirred.add(replica_set_uid)

    def _label(self, namespace: str, labels: Mapping[str, str]) -> None:
        before = self._labels.get(namespace, {})
        self._labels[namespace] = labels
        if before.get(deletion_cost.SWITCH) == labels.get(deletion_cost.SWITCH):
            return
        for uid, members in self._members.items():
            for member in members.values():
                if member.pod.metadata.namespace == namespace:
                    self._switch(uid, member)

    def _lose(self, pod: Pod) -> None:
        uid, owner = pod.metadata.uid, standings.controller(pod.metadata)
        if owner is not None and (deaf := self._deaf.get(owner.uid)) is not None:
            deaf.pods.discard(uid)
            if not deaf.pods:
                del self._deaf[owner.uid]
        member = self.member(self._owner_of.get(uid, ""), uid)
        if member is not None and member.pod.metadata.deletion_timestamp is None:
            self.reports.leaving(member)
        self._drop(uid)

    def _drop(self, uid: str) -> None:
        """Forget a pod that is gone, or that its ReplicaSet has let go since its labels match no more."""
        replica_set_uid = self._owner_of.pop(uid, None)
        if replica_set_uid is None:
            return
        del self._members[replica_set_uid][uid]
        if not self._members[replica_set_uid]:
            del self._members[replica_set_uid]
        self.stirred.add(replica_set_uid)
        self.reports.gone(uid)

    def _explicit(self, pod: Pod) -> bool:
        labels = self._labels.get(pod.metadata.namespace, {})
        return deletion_cost.switched(pod.metadata.annotations, labels) is True

    def _opted(self, pod: Pod) -> bool:
        """Say whether a pod's cost is ours to keep: as it or its namespace says, else if it is in our scope."""
        said = deletion_cost.switched(pod.metadata.annotations, self._labels.get(pod.metadata.namespace, {}))
        return scope.holds(pod, self.scope) if said is None else said

    def _warn_deaf(self, pod: Pod, owner: OwnerReference) -> None:
        """Tell once of an owner, for as long as it has pods that ask."""
        if not self._explicit(pod):
            return
        if owner.uid not in self._deaf:
            self._deaf[owner.uid] = _Deaf(owner, pod.metadata.namespace)
            if self.judging:
                self.reports.deaf(owner, pod.metadata.namespace)
        self._deaf[owner.uid].pods.add(pod.metadata.uid)


def is_ready(pod: Pod) -> bool:
    """Say whether a pod is Ready."""
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)


def restarts(pod: Pod) -> int:
    """Count the restarts of all containers of a pod."""
    statuses = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return sum(one.restart_count for one in statuses)


def _older(version: str, than: str) -> bool:
    return version.isdigit() and than.isdigit() and int(version) < int(than)
