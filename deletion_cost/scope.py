"""Which pods are in where neither they nor their namespaces say so. Pure."""

from typing import Literal

from cluster_model import gpu_annotations, gpu_names, quantity
from cluster_model.objects import Resources
from deletion_cost.pod_objects import Pod

Scope = Literal["annotated", "gpu"]


def holds(pod: Pod, scope: Scope) -> bool:
    """Say whether a pod is GPU-annotated or, in the wider scope, asks for a GPU; as the webhook of that scope does."""
    return gpu_annotations.is_annotated(pod.metadata.annotations) or (scope == "gpu" and _asks(pod))


def _asks(pod: Pod) -> bool:
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    amounts = ({**one.resources.requests, **one.resources.limits} for one in containers)  # the limit, else the request
    return bool(pod.spec.resource_claims) or any(map(_names_gpu, amounts))


def _names_gpu(amounts: Resources) -> bool:
    return any(gpu_names.asks_for_gpu(name) and _positive(amount) for name, amount in amounts.items())


def _positive(amount: str | int | float) -> bool:
    try:
        return quantity.parse(amount) > 0
    except ValueError:
        return False
