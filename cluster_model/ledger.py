"""A mapping that is changed one key at a time and looked at as it was at many moments, without copying it each time."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_MOST_CHANGES = 256  # kept beside the shared part; beyond it a new shared part is made


class View(Mapping[Key, Value], Generic[Key, Value]):
    """What a ledger held at one moment. Nothing changes it any more."""

    __slots__ = ("_changes", "_length", "_shared")

    def __init__(self, shared: Mapping[Key, Value], changes: Mapping[Key, Value | None], length: int) -> None:
        self._shared = shared
        self._changes = changes
        self._length = length

    def __getitem__(self, key: Key) -> Value:
        found = self._changes[key] if key in self._changes else self._shared.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[Key]:
        yield from (key for key in self._shared if key not in self._changes)
        yield from (key for key, value in self._changes.items() if value is not None)

    def __len__(self) -> int:
        return self._length


class Ledger(Generic[Key, Value]):
    """The mutable owner. A value is never None: that stands for a key that went."""

    __slots__ = ("_changes", "_current", "_shared", "_view")

    def __init__(self) -> None:
        self._current: dict[Key, Value] = {}
        self._shared: dict[Key, Value] = {}
        self._changes: dict[Key, Value | None] = {}
        self._view: View[Key, Value] | None = None

    def get(self, key: Key) -> Value | None:
        """Return what is held under a key."""
        return self._current.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Hold a value under a key."""
        self._current[key] = self._changes[key] = value
        self._view = None

    def drop(self, key: Key) -> None:
        """Hold nothing under a key any more."""
        if self._current.pop(key, None) is not None:
            self._changes[key] = None
            self._view = None

    def frozen(self) -> View[Key, Value]:
        """Return all as it is now; the same object until something changes."""
        if self._view is None:
            if len(self._changes) > _MOST_CHANGES:
                self._shared, self._changes = dict(self._current), {}
            self._view = View(self._shared, dict(self._changes), len(self._current))
        return self._view
