"""Plain twins of label selectors, and the pods and objects around a node as the plain twins see them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cluster_model import objects
from cluster_model.controller_objects import (
    LabelSelectorSpec,
    MapSelectorSpec,
    Namespace,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Place:
    """A node and the pods on it."""

    node: objects.Node
    pods: tuple[objects.Pod, ...]

    def label(self, key: str) -> str | None:
        return self.node.metadata.labels.get(key)


@dataclass(frozen=True)
class Around:
    """What beside nodes and pods is told to a cluster's state."""

    namespaces: tuple[Namespace, ...] = ()
    services: tuple[Service, ...] = ()
    controllers: tuple[ReplicationController | ReplicaSet | StatefulSet, ...] = ()

    def namespace_labels(self, name: str) -> Labels:
        return next((one.metadata.labels for one in self.namespaces if one.metadata.name == name), {})


def named(name: str, namespace: str = "default", labels: Labels | None = None) -> objects.ObjectMeta:
    return objects.ObjectMeta(name=name, namespace=namespace, labels=dict(labels or {}))


def by_map(labels: dict[str, str] | None) -> MapSelectorSpec:
    return MapSelectorSpec(selector=labels)


def by_selector(labels: dict[str, str], *more: objects.SelectorRequirement) -> LabelSelectorSpec:
    return LabelSelectorSpec(selector=objects.LabelSelector(match_labels=labels, match_expressions=more))


# What every generated cluster has; the selectors use the labels and names that generated pods have.
AROUND = Around(
    namespaces=(
        Namespace(metadata=named("default", "", {"team": "a"})),
        Namespace(metadata=named("other", "", {"team": "b"})),
    ),
    services=(
        Service(metadata=named("web"), spec=by_map({"app": "web"})),
        Service(metadata=named("tier-x"), spec=by_map({"tier": "x"})),
        Service(metadata=named("headless"), spec=by_map(None)),
        Service(metadata=named("everything"), spec=by_map({})),
        Service(metadata=named("db", "other"), spec=by_map({"app": "db"})),
    ),
    controllers=(
        ReplicaSet(metadata=named("db"), spec=by_selector({"app": "db"})),
        ReplicaSet(
            metadata=named("y"),
            spec=by_selector({}, objects.SelectorRequirement(key="tier", operator="NotIn", values=("x",))),
        ),
        StatefulSet(metadata=named("db"), spec=by_selector({"app": "db", "tier": "x"})),
        StatefulSet(
            metadata=named("unreadable"),
            spec=by_selector({}, objects.SelectorRequirement(key="tier", operator="Near", values=("x",))),
        ),
        ReplicationController(metadata=named("web"), spec=by_map({"app": "web"})),
    ),
)


def expression_matches(one: objects.SelectorRequirement, labels: Labels) -> bool:
    if one.operator == "In":
        return one.key in labels and labels[one.key] in one.values
    if one.operator == "NotIn":
        return not (one.key in labels and labels[one.key] in one.values)
    assert one.operator in ("Exists", "DoesNotExist")
    return (one.key in labels) == (one.operator == "Exists")


def selector_matches(selector: objects.LabelSelector | None, labels: Labels) -> bool:
    if selector is None:
        return False
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    return all(expression_matches(one, labels) for one in selector.match_expressions)


def says_nothing(selector: objects.LabelSelector | None) -> bool:
    return selector is not None and not selector.match_labels and not selector.match_expressions


def joined(parts: Iterable[objects.LabelSelector]) -> objects.LabelSelector:
    """One selector that asks for all of it."""
    wanted: list[objects.SelectorRequirement] = []
    for part in parts:
        for key, value in part.match_labels.items():
            wanted.append(objects.SelectorRequirement(key=key, operator="In", values=(value,)))
        wanted += part.match_expressions
    return objects.LabelSelector(match_expressions=tuple(wanted))
