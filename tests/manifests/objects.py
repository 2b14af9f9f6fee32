"""Builds pods and the workloads that hold them as a template, as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

# Kind -> API path under which it is created, with the namespace left open.
COLLECTIONS: Mapping[str, str] = {
    "Pod": "/api/v1/namespaces/{}/pods",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
}
KINDS = tuple(COLLECTIONS)
WORKLOADS = KINDS[1:]


def container(name: str = "main", **amounts: str) -> Json:
    """A container; `gpu` is a limit on nvidia.com/gpu."""
    limits = {"nvidia.com/gpu": amounts["gpu"]} if "gpu" in amounts else {}
    return {"name": name, "image": "example.com/image:1", **({"resources": {"limits": limits}} if limits else {})}


def asking(resource: str, amount: str = "1") -> Json:
    """A container with a limit on any resource."""
    return {**container(), "resources": {"limits": {resource: amount}}}


def pod(annotations: Mapping[str, str] | None = None, containers: Sequence[Json] | None = None, **spec: Any) -> Json:
    """A pod without kind and name: a template as it stands in a workload."""
    metadata = {} if annotations is None else {"annotations": dict(annotations)}
    return {"metadata": metadata, "spec": {"containers": list(containers or [container(gpu="1")]), **spec}}


def wrap(kind: str, name: str, template: Json) -> Json:
    """The object of a kind that holds the pod, with what its API demands beside.

    Its name is a label of the pod too: controllers adopt orphans that their selectors match.
    """
    metadata, labels = {"name": name}, {"app": name, **template["metadata"].get("labels", {})}
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    if kind == "Pod":
        return {"kind": kind, "apiVersion": "v1", **template, "metadata": {**template["metadata"], **metadata}}
    group = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    return {"kind": kind, "apiVersion": group, "metadata": metadata, "spec": _spec(kind, template)}


def _spec(kind: str, template: Json) -> Json:
    if kind in ("Job", "CronJob"):
        once = {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}
        job = {"template": once}
        return job if kind == "Job" else {"schedule": "0 0 * * *", "jobTemplate": {"spec": job}}
    selector = {"matchLabels": template["metadata"]["labels"]}
    return {"selector": selector, "template": template, **({"serviceName": "test"} if kind == "StatefulSet" else {})}


def collection(kind: str, namespace: str, *, dry_run: bool = True) -> str:
    """Where an object of this kind is created; by default nothing is stored."""
    return COLLECTIONS[kind].format(namespace) + ("?dryRun=All" if dry_run else "")
