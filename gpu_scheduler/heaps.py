"""A heap whose members may leave from the middle: they are struck out at once and dropped when they surface."""

import heapq
from typing import Any, Generic, TypeVar

Member = TypeVar("Member")
Key = tuple[Any, ...]  # members of one heap have keys of one form


class Heap(Generic[Member]):
    """Members by ascending key; equal keys leave in the order in which they came."""

    def __init__(self) -> None:
        self._items: list[tuple[Key, int, Any]] = []
        self._serials: dict[Member, int] = {}
        self._serial = 0

    def __len__(self) -> int:
        return len(self._serials)

    def __contains__(self, member: Member) -> bool:
        return member in self._serials

    def push(self, member: Member, key: Key) -> None:
        """Add the member, or move it to another key."""
        self._serial += 1
        self._serials[member] = self._serial
        heapq.heappush(self._items, (key, self._serial, member))

    def discard(self, member: Member) -> None:
        """Strike the member out; no matter when it is not there."""
        self._serials.pop(member, None)

    def first_key(self) -> Key | None:
        """Say the key of the next member, None when empty."""
        self._drop_struck_out()
        return self._items[0][0] if self._items else None

    def pop(self) -> Member | None:
        """Take the next member, None when empty."""
        self._drop_struck_out()
        if not self._items:
            return None
        member: Member = heapq.heappop(self._items)[2]
        del self._serials[member]
        return member

    def _drop_struck_out(self) -> None:
        while self._items and self._serials.get(self._items[0][2]) != self._items[0][1]:
            heapq.heappop(self._items)
