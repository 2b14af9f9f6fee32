"""What is followed beside nodes and pods, and what takes each change. A further kind is a row of `COLLECTIONS`."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from cluster_model.budgets import PodDisruptionBudget
from cluster_model.controller_objects import Namespace, ReplicaSet, ReplicationController, Service, StatefulSet
from cluster_model.pod_owners import Owner
from cluster_model.state import ClusterState
from cluster_model.storage_objects import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from cluster_model.verdict import Event
from gpu_scheduler.teller import Teller
from kube_client.changes import Added, Change, Deleted, KubeObject, Modified
from kube_client.client import Client
from kube_client.listing import Resource
from kube_client.watch import Counts, Reflector
from kube_client.watches import Watch

STORAGE = "/apis/storage.k8s.io/v1"

T = TypeVar("T", bound=KubeObject)
Kind = TypeVar("Kind", bound=Owner)


@dataclass(frozen=True, slots=True)
class Collection(Generic[T]):
    """A collection, and the methods of the state that its objects are told to."""

    resource: Resource[T]
    told: Callable[[ClusterState, T], frozenset[Event]]
    gone: Callable[[ClusterState, T], frozenset[Event]]


def _owners(path: str, kind: type[Kind]) -> Collection[Kind]:
    return Collection(Resource(path, kind), ClusterState.set_owner, ClusterState.remove_owner)


COLLECTIONS: Mapping[str, Collection[Any]] = MappingProxyType(
    {
        "namespaces": Collection(
            Resource("/api/v1/namespaces", Namespace),
            ClusterState.set_namespace,
            lambda state, namespace: state.remove_namespace(namespace.metadata.name),
        ),
        "services": _owners("/api/v1/services", Service),
        "replicationcontrollers": _owners("/api/v1/replicationcontrollers", ReplicationController),
        "replicasets": _owners("/apis/apps/v1/replicasets", ReplicaSet),
        "statefulsets": _owners("/apis/apps/v1/statefulsets", StatefulSet),
        "persistentvolumes": Collection(
            Resource("/api/v1/persistentvolumes", PersistentVolume),
            lambda state, found: state.storage.set_volume(found),
            lambda state, found: state.storage.remove_volume(found.metadata.name),
        ),
        "persistentvolumeclaims": Collection(
            Resource("/api/v1/persistentvolumeclaims", PersistentVolumeClaim),
            lambda state, found: state.storage.set_claim(found),
            lambda state, found: state.storage.remove_claim(found.key),
        ),
        "storageclasses": Collection(
            Resource(f"{STORAGE}/storageclasses", StorageClass),
            lambda state, found: state.storage.set_class(found),
            lambda state, found: state.storage.remove_class(found.metadata.name),
        ),
        "csinodes": Collection(
            Resource(f"{STORAGE}/csinodes", CsiNode),
            lambda state, found: state.storage.set_csi_node(found),
            lambda state, found: state.storage.remove_csi_node(found.metadata.name),
        ),
        "csidrivers": Collection(
            Resource(f"{STORAGE}/csidrivers", CsiDriver),
            lambda state, found: state.storage.set_driver(found),
            lambda state, found: state.storage.remove_driver(found.metadata.name),
        ),
        "csistoragecapacities": Collection(
            Resource(f"{STORAGE}/csistoragecapacities", CsiStorageCapacity),
            lambda state, found: state.storage.set_capacity(found),
            lambda state, found: state.storage.remove_capacity(found.key),
        ),
        "volumeattachments": Collection(
            Resource(f"{STORAGE}/volumeattachments", VolumeAttachment),
            lambda state, found: state.storage.set_attachment(found),
            lambda state, found: state.storage.remove_attachment(found.metadata.name),
        ),
        "poddisruptionbudgets": Collection(
            Resource("/apis/policy/v1/poddisruptionbudgets", PodDisruptionBudget),
            lambda state, found: state.budgets.set(found),
            lambda state, found: state.budgets.remove(found),
        ),
    }
)


class Surroundings:
    """The watches of all these collections."""

    def __init__(self, client: Client, state: ClusterState, teller: Teller, news: asyncio.Event) -> None:
        self.counts: dict[str, Counts] = {}
        self.watches: dict[str, Watch[Any]] = {}
        for name, collection in COLLECTIONS.items():
            reflector = Reflector(client, collection.resource)
            self.counts[name] = reflector.counts
            self.watches[name] = Watch(reflector, carried(collection, state, teller), news)

    async def synced(self) -> None:
        """Wait until everything that exists was told."""
        for watch in self.watches.values():
            await watch.synced()


def carried(collection: Collection[T], state: ClusterState, teller: Teller) -> Callable[[Change[T]], None]:
    """Return what takes a change to the state and wakes the pods that it could cure."""

    def take(change: Change[T]) -> None:
        began = teller.now()
        match change:
            case Added(found):
                teller.tell(began, collection.told(state, found), found, found)
            case Modified(found, old):
                teller.tell(began, collection.told(state, found), old, found)
            case Deleted(found):
                teller.tell(began, collection.gone(state, found), found)

    return take
