"""/metrics/resources: what each pod asks for and may use, under kube-scheduler's names and labels.

Written in slices, so that thousands of pods do not keep the loop from deciding.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from cluster_model import objects, pod_resources

SLICE_PODS = 100
REQUEST, LIMIT = "kube_pod_resource_request", "kube_pod_resource_limit"
ABOUT = {
    REQUEST: "What the containers of a pod ask for together, by resource, with its unit",
    LIMIT: "What the containers of a pod may use together, by resource, with its unit",
}


async def lines(pods: Sequence[objects.Pod]) -> AsyncIterator[bytes]:
    """Yield the page in pieces; others have their turn between two of them."""
    yield _head(REQUEST)
    limits: list[bytes] = []
    for start in range(0, len(pods), SLICE_PODS):
        requests, limited = _slice(pods[start : start + SLICE_PODS])
        yield requests
        limits.append(limited)
        await asyncio.sleep(0)
    yield _head(LIMIT)
    for limited in limits:
        yield limited


def _head(name: str) -> bytes:
    return f"# HELP {name} {ABOUT[name]}\n# TYPE {name} gauge\n".encode()


def _slice(pods: Sequence[objects.Pod]) -> tuple[bytes, bytes]:
    requests: list[str] = []
    limits: list[str] = []
    for pod in pods:
        found, labels = pod_resources.read(pod.spec), _labels(pod)
        requests.extend(_line(REQUEST, labels, name, amount) for name, amount in found.requests.items())
        limits.extend(_line(LIMIT, labels, name, amount) for name, amount in found.limits.items())
    return "".join(requests).encode(), "".join(limits).encode()


def _labels(pod: objects.Pod) -> str:
    meta, spec = pod.metadata, pod.spec
    # The API server holds all others to letters, digits, dots and dashes.
    scheduler = spec.scheduler_name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    where = f'namespace="{meta.namespace}",node="{spec.node_name}",pod="{meta.name}"'
    return f'{where},priority="{spec.priority}",scheduler="{scheduler}"'


def _line(name: str, labels: str, resource: str, amount: float) -> str:
    unit = pod_resources.unit(resource)
    return f'{name}{{{labels},resource="{resource}",unit="{unit}"}} {amount!r}\n'
