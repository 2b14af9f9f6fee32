"""What a real API server wants of a case's objects beyond what schedulers read. Pure; sends nothing.

Kinds are created in the order of `KINDS`: what names another object's uid comes after it.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from cluster_model.objects import LabelSelector
from tests.differential.documents import Document
from tests.oracle_labels import selector_matches

HOLD = "example.com/hold"
FINAL = ("deletionTimestamp", "uid")


@dataclass(frozen=True, slots=True)
class Kind:
    """Where the objects of one list of a case are created."""

    group: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str) -> str:
        """Name the collection."""
        return (
            f"{self.group}/namespaces/{namespace}/{self.plural}" if self.namespaced else f"{self.group}/{self.plural}"
        )


STORAGE, APPS = "/apis/storage.k8s.io/v1", "/apis/apps/v1"
PODS = Kind("/api/v1", "pods")
KINDS: Mapping[str, Kind] = {
    "storageClasses": Kind(STORAGE, "storageclasses", namespaced=False),
    "csiDrivers": Kind(STORAGE, "csidrivers", namespaced=False),
    "persistentVolumeClaims": Kind("/api/v1", "persistentvolumeclaims"),
    "persistentVolumes": Kind("/api/v1", "persistentvolumes", namespaced=False),
    "csiNodes": Kind(STORAGE, "csinodes", namespaced=False),
    "csiStorageCapacities": Kind(STORAGE, "csistoragecapacities"),
    "volumeAttachments": Kind(STORAGE, "volumeattachments", namespaced=False),
    "services": Kind("/api/v1", "services"),
    "replicationControllers": Kind("/api/v1", "replicationcontrollers"),
    "replicaSets": Kind(APPS, "replicasets"),
    "statefulSets": Kind(APPS, "statefulsets"),
    "podDisruptionBudgets": Kind("/apis/policy/v1", "poddisruptionbudgets"),
    "nodes": Kind("/api/v1", "nodes", namespaced=False),
}


def body(kind: str, found: Document, uids: Mapping[str, str]) -> Document:
    """Build what is posted, but for the pods; `uids` are those that the API server gave instead of the case's own."""
    made = copy.deepcopy(found)
    made["metadata"] = {key: value for key, value in made["metadata"].items() if key not in FINAL}
    _refer(made, uids)
    if kind == "services":
        made["spec"] = {"ports": [{"port": 80}], **made["spec"]}
    if kind in ("replicationControllers", "replicaSets", "statefulSets"):
        made["spec"] |= {"template": _template(kind, made["spec"]["selector"])}
    if kind == "statefulSets":
        made["spec"]["serviceName"] = "none"
    if kind != "nodes":
        made.pop("status", None)  # which a creation does not take
    return made


def bystander(found: Document, scheduler_name: str) -> Document:
    """Build a pod that is there already, or that waits: held back, and a scheduler sees what its own pods wait for."""
    made = body("pods", found, {})
    return made if "nodeName" in made["spec"] else _held(made, scheduler_name)


def to_place(found: Document, scheduler_name: str) -> Document:
    """Build the pod that is to be placed: held back until all is there, and bound to no node by hand."""
    made = body("pods", found, {})
    made["spec"].pop("nodeName", None)
    return _held(made, scheduler_name)


def _held(made: Document, scheduler_name: str) -> Document:
    made["spec"] |= {"schedulerName": scheduler_name, "schedulingGates": [{"name": HOLD}]}
    return made


def _refer(made: Document, uids: Mapping[str, str]) -> None:
    references = [*made["metadata"].get("ownerReferences", ()), made.get("spec", {}).get("claimRef", {})]
    for reference in references:
        if reference.get("uid") in uids:
            reference["uid"] = uids[reference["uid"]]


def _template(kind: str, selector: Document) -> Document:
    """Describe pods that the selector selects, as the API server wants it; without such labels it refuses."""
    wanted = selector if kind != "replicationControllers" else {"matchLabels": selector}
    read = msgspec.convert(wanted, LabelSelector)
    labels = next((one for one in _labels() if selector_matches(read, one)), {})
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "example.com/app:1"}]}}


def _labels() -> Iterator[Document]:
    values = {"app": (None, "web", "db", ""), "tier": (None, "x", "y"), "absent": (None, "web", "db", "")}
    for chosen in itertools.product(*values.values()):
        yield {key: value for key, value in zip(values, chosen, strict=True) if value is not None}
