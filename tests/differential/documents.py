"""Builders of API objects as plain JSON, as somebody would send them to the API server. No defaults are filled in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Document: TypeAlias = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
ROOM = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
SCHEDULER_NAME = "default-scheduler"


def node(
    name: str, allocatable: Mapping[str, str] | None = None, labels: Mapping[str, str] | None = None, **spec: Any
) -> Document:
    """Build a node with plenty of room; `allocatable` changes some of it, further keywords are fields of its spec."""
    return {
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})}},
        "spec": dict(spec),
        "status": {"allocatable": {**ROOM, **(allocatable or {})}},
    }


def container(name: str, requests: Mapping[str, str] | None = None, **fields: Any) -> Document:
    """Build a container; its extended resources have the limit that the API server asks for."""
    extended = {resource: amount for resource, amount in (requests or {}).items() if "/" in resource}
    resources = {"requests": dict(requests or {})} | ({"limits": extended} if extended else {})
    return {"name": name, "image": f"example.com/{name}:1", "resources": resources, **fields}


def pod(name: str, requests: Mapping[str, str] | None = None, **spec: Any) -> Document:
    """Build a pod with one container; further keywords are fields of its spec."""
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {}},
        "spec": {"containers": [container("app", requests)], **spec},
    }


def term(key: str, operator: str, *values: str) -> Document:
    """Build a node selector term of one label requirement."""
    return {"matchExpressions": [requirement(key, operator, *values)]}


def requirement(key: str, operator: str, *values: str) -> Document:
    """Build one requirement of a selector."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def config(plugins: Iterable[tuple[str, int]], args: Mapping[str, Any] | None = None) -> Document:
    """Build a configuration of just these plugins, with their weights, and the two that none can do without."""
    wanted = [{"name": "PrioritySort"}, *(_plugin(*plugin) for plugin in plugins), {"name": "DefaultBinder"}]
    profile = {
        "schedulerName": SCHEDULER_NAME,
        "plugins": {"multiPoint": {"enabled": wanted, "disabled": [{"name": "*"}]}},
        "pluginConfig": _plugin_config(args or {}),
    }
    return {**CONFIG, "profiles": [profile]}


def default_config(args: Mapping[str, Any]) -> Document | None:
    """Build a configuration of the default plugins; None is kube-scheduler without a file."""
    if not args:
        return None
    return {**CONFIG, "profiles": [{"schedulerName": SCHEDULER_NAME, "pluginConfig": _plugin_config(args)}]}


def _plugin(name: str, weight: int) -> Document:
    return {"name": name, "weight": weight} if weight else {"name": name}


def _plugin_config(args: Mapping[str, Any]) -> list[Document]:
    return [{"name": name, "args": found} for name, found in args.items()]
