"""The deletion-cost controller with the account that is installed, at a real API server with real controllers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.control_plane import pods, waiting
from tests.control_plane.api import Api, ApiError
from tests.control_plane.processes import Process
from tests.manifests.installation import Installation
from tests.manifests.objects import container, pod, wrap

pytestmark = pytest.mark.control_plane

ACCOUNT = ("gpu-scheduler", "gpu-scheduler-deletion-cost")
COST, SWITCH = "controller.kubernetes.io/pod-deletion-cost", "scheduling.gpu/deletion-cost"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/gpu-scheduler/leases/gpu-scheduler-deletion-cost"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
QUICK = """
pollSeconds: 0.5
policy: {source: none, warmupSeconds: 0.5}
budget: {minIntervalSeconds: 0, spreadSeconds: 0}
leaderElection: {namespace: gpu-scheduler}
"""


@pytest.fixture
def running(installed: Installation, tmp_path: Path) -> Iterator[Process]:
    """The controller with the token of its ServiceAccount."""
    (tmp_path / "config.yaml").write_text(QUICK)
    token = installed.plane.service_account_kubeconfig(*ACCOUNT)
    command: list[str | Path] = [Path(sys.executable).with_name("gpu-scheduler"), "deletion-cost"]
    options: list[str | Path] = [
        "--config",
        tmp_path / "config.yaml",
        f"--kubeconfig={token}",
        "--bind-address=127.0.0.1",
        "--port=0",
    ]
    process = installed.plane.spawn("deletion-cost", [*command, *options])
    yield process
    process.stop()


def test_controller_leads_writes_and_warns_with_its_rights(installed: Installation, running: Process) -> None:
    """A pod that has warmed up loses its cold value; a StatefulSet that is switched on is told that it is deaf."""
    api, name = installed.plane.api, installed.name()
    template = pod({SWITCH: "on", COST: "-50"}, [container()])
    api.post("/apis/apps/v1/namespaces/default/replicasets", wrap("ReplicaSet", name, template))
    api.post("/apis/apps/v1/namespaces/default/statefulsets", wrap("StatefulSet", f"{name}-deaf", template))
    waiting.until(lambda: len(owned(api, name)) == 1, "the ReplicaSet's pod")
    [made] = owned(api, name)

    api.patch(f"{pods.path(made)}/status", pods.running(made, "10.128.0.1"))

    waiting.until(lambda: COST not in owned(api, name)[0]["metadata"]["annotations"], "the pod counted as warm")
    waiting.until(lambda: f"{name}-deaf" in {event["regarding"]["name"] for event in api.get(EVENTS)["items"]}, "event")
    assert api.get(LEASE)["spec"]["holderIdentity"]


def test_account_may_neither_read_secrets_nor_delete_pods(installed: Installation) -> None:
    api = Api(installed.plane.service_account_kubeconfig(*ACCOUNT))

    with pytest.raises(ApiError, match="Forbidden"):
        api.get("/api/v1/namespaces/gpu-scheduler/secrets")
    with pytest.raises(ApiError, match="Forbidden"):
        api.delete("/api/v1/namespaces/default/pods/any")
    api.close()


def owned(api: Api, name: str) -> list[dict[str, Any]]:
    """The pods of a ReplicaSet."""
    items: list[dict[str, Any]] = api.get("/api/v1/namespaces/default/pods")["items"]
    return [one for one in items if name in {owner["name"] for owner in one["metadata"].get("ownerReferences", [])}]
