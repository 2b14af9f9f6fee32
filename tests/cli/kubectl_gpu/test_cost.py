"""`kubectl gpu cost` as users run it: the real kubectl, its plugin mechanism and a real API server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.control_plane import pods, waiting
from tests.control_plane.api import Json
from tests.control_plane.cluster import ControlPlane

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

BIN = Path(sys.executable).parent
COST = "controller.kubernetes.io/pod-deletion-cost"
OURS = "gpu-scheduler-deletion-cost"
NAMESPACE = "kubectl-gpu-cost"
LABELS = {"app": "web"}
POD: Json = {"containers": [{"name": "main", "image": "i"}], "schedulerName": "nobody"}


def kubectl(*words: str, kubeconfig: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run kubectl with nothing on PATH but itself and the plugin."""
    given = {"PATH": str(BIN), "HOME": "/nonexistent", **environment}
    if kubeconfig is not None:
        given["KUBECONFIG"] = str(kubeconfig)
    return subprocess.run(["kubectl", *words], env=given, capture_output=True, text=True, check=False, cwd=os.sep)


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A namespace with a ReplicaSet of seven Ready pods, whose costs seven hands have written."""
    api = control_plane.api
    api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    waiting.until(api.probe(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"), "default ServiceAccount")
    for name in ("active", "hand", "karpenter", "mark-1", "mark-2", "plain", "reported"):
        create_pod(control_plane, f"web-{name}")
    template = {"metadata": {"labels": LABELS}, "spec": POD}
    spec = {"replicas": 7, "selector": {"matchLabels": LABELS}, "template": template}
    api.post(f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets", {"metadata": {"name": "web"}, "spec": spec})
    waiting.until(lambda: all("ownerReferences" in pod["metadata"] for pod in found(control_plane)), "adoption")
    write(control_plane, "web-active", "60", OURS)
    write(control_plane, "web-karpenter", "-99999", "karpenter")
    write(control_plane, "web-mark-1", "-49", OURS)
    write(control_plane, "web-mark-2", "-10", OURS)
    write(control_plane, "web-reported", "77", "deletion-cost-reporter")
    control_plane.kubectl("annotate", "-n", NAMESPACE, "pod/web-hand", f"{COST}=1000")
    yield control_plane
    api.delete(f"/api/v1/namespaces/{NAMESPACE}")


def create_pod(plane: ControlPlane, name: str) -> None:
    """Create a Ready pod that no node holds, so that no kubelet touches it."""
    meta = {"name": name, "labels": {**LABELS, "pod": name}}
    created = plane.api.post(f"/api/v1/namespaces/{NAMESPACE}/pods", {"metadata": meta, "spec": POD})
    plane.api.patch(f"{pods.path(created)}/status", pods.running(created, "10.128.0.9"))


def write(plane: ControlPlane, name: str, cost: str, manager: str) -> None:
    """Write a cost as that field manager."""
    patch = {"metadata": {"annotations": {COST: cost}}}
    plane.api.patch(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}?fieldManager={manager}", patch)


def found(plane: ControlPlane) -> list[Json]:
    """The namespace's pods."""
    items: list[Json] = plane.api.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    return items


def cost(plane: ControlPlane, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the verb in the namespace."""
    return kubectl("gpu", "cost", "-n", NAMESPACE, *words, kubeconfig=plane.kubeconfig)


TABLE = """\
NAME            COST     BAND     REASON                                  AGE   NEXT VICTIM
web-karpenter   -99999   other    foreign writer karpenter                0s    1 of 7
web-mark-1      -49      victim   victim mark 1 of 2                      0s    2 of 7
web-mark-2      -10      victim   victim mark 2 of 2                      0s    3 of 7
web-plain       <none>   normal   no value, counts as 0                   -     4 of 7
web-active      60       active   follows its load                        0s    5 of 7
web-reported    77       active   reported by the application             0s    6 of 7
web-hand        1000     warm     value by user, with kubectl-annotate    0s    7 of 7
"""


def test_the_table_tells_all_of_each_pod(plane: ControlPlane) -> None:
    """Ages aside, which grow, and with them the columns' width."""
    done = cost(plane)

    def told(text: str) -> list[list[str]]:
        return [
            re.split(r"  +", line)
            for line in re.sub(r"  (\d+m?\d*s|<none>|-) +(?=\d of)", "  AGE   ", text).splitlines()
        ]

    assert (done.returncode, done.stderr) == (0, "")
    assert told(done.stdout) == told(TABLE)


def test_wide_adds_owner_readiness_node_and_writer(plane: ControlPlane) -> None:
    head, first, *_ = cost(plane, "-o", "wide").stdout.splitlines()

    assert head.split()[-4:] == ["OWNER", "READY", "NODE", "WRITER"]
    assert first.split()[-4:] == ["ReplicaSet/web", "true", "<none>", "karpenter"]


def test_json_and_yaml_hold_the_same_for_programs(plane: ControlPlane) -> None:
    told = json.loads(cost(plane, "-o", "json").stdout)

    assert yaml.safe_load(cost(plane, "-o=yaml").stdout) == told
    item: dict[str, Any] = told["items"][1]
    assert item.pop("written").endswith("Z")
    assert item.pop("uid") in {pod["metadata"]["uid"] for pod in found(plane)}
    assert item == {
        "namespace": NAMESPACE,
        "name": "web-mark-1",
        "owner": {"kind": "ReplicaSet", "name": "web"},
        "node": None,
        "ready": True,
        "cost": -49,
        "band": "victim",
        "reason": "victim mark 1 of 2",
        "writer": OURS,
        "order": 2,
        "of": 7,
        "nextVictim": False,
    }


def test_names_go_into_other_commands(plane: ControlPlane) -> None:
    names = cost(plane, "-o", "name", "-l", "pod in (web-plain,web-hand)").stdout

    assert names == "pod/web-plain\npod/web-hand\n"
    assert plane.kubectl("get", "-n", NAMESPACE, *names.split(), "-o", "name").stdout == names


def test_a_selector_or_a_name_leaves_the_places_as_they_are(plane: ControlPlane) -> None:
    selected = json.loads(cost(plane, "--selector", "pod=web-hand", "-o", "json").stdout)["items"]

    assert [(item["name"], item["order"], item["of"]) for item in selected] == [("web-hand", 7, 7)]
    assert json.loads(cost(plane, "web-hand", "-o", "json").stdout)["items"] == selected


def test_a_table_may_come_without_its_head(plane: ControlPlane) -> None:
    [line] = cost(plane, "web-hand", "--no-headers").stdout.splitlines()

    assert line.split()[0] == "web-hand"


def test_all_namespaces_come_with_their_names(plane: ControlPlane) -> None:
    done = kubectl("gpu", "cost", "-A", kubeconfig=plane.kubeconfig)

    head, *lines = done.stdout.splitlines()
    assert head.split()[:2] == ["NAMESPACE", "NAME"]
    assert sum(line.startswith(f"{NAMESPACE} ") for line in lines) == 7


def test_without_flags_the_context_s_namespace_is_listed(plane: ControlPlane, tmp_path: Path) -> None:
    document = yaml.safe_load(plane.kubeconfig.read_text())
    inside = {"name": "inside", "context": {**document["contexts"][0]["context"], "namespace": NAMESPACE}}
    document["contexts"].append(inside)
    (tmp_path / "config").write_text(yaml.safe_dump(document))

    assert kubectl("gpu", "cost", "-o", "name", kubeconfig=tmp_path / "config").stderr == (
        "No resources found in default namespace.\n"
    )
    words = ("gpu", "cost", "-o", "name", "--context", "inside", f"--kubeconfig={tmp_path / 'config'}")
    assert len(kubectl(*words).stdout.splitlines()) == 7


def test_nothing_found_is_said_as_kubectl_says_it(plane: ControlPlane) -> None:
    ours = kubectl("gpu", "cost", "-n", "kube-public", kubeconfig=plane.kubeconfig)
    its = kubectl("get", "pods", "-n", "kube-public", kubeconfig=plane.kubeconfig)

    assert (ours.returncode, ours.stdout, ours.stderr) == (its.returncode, its.stdout, its.stderr)


def test_a_missing_right_is_said_as_kubectl_says_it(plane: ControlPlane) -> None:
    stranger = plane.user_kubeconfig("stranger")
    ours = kubectl("gpu", "cost", "-n", NAMESPACE, kubeconfig=stranger)
    its = kubectl("get", "pods", "-n", NAMESPACE, kubeconfig=stranger)

    assert (ours.returncode, ours.stdout, ours.stderr) == (1, "", its.stderr)
    assert "Error from server (Forbidden): pods is forbidden" in ours.stderr


def test_the_stock_role_view_suffices(plane: ControlPlane) -> None:
    viewer = plane.user_kubeconfig("viewer")
    plane.kubectl("create", "rolebinding", "viewer", "-n", NAMESPACE, "--clusterrole=view", "--user=viewer")

    done = kubectl("gpu", "cost", "-n", NAMESPACE, kubeconfig=viewer)

    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 8)


def test_who_may_not_read_replica_sets_sees_costs_without_places(plane: ControlPlane) -> None:
    reader = plane.user_kubeconfig("reader")
    plane.kubectl("create", "role", "pods", "-n", NAMESPACE, "--verb=list", "--resource=pods")
    plane.kubectl("create", "rolebinding", "reader", "-n", NAMESPACE, "--role=pods", "--user=reader")

    done = kubectl("gpu", "cost", "-n", NAMESPACE, "web-hand", "--no-headers", kubeconfig=reader)

    assert done.returncode == 0
    assert done.stdout.split()[:2] + done.stdout.split()[-1:] == ["web-hand", "1000", "<none>"]
    assert done.stderr.startswith(
        "Warning: next victims are not known: Error from server (Forbidden): replicasets.apps"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--selector", "a=!"], "unable to parse requirement"),
        (["--server", "https://127.0.0.1:1"], "The connection to the server 127.0.0.1:1 was refused"),
        (["--context", "nowhere"], 'context "nowhere" does not exist'),
        (["nobody"], 'Error from server (NotFound): pods "nobody" not found'),
        (["-A", "web-hand"], "a resource cannot be retrieved by name across all namespaces"),
        (["-o", "csv"], 'unable to match a printer suitable for the output format "csv"'),
        (["--watch"], "error: unknown flag: --watch\nSee 'kubectl gpu cost --help' for usage."),
    ],
)
def test_what_cannot_be_done_is_an_error_in_kubectl_s_words(plane: ControlPlane, words: list[str], said: str) -> None:
    done = cost(plane, *words)

    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_kubectl_takes_the_plugin_without_a_warning_and_shows_its_help() -> None:
    assert kubectl("plugin", "list").stdout.splitlines()[-1] == str(BIN / "kubectl-gpu")
    assert "  cost " in kubectl("gpu").stdout
    assert "kubectl gpu cost [POD ...] [flags]" in kubectl("gpu", "cost", "--help").stdout
    assert kubectl("gpu", "nope").stderr.startswith('error: unknown command "nope" for "kubectl gpu"')


def test_the_first_of_the_list_is_the_pod_that_a_scale_down_takes(plane: ControlPlane) -> None:
    """Last here: it changes the ReplicaSet."""
    first = json.loads(cost(plane, "-o", "json").stdout)["items"][0]
    plane.kubectl("scale", "-n", NAMESPACE, "replicaset/web", "--replicas=6")
    waiting.until(lambda: len(found(plane)) == 6, "one pod gone")

    assert first["nextVictim"]
    assert first["uid"] not in {pod["metadata"]["uid"] for pod in found(plane)}
