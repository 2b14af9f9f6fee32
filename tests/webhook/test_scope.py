"""Who is left alone, by both endpoints alike."""

from typing import Any

import pytest

from tests.webhook.build import FRACTION, Json, ask, pod, review, workload
from webhook import config as configuration

BAD = {FRACTION: "2"}


def rules(body: Json, **request: Any) -> set[str]:
    """The rules by which the two endpoints let a bad object pass unchanged."""
    responses = [ask(path, review(body, **request)) for path in ("/mutate", "/validate")]
    assert all(response["allowed"] and "patch" not in response for response in responses)
    return {response["auditAnnotations"]["rule"] for response in responses}


def owned(kind: str, controller: bool = True) -> Json:
    body = pod(BAD)
    body["metadata"]["ownerReferences"] = [{"kind": kind, "name": "o", "controller": controller}]
    return body


@pytest.mark.parametrize("namespace", ["kube-system", "kube-node-lease", "gpu-scheduler"])
def test_system_and_own_namespace(namespace: str) -> None:
    assert rules(pod(BAD), namespace=namespace) == {"excluded-namespace"}


def test_the_requests_namespace_counts_not_the_objects() -> None:
    lying = pod(BAD)
    lying["metadata"]["namespace"] = "kube-system"

    assert not ask("/validate", review(lying))["allowed"]


def test_own_namespace_is_configurable() -> None:
    config = configuration.read("{namespace: gpus, leftAlone: {namespaces: []}}")

    assert ask("/validate", review(pod(BAD), namespace="gpus"), config)["allowed"]
    assert not ask("/validate", review(pod(BAD), namespace="kube-system"), config)["allowed"]


def test_daemonset_pods() -> None:
    assert rules(owned("DaemonSet")) == {"daemonset-pod"}


@pytest.mark.parametrize("body", [owned("DaemonSet", controller=False), owned("ReplicaSet"), owned("Job")])
def test_pods_of_other_owners_are_judged(body: Json) -> None:
    assert not ask("/validate", review(body))["allowed"]


def test_mirror_pods() -> None:
    assert rules(pod({**BAD, "kubernetes.io/config.mirror": "hash"})) == {"mirror-pod"}


@pytest.mark.parametrize("spec", [{"os": {"name": "windows"}}, {"nodeSelector": {"kubernetes.io/os": "windows"}}])
def test_windows_pods(spec: Json) -> None:
    assert rules(pod(BAD, **spec)) == {"windows-pod"}


def test_pods_for_virtual_nodes() -> None:
    assert rules(pod(BAD, tolerations=[{"key": "virtual-kubelet.io/provider", "operator": "Exists"}])) == {
        "virtual-node-pod"
    }


def test_objects_that_are_being_deleted() -> None:
    body = pod(BAD)
    body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert rules(body) == {"being-deleted"}


def test_objects_that_opt_out_by_label() -> None:
    body = pod(BAD)
    body["metadata"]["labels"] = {"gpu.nvidia.com/admission": "ignore"}

    assert rules(body) == {"opted-out"}


def test_workload_opts_out_by_its_own_or_its_templates_label() -> None:
    labels = {"gpu.nvidia.com/admission": "ignore"}
    template = pod(BAD)
    template["metadata"]["labels"] = labels

    for body in (workload("Job", template), workload("Job", pod(BAD), labels=labels)):
        assert ask("/validate", review(body))["auditAnnotations"]["rule"] == "opted-out"


def test_replicasets_with_an_owner() -> None:
    owner = [{"kind": "Deployment", "name": "d", "controller": True}]
    response = ask("/validate", review(workload("ReplicaSet", pod(BAD), ownerReferences=owner)))

    assert response["auditAnnotations"]["rule"] == "owned-replicaset"


@pytest.mark.parametrize("subresource", ["status", "ephemeralcontainers", "binding", "resize", "eviction"])
def test_subresources(subresource: str) -> None:
    assert rules(pod(BAD), subResource=subresource) == {"subresource"}


def test_unrelated_kinds_and_same_named_kinds_of_other_groups() -> None:
    knative = {"apiVersion": "serving.example.com/v1", "kind": "Deployment", "spec": {"template": pod(BAD)}}

    assert rules(knative) == {"unrelated-kind"}
    assert rules({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}) == {"unrelated-kind"}


@pytest.mark.parametrize("nothing", [None, {}, [], "pod", 5])
def test_requests_without_an_object(nothing: Any) -> None:
    body = review(pod())
    body["request"]["object"] = nothing

    for path in ("/mutate", "/validate"):
        assert ask(path, body)["auditAnnotations"]["rule"] == "no-object"


@pytest.mark.parametrize("shape", [None, 5, "x", [], [5], {"a": 5}])
def test_any_shape_of_the_looked_at_fields_is_survived(shape: Any) -> None:
    body = pod(BAD, os=shape, nodeSelector=shape, tolerations=shape)
    body["metadata"] |= {"labels": shape, "ownerReferences": shape, "annotations": shape}

    for path in ("/mutate", "/validate"):
        assert ask(path, review(body))["auditAnnotations"]["rule"] != "failed"
