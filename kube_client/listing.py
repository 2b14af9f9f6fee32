"""Reads a whole collection, page by page, and decodes each object on its own. Knows nothing of watches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from kube_client import changes
from kube_client.changes import KubeObject
from kube_client.client import Client
from kube_client.errors import ApiError
from kube_client.known import Key, key_of

T = TypeVar("T", bound=KubeObject)

PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A collection: where it is, what it holds, and which part of it (`fieldSelector`, `labelSelector`)."""

    path: str
    kind: type[T]
    params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """All objects at one resourceVersion; None where one exists but could not be read."""

    version: str
    objects: dict[Key, T | None]
    problems: tuple[str, ...]


class Reader(Generic[T]):
    """Decodes one kind's objects; a broken one is still known by its name."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._least = msgspec.json.Decoder(changes.Identified)

    def read(self, raw: msgspec.Raw | bytes) -> T:
        """Decode an object; raise ValueError if it is not of its kind."""
        return self._decoder.decode(raw)

    def identify(self, raw: msgspec.Raw | bytes) -> changes.Identified:
        """Decode no more than the metadata."""
        return self._least.decode(raw)


async def read_all(client: Client, resource: Resource[T], page_size: int = PAGE_SIZE) -> Listing[T]:
    """List everything, consistently: no resourceVersion is named, so that the answer is never older than the call."""
    try:
        return await _pages(client, resource, page_size)
    except ApiError as error:
        if not error.is_gone:
            raise
    # The continue token expired while paging; one answer without pages cannot.
    return await _pages(client, resource, None)


async def _pages(client: Client, resource: Resource[T], page_size: int | None) -> Listing[T]:
    reader = Reader(resource.kind)
    objects: dict[Key, T | None] = {}
    problems: list[str] = []
    params = {**resource.params, **({"limit": str(page_size)} if page_size else {})}
    while True:
        page = await client.read(resource.path, changes.ListPage, params)
        for raw in page.items or ():
            problems.extend(_take(reader, raw, objects))
        if not page.metadata.continue_:
            return Listing(page.metadata.resource_version, objects, tuple(problems))
        params["continue"] = page.metadata.continue_


def _take(reader: Reader[T], raw: msgspec.Raw, objects: dict[Key, T | None]) -> list[str]:
    try:
        read = reader.read(raw)
    except ValueError as problem:
        least = reader.identify(raw)
        objects[key_of(least.metadata)] = None
        return [f"{least.metadata.namespace}/{least.metadata.name}: {problem}"]
    objects[key_of(read.metadata)] = read
    return []
