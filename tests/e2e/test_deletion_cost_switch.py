"""First deletion costs as a namespace and a pod wish them, and as `kubectl gpu cost` tells them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.control_plane import waiting
from tests.control_plane.bundle import Bundle

pytestmark = pytest.mark.control_plane

SWITCH = "scheduling.gpu/deletion-cost"
GPU = {"gpu.nvidia.com/model": "A100"}


def namespace(bundle: Bundle, value: str) -> str:
    """A namespace labelled with the switch."""
    name = f"cost-{value}-{uuid.uuid4().hex[:6]}"
    bundle.plane.api.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": {SWITCH: value}}})
    waiting.until(bundle.plane.api.probe(f"/api/v1/namespaces/{name}/serviceaccounts/default"), "ServiceAccount")
    return name


def workload(bundle: Bundle, where: str, kind: str, name: str, annotations: dict[str, str]) -> None:
    """One pod by way of a controller; with a GPU annotation it asks for a GPU."""
    limits = {"limits": {"nvidia.com/gpu": "1"}} if annotations.keys() & GPU.keys() else {}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "i", "resources": limits}]}
    labels = {"app": name}
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}
    selecting = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    if kind == "Job":
        selecting = {"template": template | {"spec": spec | {"restartPolicy": "Never"}}}
    group = "batch" if kind == "Job" else "apps"
    path = f"/apis/{group}/v1/namespaces/{where}/{kind.lower()}s"
    bundle.plane.api.post(path, {"metadata": {"name": name}, "spec": selecting})


def listed(bundle: Bundle, where: str) -> dict[str, tuple[int | None, str]]:
    """What `kubectl gpu cost` says of each ReplicaSet's pods, by the workload's name: cost and reason."""
    environment = {"PATH": str(Path(sys.executable).parent), "KUBECONFIG": str(bundle.plane.kubeconfig)}
    words = ["kubectl", "gpu", "cost", "-n", where, "-o", "json"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, cwd=os.sep)
    return {item["name"].split("-")[0]: (item["cost"], item["reason"]) for item in json.loads(done.stdout)["items"]}


def pods(bundle: Bundle, where: str) -> int:
    """How many pods there are."""
    return len(bundle.plane.api.get(f"/api/v1/namespaces/{where}/pods")["items"])


def test_in_a_namespace_that_says_on_all_pods_of_replica_sets_start_cold(bundle: Bundle) -> None:
    where = namespace(bundle, "on")
    for name, wished in {"plain": {}, "gpu": GPU, "out": {SWITCH: "off"}}.items():
        workload(bundle, where, "Deployment", name, wished)
    workload(bundle, where, "Job", "job", {})
    workload(bundle, where, "StatefulSet", "set", GPU)
    waiting.until(lambda: pods(bundle, where) == 5, "the controllers' pods")

    cold = (-50, "not warm yet")
    assert listed(bundle, where) == {"plain": cold, "gpu": cold, "out": (None, "no value, counts as 0")}
    bundle.plane.kubectl("delete", "namespace", where, "--wait=false")


def test_in_a_namespace_that_says_off_only_pods_that_say_on_do(bundle: Bundle) -> None:
    where = namespace(bundle, "off")
    for name, wished in {"gpu": GPU, "plain": {}, "in": {SWITCH: "on"}}.items():
        workload(bundle, where, "Deployment", name, wished)
    waiting.until(lambda: pods(bundle, where) == 3, "the controllers' pods")

    none = (None, "no value, counts as 0")
    assert listed(bundle, where) == {"gpu": none, "plain": none, "in": (-50, "not warm yet")}
    found = bundle.plane.api.get(f"/api/v1/namespaces/{where}/pods", labelSelector="app=gpu")["items"]
    assert [pod["spec"]["schedulerName"] for pod in found] == ["gpu-scheduler"]
    bundle.plane.kubectl("delete", "namespace", where, "--wait=false")
