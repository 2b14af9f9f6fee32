"""The control plane and its fake kubelet, tried for real: the ground that all other tests on it stand on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from tests.control_plane import nodes, waiting
from tests.control_plane.api import Api, ApiError, Json
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.kubelet import Kubelet

pytestmark = pytest.mark.control_plane

ROOT = Path(__file__).parents[2]
CRASHING = """
import time
from tests.control_plane.cluster import ControlPlane
with ControlPlane() as plane:
    print(*plane.pids().values(), plane.home, flush=True)
    time.sleep(600)
"""


def test_servers_are_the_pinned_release(control_plane: ControlPlane) -> None:
    """Every Kubernetes binary says the pinned version, and so does the API server to its clients."""
    binaries = control_plane.binaries
    said = [
        subprocess.run([binaries / name, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    ]

    etcd = subprocess.run([binaries / "etcd", "--version"], capture_output=True, text=True, check=True).stdout

    assert said == ["Kubernetes v1.37.2"] * 3
    assert etcd.startswith("etcd Version: 3.7.3\n")
    assert control_plane.api.get("/version")["gitVersion"] == "v1.37.2"


def test_kubectl_reaches_the_server(control_plane: ControlPlane) -> None:
    """kubectl runs as administrator, and a failing call is an error with kubectl's own words."""
    assert control_plane.kubectl("auth", "can-i", "*", "*").stdout.strip() == "yes"
    with pytest.raises(RuntimeError, match="nobody"):
        control_plane.kubectl("get", "namespace", "nobody")


def test_unbound_service_account_is_denied(control_plane: ControlPlane, namespace: str) -> None:
    """A ServiceAccount's token is accepted, and without a role it may read nothing."""
    account = Api(control_plane.service_account_kubeconfig(namespace, "default"))

    assert account.get("/version")["gitVersion"] == "v1.37.2"
    with pytest.raises(ApiError, match=f"system:serviceaccount:{namespace}:default") as denied:
        account.get(f"/api/v1/namespaces/{namespace}/pods")
    assert denied.value.status == 403
    account.close()


def test_user_has_the_rights_of_its_groups(control_plane: ControlPlane) -> None:
    """A client certificate carries user and groups: system:masters may all, another user nothing."""
    master = Api(control_plane.user_kubeconfig("alice", ["system:masters"]))
    other = Api(control_plane.user_kubeconfig("bob", ["visitors"]))

    assert master.ok("/api/v1/nodes")
    assert not other.ok("/api/v1/nodes")
    master.close()
    other.close()


def test_node_becomes_ready_and_untainted(control_plane: ControlPlane, kubelet: Kubelet) -> None:
    """A registered node keeps its status, and loses the not-ready taint that admission gave it."""
    kubelet.create_nodes([nodes.gpu_node("ready-node", gpus=4, labels={"pool": "a"})])
    kubelet.wait_ready(["ready-node"])

    node = control_plane.api.get("/api/v1/nodes/ready-node")
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "4"
    assert node["metadata"]["labels"]["pool"] == "a"
    assert "taints" not in node["spec"]
    assert control_plane.api.ok(f"{nodes.LEASES}/ready-node")


def test_leases_are_renewed_and_pods_left_alone_if_so_asked(control_plane: ControlPlane) -> None:
    """Without pods to run, the fake kubelet still keeps its nodes alive."""
    with Kubelet(control_plane.kubeconfig, run_pods=False, renew_seconds=0.1) as quiet:
        quiet.create_nodes([nodes.gpu_node("quiet-a"), nodes.gpu_node("quiet-b")])
        first = {name: renewed(control_plane, name) for name in ("quiet-a", "quiet-b")}

        waiting.until(lambda: all(renewed(control_plane, name) > first[name] for name in first), "renewed leases")
        assert quiet.pod_follower.lists == 0
        quiet.delete_nodes()

    assert not control_plane.api.ok("/api/v1/nodes/quiet-a")


def test_kubelet_runs_as_a_process_of_its_own(control_plane: ControlPlane, tmp_path: Path) -> None:
    """It registers the nodes of YAML files, says so, and ends at SIGTERM."""
    file = tmp_path / "nodes.yaml"
    file.write_text(yaml.safe_dump_all([nodes.gpu_node("yaml-a"), nodes.gpu_node("yaml-b")]))
    command = [
        sys.executable,
        "-m",
        "tests.control_plane.kubelet",
        "--no-pods",
        str(control_plane.kubeconfig),
        str(file),
    ]

    process = control_plane.spawn("kubelet", command)
    process.wait_until(lambda: "ready" in process.tail(), "ready")
    assert nodes.is_ready(control_plane.api.get("/api/v1/nodes/yaml-b"))

    process.stop()
    assert process.exit_code() == 0


def test_node_that_fails_is_tainted_until_it_comes_back(control_plane: ControlPlane, kubelet: Kubelet) -> None:
    """The controllers see what the fake kubelet says of a node."""
    kubelet.create_nodes([nodes.gpu_node("failing-node")])
    kubelet.wait_ready(["failing-node"])

    kubelet.set_ready("failing-node", False)
    waiting.until(lambda: "taints" in control_plane.api.get("/api/v1/nodes/failing-node")["spec"], "a taint")

    kubelet.set_ready("failing-node", True)
    kubelet.wait_ready(["failing-node"])


def test_bound_pod_runs_until_deleted(control_plane: ControlPlane, kubelet: Kubelet, namespace: str) -> None:
    """A Deployment's pod, bound by hand, becomes Ready, the Deployment available, and deletion completes."""
    kubelet.create_nodes([nodes.gpu_node("pod-node")])
    control_plane.api.post(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment("trainer"))
    waiting.until(lambda: pods_of(control_plane, namespace) != [], "the Deployment's pod")
    name = pods_of(control_plane, namespace)[0]["metadata"]["name"]

    bind(control_plane, namespace, name, "pod-node")
    control_plane.kubectl("wait", "deployment/trainer", "-n", namespace, "--for=condition=Available", "--timeout=30s")
    status = control_plane.api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["status"]
    assert (status["phase"], status["containerStatuses"][0]["ready"]) == ("Running", True)
    assert {c["type"] for c in status["conditions"] if c["status"] == "True"} >= {"PodScheduled", "Ready"}
    assert status["podIP"]

    control_plane.kubectl("delete", "deployment", "trainer", "-n", namespace, "--wait=false")
    waiting.until(lambda: pods_of(control_plane, namespace) == [], "no pods left")


def test_kubelet_survives_a_cut_watch(control_plane: ControlPlane, kubelet: Kubelet, namespace: str) -> None:
    """A pod bound while the watch is down runs all the same, and nothing is listed again."""
    kubelet.create_nodes([nodes.gpu_node("cut-node")])
    control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", pod("survivor"))
    lists, watches = kubelet.pod_follower.lists, kubelet.pod_follower.watches

    kubelet.cut_watch()
    bind(control_plane, namespace, "survivor", "cut-node")

    waiting.until(lambda: pods_of(control_plane, namespace)[0]["status"]["phase"] == "Running", "the pod running")
    assert kubelet.pod_follower.watches == watches + 1
    assert kubelet.pod_follower.lists == lists


def test_stock_scheduler_binds(control_plane: ControlPlane, kubelet: Kubelet, namespace: str, tmp_path: Path) -> None:
    """kube-scheduler is started on demand, with a configuration of the caller's, and stopped again."""
    config = tmp_path / "scheduler.yaml"
    config.write_text("profiles: [{schedulerName: peer}]")
    kubelet.create_nodes([nodes.gpu_node("peer-node")])
    kubelet.wait_ready(["peer-node"])

    scheduler = control_plane.start_scheduler(config)
    control_plane.api.post(f"/api/v1/namespaces/{namespace}/pods", pod("scheduled", scheduler="peer"))

    waiting.until(lambda: pods_of(control_plane, namespace)[0]["status"]["phase"] == "Running", "the pod running")
    scheduler.stop()
    assert scheduler.exit_code() is not None


def test_two_control_planes_run_side_by_side(control_plane: ControlPlane) -> None:
    """Nothing is shared: a second and third one, started at once from threads, know nothing of each other."""
    planes = [ControlPlane(), ControlPlane()]
    with ThreadPoolExecutor() as threads:
        list(threads.map(ControlPlane.start, planes))
    try:
        planes[0].api.post("/api/v1/namespaces", {"metadata": {"name": "only-here"}})

        assert [plane.api.ok("/api/v1/namespaces/only-here") for plane in (*planes, control_plane)] == [
            True,
            False,
            False,
        ]
    finally:
        with ThreadPoolExecutor() as threads:
            list(threads.map(ControlPlane.stop, planes))
    assert not any(plane.home.exists() or plane.pids() for plane in planes)


def test_killed_parent_leaves_no_server_behind() -> None:
    """SIGKILL of the process that holds a control plane ends every server of it."""
    command = [sys.executable, "-c", CRASHING]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        *pids, home = parent.stdout.readline().split()
        assert len(pids) == 3
        assert all(runs(int(pid)) for pid in pids)

        parent.send_signal(signal.SIGKILL)

    waiting.until(lambda: not any(runs(int(pid)) for pid in pids), "all servers gone")
    shutil.rmtree(home)


def renewed(plane: ControlPlane, node: str) -> str:
    """When a node's lease was last renewed."""
    return str(plane.api.get(f"{nodes.LEASES}/{node}")["spec"]["renewTime"])


def runs(pid: int) -> bool:
    """Whether a process of that id is alive."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def bind(plane: ControlPlane, namespace: str, name: str, node: str) -> None:
    """Do the scheduler's part for one pod."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    plane.api.post(
        f"/api/v1/namespaces/{namespace}/pods/{name}/binding", {"metadata": {"name": name}, "target": target}
    )


def pods_of(plane: ControlPlane, namespace: str) -> list[Json]:
    """All pods of a namespace."""
    found: list[Json] = plane.api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return found


def pod(name: str, scheduler: str = "nobody") -> Json:
    """A pod that asks for one GPU."""
    return {"metadata": {"name": name}, "spec": pod_spec(scheduler)}


def pod_spec(scheduler: str) -> Json:
    """One container with one GPU."""
    container = {"name": "main", "image": "trainer:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    return {"schedulerName": scheduler, "containers": [container]}


def deployment(name: str) -> Json:
    """A Deployment of one pod that no scheduler looks at."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec("nobody")}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}
