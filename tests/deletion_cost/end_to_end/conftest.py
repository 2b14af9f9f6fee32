"""One stage for all tests of this folder: they keep to Deployments of their own."""

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from benchmarks.pod_load import Page
from tests.control_plane import nodes
from tests.control_plane.bundle import Bundle
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.kubelet import LOOPBACK_NETWORK, Kubelet
from tests.control_plane.metrics_api import MetricsApi
from tests.control_plane.pod_endpoints import PodEndpoints
from tests.control_plane.prometheus import Prometheus
from tests.deletion_cost.end_to_end import monitoring
from tests.deletion_cost.end_to_end.stage import QUICK, Stage

A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}
# The autoscaler looks often, and does not wait for pods to settle.
AUTOSCALER = [
    "--horizontal-pod-autoscaler-sync-period=2s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
]


@pytest.fixture(scope="package")
def stage() -> Iterator[Stage]:
    """The product, two nodes with room for all, and a Prometheus that scrapes the controller and the pods' loads."""
    with ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(controller_manager_args=AUTOSCALER))
        kubelet = stack.enter_context(Kubelet(plane.kubeconfig, pod_network=LOOPBACK_NETWORK))
        endpoints = stack.enter_context(PodEndpoints())
        metrics = stack.enter_context(MetricsApi(plane.api, plane.home))
        loads: dict[str, float] = {}
        page = stack.enter_context(Page(lambda: monitoring.page(loads)))
        kubelet.create_nodes([nodes.gpu_node(f"a100-{number}", 240, A100) for number in range(2)])
        targets = plane.home / "controllers.json"
        config = monitoring.config(targets, page.target)
        prometheus = stack.enter_context(Prometheus(plane.home / "prometheus", config))
        # As in any cluster: where the webhook is too slow, the API server lets a pod pass to this one.
        plane.start_scheduler()
        bundle = stack.enter_context(Bundle(plane))
        bundle.start_deletion_cost({**QUICK, "sources": {"prometheus": {"url": prometheus.url}}})
        targets.write_text(json.dumps([{"targets": list(bundle.deletion_costs)}]))
        kubelet.wait_ready()
        yield Stage(bundle, kubelet, endpoints, metrics, prometheus, loads)
