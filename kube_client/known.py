"""The objects a reflector has told of, so that a new list becomes differences and a repeated event nothing. No I/O."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from kube_client.changes import Added, Change, Deleted, KubeObject, Metadata, Modified

T = TypeVar("T", bound=KubeObject)
Key = tuple[str, str]  # namespace, name


def key_of(metadata: Metadata) -> Key:
    """Name an object within its kind."""
    return metadata.namespace, metadata.name


class Known(Generic[T]):
    """The last told state of each object; every method gives the changes that bring a consumer up to date."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def objects(self) -> tuple[T, ...]:
        """Return all of them."""
        return tuple(self._objects.values())

    def see(self, seen: T) -> Iterator[Change[T]]:
        """Take an object's current state."""
        key = key_of(seen.metadata)
        old = self._objects.get(key)
        if old is not None and old.metadata.resource_version == seen.metadata.resource_version:
            return
        self._objects[key] = seen
        if old is not None and old.metadata.uid == seen.metadata.uid:
            yield Modified(seen, old)
            return
        if old is not None:
            # Another object under the same name: the old one ended unseen.
            yield Deleted(old)
        yield Added(seen)

    def lose(self, key: Key, last: T | None) -> Iterator[Change[T]]:
        """Take an object's end; `last` is its final state where that could be read."""
        old = self._objects.pop(key, None)
        if old is not None:
            same = last is not None and last.metadata.uid == old.metadata.uid
            yield Deleted(last if same and last is not None else old)

    def replace(self, listed: Mapping[Key, T | None]) -> Iterator[Change[T]]:
        """Take a whole list; None stands for an object that exists but could not be read, and is kept as it was."""
        for key in [key for key in self._objects if key not in listed]:
            yield from self.lose(key, None)
        for seen in listed.values():
            if seen is not None:
                yield from self.see(seen)
