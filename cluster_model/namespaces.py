"""The namespaces and their labels: an immutable view for snapshots, and its one owner inside ClusterState."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cluster_model.controller_objects import Namespace
from cluster_model.label_selectors import Selector

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Namespaces:
    """The namespaces that exist, by name."""

    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    memory: dict[Selector, frozenset[str]] = field(default_factory=dict)

    def labels_of(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels; one that is not known has none."""
        return self.labels.get(name, _NO_LABELS)

    def matching(self, selector: Selector) -> frozenset[str]:
        """Return the names of the namespaces that a selector matches."""
        found = self.memory.get(selector)
        if found is None:
            found = frozenset(name for name, labels in self.labels.items() if selector.matches(labels))
            self.memory[selector] = found
        return found


class NamespaceTable:
    """Namespaces as the watch tells them."""

    def __init__(self) -> None:
        self._labels: dict[str, Mapping[str, str]] = {}
        self._frozen = Namespaces()

    def set(self, namespace: Namespace) -> bool:
        """Take a namespace; say whether anything of it is new."""
        name, labels = namespace.metadata.name, namespace.metadata.labels
        if self._labels.get(name) == labels:
            return False
        self._labels[name] = labels
        self._frozen = Namespaces(dict(self._labels))
        return True

    def remove(self, name: str) -> bool:
        """Forget a namespace; say whether it was there."""
        if self._labels.pop(name, None) is None:
            return False
        self._frozen = Namespaces(dict(self._labels))
        return True

    def frozen(self) -> Namespaces:
        """Return the namespaces as they are now."""
        return self._frozen
