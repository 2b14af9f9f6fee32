"""What a watch tells its consumer, and the wire forms it is read from. Data only."""

from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from cluster_model.objects import ObjectMeta


class Metadata(Protocol):
    """What says which object one is, and which state of it."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class KubeObject(Protocol):
    """Any struct of an API object that has metadata."""

    @property
    def metadata(self) -> Metadata: ...


T = TypeVar("T", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class Added(Generic[T]):
    """An object not seen before."""

    object: T


@dataclass(frozen=True, slots=True)
class Modified(Generic[T]):
    """A newer state of an object seen before, and the state it replaces."""

    object: T
    old: T


@dataclass(frozen=True, slots=True)
class Deleted(Generic[T]):
    """An object that is gone; its last state, or the last one seen if the end itself was missed."""

    object: T


@dataclass(frozen=True, slots=True)
class Synced:
    """Everything that existed at the first list has been told."""


Change: TypeAlias = Added[T] | Modified[T] | Deleted[T] | Synced


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Where a list stands, and the token of its next page."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class ListPage(msgspec.Struct, frozen=True, rename="camel"):
    """A page with its items still undecoded, so that one broken object does not lose the others."""

    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None


class WatchEvent(msgspec.Struct, frozen=True):
    """A line of a watch; what `object` is depends on the type."""

    type: str
    object: msgspec.Raw


class Identified(msgspec.Struct, frozen=True, rename="camel"):
    """The least of an object: what remains readable of a broken one, and all there is in a bookmark."""

    metadata: ObjectMeta = ObjectMeta()
