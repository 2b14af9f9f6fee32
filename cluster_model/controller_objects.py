"""Namespaces, Services and controllers as they arrive, holding only what says which pods are theirs. Data only."""

from cluster_model.objects import ApiObject, Labels, LabelSelector, ObjectMeta


class Namespace(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class MapSelectorSpec(ApiObject, frozen=True):
    """The spec of a Service or a ReplicationController; without a selector it selects nothing."""

    selector: Labels | None = None


class LabelSelectorSpec(ApiObject, frozen=True):
    """The spec of a ReplicaSet or a StatefulSet."""

    selector: LabelSelector | None = None


class Service(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: MapSelectorSpec = MapSelectorSpec()


class ReplicationController(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: MapSelectorSpec = MapSelectorSpec()


class ReplicaSet(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LabelSelectorSpec = LabelSelectorSpec()


class StatefulSet(ApiObject, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LabelSelectorSpec = LabelSelectorSpec()
