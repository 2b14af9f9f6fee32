"""RBAC on a real API server: each ServiceAccount may do what it must, and in a list of everything nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.control_plane.api import Api, ApiError
from tests.manifests.installation import Installation
from tests.manifests.objects import pod, wrap
from tests.manifests.rendering import overlay, pods

pytestmark = pytest.mark.control_plane

OURS, OTHER = "gpu-scheduler", "default"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


@dataclass(frozen=True, slots=True)
class Right:
    """One answer of the API server; `name` is the object's, or `*` where it does not matter."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = OTHER
    name: str = "*"


def rights(verbs: str, resource: str, group: str = "", namespaces: tuple[str, ...] = (OURS, OTHER)) -> set[Right]:
    return {Right(verb, resource, group, place) for verb in verbs.split() for place in namespaces}


SCHEDULER = (
    rights("get list watch", "nodes")
    | rights("get list watch delete", "pods")
    | rights("get list watch", "poddisruptionbudgets", "policy")
    | rights("get list watch", "namespaces")
    | rights("get list watch", "services")
    | rights("get list watch", "replicationcontrollers")
    | rights("get list watch", "replicasets", "apps")
    | rights("get list watch", "statefulsets", "apps")
    | rights("get list watch patch", "persistentvolumes")
    | rights("get list watch patch", "persistentvolumeclaims")
    | rights("get list watch", "storageclasses", "storage.k8s.io")
    | rights("get list watch", "csinodes", "storage.k8s.io")
    | rights("get list watch", "csidrivers", "storage.k8s.io")
    | rights("get list watch", "csistoragecapacities", "storage.k8s.io")
    | rights("get list watch", "volumeattachments", "storage.k8s.io")
    | rights("create", "pods/binding")
    | rights("patch", "pods/status")
    | rights("create patch", "events", "events.k8s.io")
    | rights("create", "leases", "coordination.k8s.io", (OURS,))
)
# metrics.k8s.io is not served here, so nothing of it is asked.
DELETION_COST = (
    rights("list watch patch", "pods")
    | rights("list watch", "namespaces")
    | rights("list watch", "replicasets", "apps")
    | rights("list watch", "horizontalpodautoscalers", "autoscaling")
    | rights("create patch", "events", "events.k8s.io")
    | rights("create", "leases", "coordination.k8s.io", (OURS,))
)
CERTS = rights("create", "secrets", "", (OURS,))
EXPECTED = {
    "gpu-scheduler": SCHEDULER,
    "gpu-scheduler-certs": CERTS,
    "gpu-scheduler-deletion-cost": DELETION_COST,
    "gpu-scheduler-webhook": set[Right](),
}


def user(account: str) -> str:
    return f"system:serviceaccount:{OURS}:{account}"


def may(installed: Installation, account: str, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": right.namespace,
        "name": "" if right.name == "*" else right.name,
    }
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{OURS}", "system:authenticated"]
    review = {"spec": {"user": user(account), "groups": groups, "resourceAttributes": attributes}}
    answer = installed.plane.api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def everything(installed: Installation) -> Iterator[Right]:
    """Each verb on each resource and subresource that the API server serves, here and in another namespace."""
    api = installed.plane.api
    groups = [group["preferredVersion"]["groupVersion"] for group in api.get("/apis")["groups"]]
    for path, group in [("/api/v1", ""), *((f"/apis/{version}", version.split("/")[0]) for version in groups)]:
        for resource in api.get(path)["resources"]:
            yield from rights(" ".join(VERBS), resource["name"], group)


def allowed(installed: Installation, account: str) -> set[Right]:
    asked = list(everything(installed))
    assert len(asked) > 1000
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda right: may(installed, account, right), asked)
        return {right for right, yes in zip(asked, answers, strict=True) if yes}


@pytest.fixture(scope="module")
def everybody(installed: Installation) -> set[Right]:
    """What a ServiceAccount without any role may do: ask about itself, and the like."""
    return allowed(installed, "default")


@pytest.mark.parametrize("account", EXPECTED)
def test_account_may_do_nothing_else(installed: Installation, everybody: set[Right], account: str) -> None:
    """Asked about every verb on every resource, without a name."""
    assert allowed(installed, account) - everybody == EXPECTED[account]


@pytest.mark.parametrize(
    ("account", "verbs", "resource", "group", "namespace", "name"),
    [
        ("gpu-scheduler", "get update", "leases", "coordination.k8s.io", OURS, "gpu-scheduler"),
        (
            *("gpu-scheduler-deletion-cost", "get update", "leases"),
            *("coordination.k8s.io", OURS, "gpu-scheduler-deletion-cost"),
        ),
        ("gpu-scheduler-certs", "get update", "secrets", "", OURS, "gpu-scheduler-webhook-tls"),
        (
            *("gpu-scheduler-certs", "get patch", "mutatingwebhookconfigurations"),
            *("admissionregistration.k8s.io", "", "gpu-scheduler"),
        ),
        (
            *("gpu-scheduler-certs", "get patch", "validatingwebhookconfigurations"),
            *("admissionregistration.k8s.io", "", "gpu-scheduler"),
        ),
    ],
)
def test_named_objects_are_the_only_ones(
    installed: Installation, account: str, verbs: str, resource: str, group: str, namespace: str, name: str
) -> None:
    for verb in VERBS:
        right = Right(verb, resource, group, namespace, name)
        other = Right(verb, resource, group, namespace, "other")
        assert may(installed, account, right) == (
            verb in verbs.split() or right_without_name(right) in EXPECTED[account]
        )
        assert may(installed, account, other) == (right_without_name(right) in EXPECTED[account])


def right_without_name(right: Right) -> Right:
    return Right(right.verb, right.resource, right.group, right.namespace)


def test_scheduler_can_do_its_work(installed: Installation) -> None:
    """With its own token, the calls of one cycle and of the election."""
    api, admin = Api(installed.plane.service_account_kubeconfig(OURS, "gpu-scheduler")), installed.plane.api
    name, collection = installed.name(), "/api/v1/namespaces/default/pods"
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{OURS}/leases"
    admin.post(collection, wrap("Pod", name, pod()))

    api.get("/api/v1/nodes", limit="1")
    api.get("/api/v1/pods", limit="1")
    api.patch(f"{collection}/{name}/status", {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}})
    api.post(f"{collection}/{name}/binding", {"metadata": {"name": name}, "target": {"kind": "Node", "name": "node-1"}})
    assert admin.get(f"{collection}/{name}")["spec"]["nodeName"] == "node-1"
    lease = api.post(leases, {"metadata": {"name": "gpu-scheduler"}, "spec": {"holderIdentity": "me"}})
    api.put(f"{leases}/gpu-scheduler", lease)
    admin.delete(f"{leases}/gpu-scheduler")
    api.close()


def test_install_job_can_do_its_work(installed: Installation) -> None:
    """Its own arguments under its own token: first it issues and publishes, then all is in order."""
    [args] = [spec["containers"][0]["args"] for kind, spec in pods(overlay("eks")) if kind == "Job"]
    token = installed.plane.service_account_kubeconfig(OURS, "gpu-scheduler-certs")
    command = [Path(sys.executable).with_name("gpu-scheduler"), *args, f"--kubeconfig={token}"]
    before = installed.ca_bundles()

    first, second = (subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2))

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    keys = installed.plane.api.get(f"/api/v1/namespaces/{OURS}/secrets/gpu-scheduler-webhook-tls")["data"]
    assert {"tls.crt", "tls.key", "ca.crt"} <= set(keys)
    assert set(installed.ca_bundles()) == {keys["ca.crt"]} != set(before)
    assert "stored" in first.stderr
    assert "stored" not in second.stderr


def test_webhook_account_is_refused_everything(installed: Installation) -> None:
    api = Api(installed.plane.service_account_kubeconfig(OURS, "gpu-scheduler-webhook"))

    for path in (f"/api/v1/namespaces/{OURS}/secrets", "/api/v1/pods", "/api/v1/nodes"):
        with pytest.raises(ApiError) as refused:
            api.get(path)
        assert refused.value.status == 403
    api.close()
