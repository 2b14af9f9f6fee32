"""Objects as the tests of the client need them."""

from __future__ import annotations

from cluster_model import objects
from tests.kube_client.store import Json

PODS = "/api/v1/namespaces/ns/pods"
ALL_PODS = "/api/v1/pods"


def pod_json(name: str, **metadata: str) -> Json:
    """A pod as it is posted."""
    return {"metadata": {"name": name, **metadata}, "spec": {}, "status": {}}


def pod(name: str, uid: str = "u1", **status: object) -> objects.Pod:
    """A pod as the client sees it."""
    meta = objects.ObjectMeta(name=name, namespace="ns", uid=uid, resource_version="7", generation=3)
    return objects.Pod(metadata=meta, status=objects.PodStatus(**status))  # type: ignore[arg-type]
