"""What a pod's resource claims ask for: devices by device class, resolved against the claims and classes beside it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cluster_model import objects

UNKNOWN = "unknown"
_KINDS = frozenset({"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"})

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """The claims, templates and classes that stand in the same file as the workload."""

    documents: tuple[Document, ...] = ()

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "Context":
        return cls(tuple(one for one in documents if one.get("kind") in _KINDS))

    def extended_names(self) -> frozenset[str]:
        """Return the extended resources that a device class serves."""
        specs = (_map(one.get("spec")) for one in self.documents if one.get("kind") == "DeviceClass")
        names = (spec.get("extendedResourceName") for spec in specs)
        return frozenset(name for name in names if isinstance(name, str))

    def spec(self, kind: str, name: str, namespace: str) -> Document | None:
        """Return the claim spec behind a reference; None where nothing in the file resolves it."""
        for one in reversed(self.documents):
            metadata = _map(one.get("metadata"))
            theirs = metadata.get("namespace") or namespace
            if one.get("kind") == kind and metadata.get("name") == name and theirs == (namespace or theirs):
                spec = _map(one.get("spec"))
                return _map(spec.get("spec")) if kind == "ResourceClaimTemplate" else spec
        return None


def devices(spec: objects.PodSpec, context: Context, namespace: str = "") -> Mapping[str, int]:
    """Count devices by class over a pod's claims; a claim that several entries name is one claim."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for entry in spec.resource_claims:
        if entry.resource_claim_name and entry.resource_claim_name in seen:
            continue
        seen.add(entry.resource_claim_name)
        claim = _resolve(entry, context, namespace)
        counts.update({UNKNOWN: 1} if claim is None else dict(_of_claim(claim)))
    return counts


def _resolve(entry: objects.PodResourceClaim, context: Context, namespace: str) -> Document | None:
    if entry.resource_claim_template_name:
        return context.spec("ResourceClaimTemplate", entry.resource_claim_template_name, namespace)
    return context.spec("ResourceClaim", entry.resource_claim_name, namespace)


def _of_claim(spec: Document) -> Iterable[tuple[str, int]]:
    counts: Counter[str] = Counter()
    if isinstance(old := spec.get("resourceClassName"), str):  # v1alpha2: one claim, one device
        counts[old] += 1
    for request in _list(_map(spec.get("devices")).get("requests")):
        for device_class, count in _of_request(_map(request)):
            counts[device_class] += count
    return counts.items()


def _of_request(request: Document) -> Iterator[tuple[str, int]]:
    """Read a request of any version: flat (v1beta1), under `exactly`, or the first of its alternatives."""
    alternatives = _list(request.get("firstAvailable"))
    exact = _map(alternatives[0]) if alternatives else _map(request.get("exactly")) or request
    device_class, count = exact.get("deviceClassName"), exact.get("count")
    many = count if isinstance(count, int) and not isinstance(count, bool) and 0 < count < 2**31 else 1
    yield device_class if isinstance(device_class, str) and device_class else UNKNOWN, many


def _map(value: Any) -> Document:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
