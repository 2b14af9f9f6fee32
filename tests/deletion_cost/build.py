"""Pods, ReplicaSets and a fleet of them, as the controller's tests need them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cluster_model.controller_objects import Namespace
from cluster_model.deletion_cost import ANNOTATION, SWITCH
from cluster_model.objects import ObjectMeta, OwnerReference
from deletion_cost.fleet import Fleet, Member, Reports
from deletion_cost.ownership import OURS, StandDown
from deletion_cost.pod_objects import Pod, ReplicaSet
from deletion_cost.scale_down import HorizontalPodAutoscaler
from deletion_cost.scope import Scope
from kube_client.changes import Added, Deleted, Modified

VERSIONS = itertools.count(1)
NAMESPACE = "ns"


def pod(name: str, cost: int | None = None, writer: str = OURS, **given: Any) -> Pod:
    """A Ready pod of ReplicaSet "web" that is switched on; `writer` wrote its cost, "" is a webhook."""
    annotations = {SWITCH: "on", **given.get("annotations", {})} | ({} if cost is None else {ANNOTATION: str(cost)})
    owned: dict[str, Any] = {"f:metadata": {"f:annotations": {f"f:{ANNOTATION}": {}}}}
    meta: dict[str, Any] = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-{name}",
        "resourceVersion": str(next(VERSIONS)),
        "annotations": {key: text for key, text in annotations.items() if text is not None},
        "ownerReferences": [_owner(owner, given.get("kind", "ReplicaSet"))]
        if (owner := given.get("owner", "web"))
        else [],
        "managedFields": [{"manager": writer, "fieldsV1": owned}] if cost is not None and writer else [],
    }
    if given.get("leaving"):
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": str(given.get("ready", True)), "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status: dict[str, Any] = {"phase": "Running", "podIP": "10.0.0.1", "conditions": [ready]}
    status["containerStatuses"] = [{"name": "c", "restartCount": given.get("restarts", 0)}]
    spec = {"nodeName": "n", **given.get("spec", {})}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, Pod)


def replica_set(name: str = "web", replicas: int = 5, deployment: str = "", **annotations: str) -> ReplicaSet:
    """A ReplicaSet whose template has the annotations, named without their prefix."""
    meta: dict[str, Any] = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "1"}
    if deployment:
        meta["ownerReferences"] = [_owner(deployment, "Deployment")]
    wishes = {f"{SWITCH}-{key}": text for key, text in annotations.items()}
    spec = {"replicas": replicas, "template": {"metadata": {"annotations": wishes}}}
    return msgspec.convert({"metadata": meta, "spec": spec}, ReplicaSet)


def _owner(name: str, kind: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


@dataclass(slots=True)
class Told:
    """What a fleet has reported."""

    stood_down: list[tuple[str, StandDown]] = field(default_factory=list)
    leaving: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    deaf: list[str] = field(default_factory=list)


class Cluster:
    """A fleet with a clock of the test's, fed as the watches would."""

    def __init__(self, judging: bool = True, scope: Scope = "annotated") -> None:
        self.now = 1000.0
        self.told = Told()
        reports = Reports(self._stood_down, self._leaving, self.told.gone.append, self._deaf)
        self.fleet = Fleet(reports, lambda: self.now, judging, scope)
        self._pods: dict[str, Pod] = {}

    def add(self, *found: Pod | ReplicaSet) -> None:
        """Tell of objects for the first time, or of their newer states."""
        for one in found:
            if isinstance(one, ReplicaSet):
                self.fleet.replica_set(Added(one))
                continue
            old = self._pods.get(one.metadata.uid)
            self.fleet.pod(Added(one) if old is None else Modified(one, old))
            self._pods[one.metadata.uid] = one

    def remove(self, name: str) -> None:
        self.fleet.pod(Deleted(self._pods.pop(f"uid-{name}")))

    def label(self, switch: str | None) -> None:
        """Set the namespace's label."""
        labels = {} if switch is None else {SWITCH: switch}
        self.fleet.namespace(Added(Namespace(metadata=ObjectMeta(name=NAMESPACE, labels=labels))))

    def autoscale(self, kind: str, name: str, **spec: Any) -> None:
        target = {"scaleTargetRef": {"kind": kind, "name": name}, **spec}
        meta = {"name": "hpa", "namespace": NAMESPACE, "uid": "uid-hpa"}
        self.fleet.autoscaler(Added(msgspec.convert({"metadata": meta, "spec": target}, HorizontalPodAutoscaler)))

    def member(self, name: str, owner: str = "web") -> Member:
        found = self.fleet.member(f"uid-{owner}", f"uid-{name}")
        assert found is not None
        return found

    def _stood_down(self, member: Member, why: StandDown) -> None:
        self.told.stood_down.append((member.pod.metadata.name, why))

    def _leaving(self, member: Member) -> None:
        self.told.leaving.append(member.pod.metadata.name)

    def _deaf(self, owner: OwnerReference, namespace: str) -> None:
        self.told.deaf.append(f"{namespace}/{owner.kind}/{owner.name}")
