"""Finds the pod, or the pod template, in any kind of workload. Reads documents as they were written; judges no pod."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cluster_model import lenient, objects
from cluster_model.verdict import BadRequest, Problem

Document = Mapping[str, Any]

# Where each kind keeps its pod template; "" is the object itself.
TEMPLATE_PATHS: Mapping[str, str] = {
    "Pod": "",
    "PodTemplate": "template",
    "Deployment": "spec.template",
    "ReplicaSet": "spec.template",
    "ReplicationController": "spec.template",
    "StatefulSet": "spec.template",
    "DaemonSet": "spec.template",
    "Job": "spec.template",
    "CronJob": "spec.jobTemplate.spec.template",
}
_OTHER_KINDS_PATH = "spec.template"  # Knative services, Argo rollouts, notebooks: one template at the usual place
_DEEPEST_LIST = 5


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload's pod, where it stands in the object, and what an API server would not take."""

    kind: str
    at: str
    namespace: str
    pod: objects.Pod
    notes: tuple[str, ...]


def flatten(documents: Sequence[Any]) -> tuple[Document, ...]:
    """Return the objects of a file: empty documents dropped, lists taken apart. Anything else: BadRequest."""
    return tuple(_flat(documents, _DEEPEST_LIST))


def find(document: Document) -> Workload:
    """Find the pod of a workload; BadRequest for an object without a pod template."""
    kind = str(document.get("kind") or "Pod")
    at = TEMPLATE_PATHS.get(kind, _OTHER_KINDS_PATH)
    template = _template(document, kind, at)
    pod, notes = lenient.convert({**template, "spec": _with_claims_lifted(template)}, objects.Pod)
    metadata = document.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else ""
    prefix = f"{at}." if at else ""
    placed = tuple(note.replace("api-rejects: ", f"api-rejects: {prefix}", 1) for note in notes)
    return Workload(
        kind, at, namespace if isinstance(namespace, str) else "", pod, placed + tuple(_old_claims(template))
    )


def _flat(documents: Sequence[Any], depth: int) -> Iterator[Document]:
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, Mapping):
            raise BadRequest(Problem("document", _shape(document), "must be a mapping"))
        kind, items = document.get("kind"), document.get("items")
        if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
            if not depth:
                raise BadRequest(Problem("items", kind, "lists are nested too deeply"))
            yield from _flat([_named(item, kind) for item in items], depth - 1)
        else:
            yield document


def _shape(value: Any) -> str:
    """Name a value's shape in the words of JSON."""
    shapes = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "list"}
    return shapes.get(type(value), "object")


def _named(item: Any, kind: str) -> Any:
    """Give an item of a typed list (PodList) its kind, which the API leaves out."""
    unnamed = isinstance(item, Mapping) and "kind" not in item and kind != "List"
    return {**item, "kind": kind.removesuffix("List")} if unnamed else item


def _template(document: Document, kind: str, at: str) -> Document:
    template: Any = document
    for step in filter(None, at.split(".")):
        template = template.get(step) if isinstance(template, Mapping) else None
    spec = template.get("spec") if isinstance(template, Mapping) else None
    known = kind in TEMPLATE_PATHS
    if not isinstance(spec, Mapping) or (not known and not isinstance(spec.get("containers"), list)):
        where = f"{at}.spec" if known and at else "spec" if known else "kind"
        shown = _shape(spec) if known else kind
        accepted = "a pod's spec" if known else f"a kind with one pod template: {', '.join(TEMPLATE_PATHS)}"
        raise BadRequest(Problem(where, shown, f"must be {accepted}"))
    assert isinstance(template, Mapping)
    return template


def _with_claims_lifted(template: Document) -> dict[str, Any]:
    """Read the claim references of Kubernetes 1.26 to 1.30, which stood under `source`."""
    spec = dict(template["spec"])
    claims = spec.get("resourceClaims")
    if isinstance(claims, list):
        spec["resourceClaims"] = [
            {**one["source"], **one} if isinstance(one, Mapping) and isinstance(one.get("source"), Mapping) else one
            for one in claims
        ]
    return spec


def _old_claims(template: Document) -> Iterator[str]:
    claims = template["spec"].get("resourceClaims")
    for index, one in enumerate(claims if isinstance(claims, list) else ()):
        if isinstance(one, Mapping) and "source" in one:
            yield f"api-rejects: spec.resourceClaims[{index}].source is gone since Kubernetes 1.31"
