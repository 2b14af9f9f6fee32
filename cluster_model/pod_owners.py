"""Services and controllers, and the selector they give a pod that lists no spread constraint of its own.

The rules are those of kube-scheduler's `DefaultSelector`: all Services that select the pod, and its controller.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from cluster_model import label_selectors, objects
from cluster_model.controller_objects import ReplicaSet, ReplicationController, Service, StatefulSet
from cluster_model.label_selectors import EVERYTHING, Requirement, Selector, UnreadableSelector

Owner: TypeAlias = Service | ReplicationController | ReplicaSet | StatefulSet
Key: TypeAlias = tuple[str, str, str]  # API version, kind, name
Conditions: TypeAlias = tuple[Requirement, ...]

CONTROLLERS: Mapping[type[Owner], tuple[str, str]] = MappingProxyType(
    {
        ReplicationController: ("v1", "ReplicationController"),
        ReplicaSet: ("apps/v1", "ReplicaSet"),
        StatefulSet: ("apps/v1", "StatefulSet"),
    }
)
_MOST_REMEMBERED = 4096


@dataclass(frozen=True, slots=True, eq=False)
class NamespaceOwners:
    """The owners in one namespace, each with the conditions that it adds."""

    services: Mapping[str, Mapping[str, str]]  # those that select something
    controllers: Mapping[Key, Conditions]
    memory: dict[Hashable, Selector] = field(default_factory=dict)

    def selector(self, meta: objects.ObjectMeta) -> Selector:
        """Return the selector that a pod's owners make up together; an empty one where it has none."""
        controller = next((owner for owner in meta.owner_references if owner.controller), None)
        owned_by = None if controller is None else _key(controller)
        key = (frozenset(meta.labels.items()), owned_by)
        found = self.memory.get(key)
        if found is None:
            if len(self.memory) >= _MOST_REMEMBERED:
                self.memory.clear()
            found = self.memory[key] = self._selector(meta.labels, owned_by)
        return found

    def _selector(self, labels: Mapping[str, str], controller: Key | None) -> Selector:
        merged: dict[str, str] = {}
        for wanted in self.services.values():
            if wanted.items() <= labels.items():
                merged |= wanted
        conditions = () if controller is None else self.controllers.get(controller, ())
        if controller is not None and controller[:2] == CONTROLLERS[ReplicationController]:
            merged |= {one.key: one.values[0] for one in conditions}
        return Selector(tuple(dict.fromkeys(label_selectors.exactly(merged) + conditions)))


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """All owners, by namespace."""

    by_namespace: Mapping[str, NamespaceOwners] = field(default_factory=dict)

    def selector(self, pod: objects.Pod) -> Selector:
        """Return the selector that a pod's owners make up together; an empty one where it has none."""
        owners = self.by_namespace.get(pod.metadata.namespace)
        return EVERYTHING if owners is None else owners.selector(pod.metadata)


class OwnerTable:
    """Owners as the watches tell them. A change copies what is known of its namespace only."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, NamespaceOwners] = {}
        self._frozen: Owners | None = None

    def set(self, owner: Owner) -> bool:
        """Take an owner; say whether it selects other pods than before."""
        if not isinstance(owner, Service):
            return self._put(owner, _conditions(owner))
        before = self._of(owner).services
        wanted, name = owner.spec.selector or {}, owner.metadata.name
        if before.get(name, {}) == wanted:
            return False
        services = {other: selector for other, selector in before.items() if other != name}
        self._replace(owner, services | ({name: wanted} if wanted else {}), self._of(owner).controllers)
        return True

    def remove(self, owner: Owner) -> bool:
        """Forget an owner; say whether it selected anything."""
        if isinstance(owner, Service):
            return self.set(Service(metadata=owner.metadata))
        return self._put(owner, ())

    def frozen(self) -> Owners:
        """Return the owners as they are now."""
        if self._frozen is None:
            self._frozen = Owners(dict(self._by_namespace))
        return self._frozen

    def _put(self, owner: Owner, conditions: Conditions) -> bool:
        key = (*CONTROLLERS[type(owner)], owner.metadata.name)
        before = self._of(owner).controllers
        if before.get(key, ()) == conditions:
            return False
        controllers = {other: selector for other, selector in before.items() if other != key}
        self._replace(owner, self._of(owner).services, controllers | ({key: conditions} if conditions else {}))
        return True

    def _of(self, owner: Owner) -> NamespaceOwners:
        return self._by_namespace.get(owner.metadata.namespace, NamespaceOwners({}, {}))

    def _replace(
        self, owner: Owner, services: Mapping[str, Mapping[str, str]], controllers: Mapping[Key, Conditions]
    ) -> None:
        if services or controllers:
            self._by_namespace[owner.metadata.namespace] = NamespaceOwners(services, controllers)
        else:
            self._by_namespace.pop(owner.metadata.namespace, None)
        self._frozen = None


def _key(controller: objects.OwnerReference) -> Key:
    return (controller.api_version, controller.kind, controller.name)


def _conditions(owner: ReplicationController | ReplicaSet | StatefulSet) -> Conditions:
    """Return what a controller asks of labels; nothing where its selector is absent, empty or cannot be read."""
    if isinstance(owner, ReplicationController):
        return label_selectors.exactly(owner.spec.selector or {})
    try:
        return label_selectors.read(owner.spec.selector).requirements
    except UnreadableSelector:
        return ()
