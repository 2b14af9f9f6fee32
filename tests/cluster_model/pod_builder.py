"""Builders of pods as decoded from the API, for the tests of the parser."""

from typing import Any

import msgspec

from cluster_model import objects

GPU = "nvidia.com/gpu"


def limits(**amounts: Any) -> dict[str, Any]:
    """Build a container with limits; `gpu` stands for nvidia.com/gpu."""
    return {"name": "c", "resources": {"limits": {GPU if name == "gpu" else name: n for name, n in amounts.items()}}}


def asks(resources: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Build a container with requests."""
    return {"name": "c", "resources": {"requests": resources}, **fields}


def pod(*containers: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any) -> objects.Pod:
    """Build a pod; further keywords are fields of its spec as they stand on the wire."""
    document = {"metadata": {"annotations": annotations or {}}, "spec": {"containers": list(containers), **spec}}
    return msgspec.convert(document, objects.Pod)
