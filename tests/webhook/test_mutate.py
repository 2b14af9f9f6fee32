"""/mutate: which pods are changed, and how."""

from typing import Any

import pytest

from tests.webhook.build import COST, MODEL, Json, ask, mutated, patch, pod, review, workload
from webhook import config as configuration
from webhook.config import Config

EVERY_GPU_POD = configuration.read("scope: gpu")


def test_gpu_annotated_pod_goes_to_our_scheduler_with_the_initial_cost() -> None:
    changed = mutated(pod({MODEL: "A100"}))

    assert changed["spec"]["schedulerName"] == "gpu-scheduler"
    assert changed["metadata"]["annotations"] == {MODEL: "A100", COST: "-50"}


def test_patch_tests_the_default_it_replaces_and_escapes_the_key() -> None:
    operations = patch(ask("/mutate", review(pod({MODEL: "A100"}))))

    assert operations == [
        {"op": "test", "path": "/spec/schedulerName", "value": "default-scheduler"},
        {"op": "add", "path": "/spec/schedulerName", "value": "gpu-scheduler"},
        {"op": "add", "path": "/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost", "value": "-50"},
    ]


@pytest.mark.parametrize("current", [None, ""])
def test_absent_scheduler_name_is_filled_without_a_test(current: str | None) -> None:
    body = pod({MODEL: "A100"}, schedulerName=current)

    assert mutated(body)["spec"]["schedulerName"] == "gpu-scheduler"
    assert [step["op"] for step in patch(ask("/mutate", review(body)))] == ["add", "add"]


@pytest.mark.parametrize("annotations", [None, {}, {"a/b~c": "x"}])
def test_wider_scope_takes_pods_without_annotations(annotations: Json | None) -> None:
    changed = mutated(pod(annotations), EVERY_GPU_POD)

    assert changed["spec"]["schedulerName"] == "gpu-scheduler"
    assert changed["metadata"]["annotations"] == {**(annotations or {}), COST: "-50"}


def test_null_annotations_are_replaced_by_a_map() -> None:
    body = pod()
    body["metadata"]["annotations"] = None

    assert mutated(body, EVERY_GPU_POD)["metadata"]["annotations"] == {COST: "-50"}


@pytest.mark.parametrize("scope", ["annotated", "gpu"])
def test_second_run_on_own_output_yields_no_patch_and_no_second_audit_trace(scope: str) -> None:
    config = configuration.read(f"scope: {scope}")
    again = ask("/mutate", review(mutated(pod({MODEL: "A100"}), config)), config)

    assert again == {"uid": again["uid"], "allowed": True}


def test_run_after_a_foreign_webhook_appended_a_container_changes_nothing() -> None:
    changed = mutated(pod({MODEL: "A100"}))
    changed["spec"]["containers"].append({"name": "proxy", "resources": {}})

    assert patch(ask("/mutate", review(changed))) == []


@pytest.mark.parametrize("cost", ["7", "0", "", "+5", "nonsense"])
def test_cost_that_is_there_is_kept_even_where_the_api_server_will_refuse_it(cost: str) -> None:
    assert mutated(pod({MODEL: "A100", COST: cost}))["metadata"]["annotations"][COST] == cost


def test_cost_is_configurable_and_can_be_left_out() -> None:
    assert mutated(pod({MODEL: "A100"}), Config(initial_deletion_cost=7))["metadata"]["annotations"][COST] == "7"
    assert COST not in mutated(pod({MODEL: "A100"}), Config(initial_deletion_cost=None))["metadata"]["annotations"]


def test_another_schedulers_pod_is_left_alone_with_a_warning() -> None:
    response = ask("/mutate", review(pod({MODEL: "A100"}, schedulerName="volcano")))

    assert patch(response) == []
    assert response["warnings"] == ["spec.schedulerName names another scheduler: not sent to gpu-scheduler"]


def test_pod_with_a_node_already_is_left_alone_with_a_warning() -> None:
    response = ask("/mutate", review(pod({MODEL: "A100"}, nodeName="n1")))

    assert patch(response) == []
    assert response["warnings"] == ["spec.nodeName is set: the pod bypasses gpu-scheduler"]


def test_pod_that_only_asks_for_a_gpu_is_not_annotated() -> None:
    assert ask("/mutate", review(pod()))["auditAnnotations"] == {"decision": "allowed", "rule": "not-annotated"}


def test_pod_without_gpu_is_outside_even_the_wider_scope() -> None:
    assert ask("/mutate", review(pod(gpus=0)), EVERY_GPU_POD)["auditAnnotations"]["rule"] == "no-gpu"


def test_invalid_gpu_annotation_is_left_to_validate() -> None:
    assert mutated(pod({MODEL: "A1000"}))["spec"]["schedulerName"] == "gpu-scheduler"


@pytest.mark.parametrize("operation", ["UPDATE", "DELETE", "CONNECT", ""])
def test_only_creation_is_looked_at(operation: str) -> None:
    assert patch(ask("/mutate", review(pod({MODEL: "A100"}), operation=operation))) == []


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "Job", "CronJob"])
def test_workloads_are_never_changed(kind: str) -> None:
    assert patch(ask("/mutate", review(workload(kind, pod({MODEL: "A100"}))))) == []


def test_dry_run_is_answered_alike() -> None:
    wet, dry = (ask("/mutate", review(pod({MODEL: "A100"}), dryRun=flag)) for flag in (False, True))

    assert wet == dry


UNTYPED: list[tuple[Any, str]] = [
    ({"spec": {"containers": "x"}}, "spec.containers"),
    ({"metadata": {"annotations": {MODEL: 5}}, "spec": {}}, "metadata.annotations[gpu.nvidia.com/model]"),
    ({"metadata": []}, "metadata"),
]


@pytest.mark.parametrize(("body", "path"), UNTYPED)
def test_pod_of_wrong_types_passes_unchanged_with_a_warning(body: Json, path: str) -> None:
    response = ask("/mutate", review({"kind": "Pod", **body}))

    assert response["allowed"]
    assert response["warnings"][0].startswith(f"not changed for gpu-scheduler: {path}: Invalid value: ")
    assert "patch" not in response


def test_patch_that_does_not_apply_never_leaves() -> None:
    body = pod(None)
    del body["metadata"]

    response = ask("/mutate", review(body), EVERY_GPU_POD)

    assert response["auditAnnotations"]["rule"] == "patch-failed"
    assert "patch" not in response
    assert "the patch does not apply" in response["warnings"][0]
