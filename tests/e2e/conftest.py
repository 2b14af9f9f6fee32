"""The product on a control plane of its own, once with the admission policy bound and once without."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control_plane import nodes
from tests.control_plane.api import Json
from tests.control_plane.bundle import MANIFESTS, Bundle
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.kubelet import Kubelet

OVERLAYS = {
    "policy": MANIFESTS / "overlays" / "kind",
    "no-policy": Path(__file__).parent / "overlays" / "without-policy-binding",
}
PRODUCTS = {"a100": "NVIDIA-A100-SXM4-80GB", "h100": "NVIDIA-H100-80GB-HBM3"}


@pytest.fixture(scope="package", params=sorted(OVERLAYS))
def bundle(request: pytest.FixtureRequest) -> Iterator[Bundle]:
    """Two A100 nodes of four GPUs, an H100 node of eight, a node without any; webhook and scheduler running."""
    with ControlPlane() as plane, Kubelet(plane.kubeconfig) as kubelet:
        kubelet.create_nodes(
            [gpu_node("a100-0", 4), gpu_node("a100-1", 4), gpu_node("h100-0", 8), nodes.gpu_node("cpu-0", 0)]
        )
        with Bundle(plane, OVERLAYS[request.param]) as running:
            kubelet.wait_ready()
            yield running


def gpu_node(name: str, gpus: int) -> Json:
    """A node with the labels of GPU Feature Discovery; the model is the name's first part."""
    memory = {"a100": "81920", "h100": "81559"}[name.split("-")[0]]
    labels = {"nvidia.com/gpu.product": PRODUCTS[name.split("-")[0]], "nvidia.com/gpu.memory": memory}
    return nodes.gpu_node(name, gpus, {**labels, "nvidia.com/gpu.count": str(gpus)})
