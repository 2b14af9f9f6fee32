"""What `patch pods` is worth to those who got it for the deletion cost, on a real API server."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deletion_cost import ConnectionTracker, DeletionCostReporter, ReporterSettings, writer
from deletion_cost.own_pod import OwnPod
from deletion_cost.plan import Wanted
from kube_client.client import Client
from tests.control_plane import waiting
from tests.control_plane.api import ApiError
from tests.manifests import rendering
from tests.manifests.accounts import COST, PODS, Account, api_with, cost, create, kubeconfig, token
from tests.manifests.installation import Installation

pytestmark = pytest.mark.control_plane

Json = dict[str, Any]
CONTROLLER = ("gpu-scheduler", "gpu-scheduler-deletion-cost")
ONLY = f": Forbidden: this account may change nothing but metadata.annotations[{COST}]"
OWN = "metadata.name: Forbidden: this account may change its own pod alone, and its token is bound to "


@pytest.fixture(scope="module")
def controller(installed: Installation) -> Iterator[Account]:
    """The controller's account, with a token as its own pod would have."""
    api = api_with(installed, token(installed, CONTROLLER))
    yield Account(api, "gpu-scheduler-deletion-cost", "")
    api.close()


@pytest.fixture(scope="module")
def application(installed: Installation) -> Iterator[Account]:
    """The example's account, with a token that is bound to one of its pods."""
    rights = rendering.ROOT / "examples" / "deletion-cost-application" / "rights.yaml"
    installed.plane.kubectl("apply", "-n", "default", "-f", rights)
    own = create(installed, "reporting")
    account = Account(
        api_with(installed, token(installed, ("default", "reporting"), own)),
        "gpu-scheduler-deletion-cost-reporter",
        own,
    )
    waiting.until(lambda: _in_force(account, own), "policy in force")
    yield account
    account.api.close()


def _in_force(account: Account, name: str) -> bool:
    try:
        return account.patch(name, {"metadata": {"labels": {"probe": "x"}}}) is not None
    except AssertionError:  # refused by RBAC still
        return False


NOTE = "metadata.annotations[team.example.com/note]"
CHANGES: dict[str, tuple[Json, str]] = {
    "image": ({"spec": {"containers": [{"name": "main", "image": "example.com/other:1"}]}}, "spec"),
    "tolerations": ({"spec": {"tolerations": [{"operator": "Exists"}]}}, "spec"),
    "deadline": ({"spec": {"activeDeadlineSeconds": 5}}, "spec"),
    "label": ({"metadata": {"labels": {"app": "y"}}}, "metadata.labels"),
    "label gone": ({"metadata": {"labels": {"app": None}}}, "metadata.labels"),
    "labels gone": ({"metadata": {"labels": None}}, "metadata.labels"),
    "other annotation": (
        {"metadata": {"annotations": {"team.example.com/new": "x"}}},
        "metadata.annotations[team.example.com/new]",
    ),
    "annotation changed": ({"metadata": {"annotations": {"team.example.com/note": "x"}}}, NOTE),
    "annotation gone": ({"metadata": {"annotations": {"team.example.com/note": None, COST: "5"}}}, NOTE),
    "annotations gone": ({"metadata": {"annotations": None}}, NOTE),
    "finalizer": ({"metadata": {"finalizers": ["team.example.com/mine"]}}, "metadata.finalizers"),
    "finalizers gone": ({"metadata": {"finalizers": None}}, "metadata.finalizers"),
    "owner": (
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}]}},
        "metadata.ownerReferences",
    ),
    "with the cost": ({"metadata": {"labels": {"app": "y"}, "annotations": {COST: "5"}}}, "metadata.labels"),
}
each_change = pytest.mark.parametrize("change", CHANGES)


@each_change
def test_the_controller_changes_nothing_but_the_cost(installed: Installation, controller: Account, change: str) -> None:
    body, field = CHANGES[change]
    name = create(installed)
    assert controller.patch(name, _fitting(installed, name, body)) == field + ONLY


@each_change
def test_an_application_changes_nothing_but_the_cost(
    application: Account, installed: Installation, change: str
) -> None:
    body, field = CHANGES[change]
    assert application.patch(application.own, _fitting(installed, application.own, body)) == field + ONLY


def _fitting(installed: Installation, name: str, body: Json) -> Json:
    """Containers are merged by their name, which is the test pod's; tolerations may only be added."""
    spec = installed.plane.api.get(f"{PODS}/{name}")["spec"]
    if "containers" in body.get("spec", {}):
        return {"spec": {"containers": [{**body["spec"]["containers"][0], "name": spec["containers"][0]["name"]}]}}
    if "tolerations" in body.get("spec", {}):
        return {"spec": {"tolerations": [*spec["tolerations"], *body["spec"]["tolerations"]]}}
    return body


def test_many_changes_are_told_in_short(installed: Installation, controller: Account) -> None:
    many = {"metadata": {"annotations": {f"example.com/{number}": "x" for number in range(9)}}}
    said = controller.patch(create(installed), many)
    assert said is not None
    assert said.endswith("…" + ONLY)


@pytest.mark.parametrize("value", ["-49", "1000", "0", None])
def test_the_controller_changes_the_cost_of_any_pod(
    installed: Installation, controller: Account, value: str | None
) -> None:
    name = create(installed)
    assert controller.patch(name, cost(value)) is None
    assert installed.plane.api.get(f"{PODS}/{name}")["metadata"]["annotations"].get(COST) == value


@pytest.mark.parametrize("value", ["-1000", "1000", "0", None])
def test_an_application_changes_its_own_cost(installed: Installation, application: Account, value: str | None) -> None:
    assert application.patch(application.own, cost(value)) is None
    assert installed.plane.api.get(f"{PODS}/{application.own}")["metadata"]["annotations"].get(COST) == value


@pytest.mark.parametrize("value", ["1001", "-1001", "2147483647"])
def test_an_application_cannot_outrank_everything(application: Account, value: str) -> None:
    said = application.patch(application.own, cost(value))
    assert said == f'metadata.annotations[{COST}]: Invalid value: "{value}": must be -1000 to 1000'


def test_an_application_does_not_change_another_pod(installed: Installation, application: Account) -> None:
    """Not even one of the same account."""
    said = application.patch(create(installed, "reporting"), cost("-100"))
    assert said == OWN + application.own


def test_a_token_that_is_bound_to_no_pod_changes_none(installed: Installation, application: Account) -> None:
    unbound = Account(api_with(installed, token(installed, ("default", "reporting"))), application.policy, "")
    said = unbound.patch(application.own, cost("5"))
    unbound.api.close()
    assert (
        said == "metadata.name: Forbidden: this account may change its own pod alone, and its token is bound to no pod"
    )


def test_the_application_may_do_nothing_else(application: Account) -> None:
    for path in (PODS, f"{PODS}/{application.own}"):
        with pytest.raises(ApiError) as refused:
            application.api.get(path)
        assert refused.value.status == 403
    with pytest.raises(ApiError) as refused:
        application.api.patch(f"{PODS}/{application.own}/status", cost("5"))
    assert refused.value.status == 403


@pytest.mark.parametrize(
    ("rules", "judged"),
    [
        ([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]}], False),
        ([{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}], False),
        ([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}], False),
        ([{"apiGroups": [""], "resources": ["pods"], "verbs": ["patch", "update", "report-deletion-cost"]}], False),
        ([{"apiGroups": [""], "resources": ["pods"], "verbs": ["patch", "report-deletion-cost"]}], True),
    ],
)
def test_other_accounts_are_not_judged(
    installed: Installation, application: Account, rules: list[Json], judged: bool
) -> None:
    """Operators of all kinds patch pods under rights of their own; only who was given the role's word is judged."""
    name = installed.name()
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    binding = {**role, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]}
    del binding["rules"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    installed.plane.kubectl("apply", "-n", "default", "-f", "-", input=yaml.safe_dump_all([account, role, binding]))
    other = Account(api_with(installed, token(installed, ("default", name))), application.policy, "")
    target = create(installed)
    waiting.until(lambda: _may(installed, name), "rights")

    said = other.patch(target, {"metadata": {"labels": {"app": "z"}}})

    other.api.close()
    assert (said is not None) == judged


def _may(installed: Installation, account: str) -> bool:
    attributes = {"verb": "patch", "resource": "pods", "namespace": "default"}
    review = {"spec": {"user": f"system:serviceaccount:default:{account}", "resourceAttributes": attributes}}
    answer = installed.plane.api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def test_administrators_and_controllers_are_not_judged(installed: Installation, application: Account) -> None:
    """The administrator changes what the account may not, and the garbage collector's account does its work."""
    installed.plane.api.patch(f"{PODS}/{application.own}", {"metadata": {"labels": {"by": "admin"}}})
    name = create(installed)
    installed.plane.api.patch(f"{PODS}/{name}", {"metadata": {"finalizers": None}})
    installed.plane.api.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})
    waiting.until(lambda: not installed.plane.api.ok(f"{PODS}/{name}"), "pod gone")


@pytest.mark.parametrize("policy", ["gpu-scheduler-deletion-cost", "gpu-scheduler-deletion-cost-reporter"])
def test_the_api_server_finds_nothing_wrong_with_the_expressions(installed: Installation, policy: str) -> None:
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{policy}"
    waiting.until(lambda: "typeChecking" in installed.plane.api.get(path).get("status", {}), "expressions checked")
    assert installed.plane.api.get(path)["status"]["typeChecking"] == {}


def test_the_controllers_own_write_is_allowed(installed: Installation) -> None:
    """Its patch as its writer sends it, under its account; and again to take the cost away."""
    name = create(installed)
    uid = installed.plane.api.get(f"{PODS}/{name}")["metadata"]["uid"]

    async def write(value: int | None) -> bytes:
        async with Client.connect(kubeconfig(installed, token(installed, CONTROLLER))) as client:
            return await client.request("PATCH", f"{PODS}/{name}", writer._patch(Wanted(uid, value)), writer.PATCH)

    marked, cleared = (json.loads(asyncio.run(write(value)))["metadata"] for value in (-49, None))
    assert (marked["annotations"][COST], COST in cleared["annotations"]) == ("-49", False)
    assert "gpu-scheduler-deletion-cost" in {entry["manager"] for entry in marked["managedFields"]}


def test_the_reporter_writes_its_own_pods_cost(installed: Installation, tmp_path: Path, caplog: Any) -> None:
    """The library under the example's account, with what a kubelet would mount; then as a pod that is not its own."""
    own, other = create(installed, "reporting"), create(installed, "reporting")
    (tmp_path / "token").write_text(token(installed, ("default", "reporting"), own))
    (tmp_path / "ca.crt").write_bytes(installed.plane.ca_file.read_bytes())
    port = installed.plane.url.rpartition(":")[2]
    where = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
    tracker = ConnectionTracker(shared=False)

    def report(environment: dict[str, str]) -> float:
        settings = ReporterSettings(warmup_seconds=0)
        return DeletionCostReporter(tracker, settings, find_pod=lambda: OwnPod.find(environment, tmp_path)).step()

    with tracker.request(), tracker.request(), caplog.at_level(logging.INFO):
        assert report(where) < 40
        # Refused; it asks again later, since a right may come after the pod.
        assert 40 < report({**where, "POD_NAME": other}) < 80

    written = installed.plane.api.get(f"{PODS}/{own}")["metadata"]
    assert written["annotations"][COST] == "10"
    [manager] = [entry for entry in written["managedFields"] if entry["manager"] == "deletion-cost-reporter"]
    assert COST in json.dumps(manager["fieldsV1"])
    assert "its token is bound to" in caplog.text


def test_the_applications_example_is_accepted(installed: Installation) -> None:
    example = rendering.ROOT / "examples" / "deletion-cost-application"
    installed.plane.kubectl("apply", "--dry-run=server", "-k", example)
