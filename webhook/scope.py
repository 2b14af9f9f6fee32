"""Who is judged at all, and who is left alone. Looks at the raw object, tolerates any shape, knows no GPU."""

from collections.abc import Mapping
from typing import Any

from webhook import templates
from webhook.config import Config
from webhook.review import Object, Review

_MIRROR = "kubernetes.io/config.mirror"
_VIRTUAL_NODE = "virtual-kubelet.io/provider"
_OS_LABELS = ("kubernetes.io/os", "beta.kubernetes.io/os")


def unrelated(review: Review, operations: frozenset[str]) -> str | None:
    """Name the rule by which a request is none of our business; None when it is."""
    if review.subresource:
        return "subresource"
    if (review.group, review.kind) not in templates.PATHS:
        return "unrelated-kind"
    if review.operation not in operations:
        return "unrelated-operation"
    return None if review.object else "no-object"


def left_alone(review: Review, pod: Mapping[str, Any], config: Config) -> str | None:
    """Name the rule by which an object is neither changed nor refused; None when it is judged."""
    body: Object = review.object or {}
    meta, pod_meta = _mapping(body, "metadata"), _mapping(pod, "metadata")
    if review.namespace in {config.namespace, *config.left_alone.namespaces}:
        return "excluded-namespace"
    if _opted_out(meta, config) or _opted_out(pod_meta, config):
        return "opted-out"
    # What is left of an object that is being deleted is finalizer traffic.
    if meta.get("deletionTimestamp"):
        return "being-deleted"
    return _by_owner(review.kind, meta) or _by_pod(pod_meta, _mapping(pod, "spec"))


def _by_owner(kind: str, meta: Object) -> str | None:
    owners = _controllers(meta)
    # A changed or refused ReplicaSet sends its Deployment's controller into an endless loop.
    if kind == "ReplicaSet" and owners:
        return "owned-replicaset"
    # The controller has pinned the pod to its node already.
    return "daemonset-pod" if kind == "Pod" and "DaemonSet" in owners else None


def _by_pod(meta: Object, spec: Object) -> str | None:
    # The kubelet makes the API's copy of a static pod, and does so again for ever when it is refused or changed.
    if _MIRROR in _mapping(meta, "annotations"):
        return "mirror-pod"
    selected = _mapping(spec, "nodeSelector")
    if "windows" in (_mapping(spec, "os").get("name"), *(selected.get(label) for label in _OS_LABELS)):
        return "windows-pod"
    tolerated = [toleration.get("key") for toleration in _mappings(spec, "tolerations")]
    return "virtual-node-pod" if _VIRTUAL_NODE in tolerated else None


def _opted_out(meta: Object, config: Config) -> bool:
    labels = _mapping(meta, "labels")
    return any(labels.get(key) == value for key, value in config.left_alone.labels.items())


def _controllers(meta: Object) -> list[Any]:
    return [owner.get("kind") for owner in _mappings(meta, "ownerReferences") if owner.get("controller") is True]


def _mapping(parent: Mapping[str, Any], key: str) -> Object:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _mappings(parent: Mapping[str, Any], key: str) -> list[Object]:
    value = parent.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
