"""Objects as the API server told them, some of them as we are about to make them. Knows no kind of object."""

from typing import Generic, Protocol, TypeVar

from cluster_model.ledger import Ledger, View
from cluster_model.objects import ObjectMeta


class Named(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its name and version."""


Kind = TypeVar("Kind", bound=Named)


class Assumed(Generic[Kind]):
    """One kind of object by key. An assumption ends when the server tells another version, or when it is taken back."""

    def __init__(self) -> None:
        self._current: Ledger[str, Kind] = Ledger()
        self._told: dict[str, Kind] = {}  # what the server says of those that are assumed

    def get(self, key: str) -> Kind | None:
        """Return an object as it is, or will be."""
        return self._current.get(key)

    def told(self, key: str) -> Kind | None:
        """Return an object as the server has told it."""
        return self._told.get(key) or self._current.get(key)

    def tell(self, key: str, found: Kind) -> None:
        """Take an object as the server tells it; the version that an assumption was built on changes nothing."""
        told = self._told.get(key)
        if told is not None and told.metadata.resource_version == found.metadata.resource_version:
            return
        self._told.pop(key, None)
        self._current.put(key, found)

    def lose(self, key: str) -> None:
        """Forget an object that the server has no more."""
        self._told.pop(key, None)
        self._current.drop(key)

    def assume(self, key: str, wanted: Kind) -> bool:
        """Put an object as it will be over the version it was built on; False if the server has told another since."""
        told = self.told(key)
        if told is None or told.metadata.resource_version != wanted.metadata.resource_version:
            return False
        self._told[key] = told
        self._current.put(key, wanted)
        return True

    def restore(self, key: str, version: str) -> None:
        """Take back what was assumed over a version."""
        told = self._told.get(key)
        if told is not None and told.metadata.resource_version == version:
            del self._told[key]
            self._current.put(key, told)

    def values(self) -> tuple[Kind, ...]:
        """Return all objects."""
        return tuple(self._current.frozen().values())

    def frozen(self) -> View[str, Kind]:
        """Return the objects as they are now, or will be."""
        return self._current.frozen()
