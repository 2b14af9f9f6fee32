"""/validate: what is refused, with which words, and what an update may keep."""

from typing import Any

import pytest

from tests.webhook.build import COST, FRACTION, MEMORY, MODEL, Json, ask, pod, refusal, review, workload
from webhook import config as configuration

AT = "metadata.annotations"
PATHS = {
    "Deployment": "spec.template.",
    "ReplicaSet": "spec.template.",
    "StatefulSet": "spec.template.",
    "DaemonSet": "spec.template.",
    "Job": "spec.template.",
    "CronJob": "spec.jobTemplate.spec.template.",
}


def test_message_has_the_path_the_value_and_the_accepted_form() -> None:
    assert refusal(pod({FRACTION: "1.5"})) == f'{AT}[{FRACTION}]: Invalid value: "1.5": must be 0.01 to 1'


def test_refusal_is_a_422_with_reason_invalid_and_without_a_patch() -> None:
    response = ask("/validate", review(pod({FRACTION: "1.5"})))

    assert response["status"] | {"message": ""} == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "",
    }
    assert response["auditAnnotations"] == {"decision": "denied", "rule": "invalid"}
    assert "patch" not in response


@pytest.mark.parametrize(
    ("annotations", "gpus", "expected"),
    [
        ({MODEL: "H1000"}, 1, "H100"),
        ({MODEL: ""}, 1, "is not a model name"),
        ({MEMORY: "0"}, 1, "must be above zero"),
        ({MEMORY: "-5"}, 1, "must be above zero"),
        ({MEMORY: "40.5"}, 1, "must be above zero"),
        ({MODEL: "T4", MEMORY: "40Gi"}, 1, "must be at most what a listed model has"),
        ({MODEL: "A100"}, 0, "needs a container that asks for a GPU"),
        ({FRACTION: "0.001"}, 0, "must be 0.01 to 1"),
        ({FRACTION: "0.5"}, 2, "must stand with at most 1 nvidia.com/gpu"),
        ({MODEL: "A100", COST: "+5"}, 1, "must be a 32bit integer"),
        ({"scheduling.gpu/capacity": "Spot"}, 0, "must be one of: spot, on-demand, any"),
    ],
)
def test_each_rule_refuses(annotations: Json, gpus: int, expected: str) -> None:
    assert expected in refusal(pod(annotations, gpus))


@pytest.mark.parametrize(
    "annotations", [{MODEL: "A100,H100"}, {MEMORY: "40Gi"}, {FRACTION: "0.25"}, {MODEL: "A100-80GB", COST: "-50"}, {}]
)
def test_what_the_design_allows_is_allowed(annotations: Json) -> None:
    assert refusal(pod(annotations)) == ""


@pytest.mark.parametrize("kind", PATHS)
def test_template_is_judged_under_its_full_path(kind: str) -> None:
    message = refusal(workload(kind, pod({FRACTION: "2"})))

    assert message == f'{PATHS[kind]}{AT}[{FRACTION}]: Invalid value: "2": must be 0.01 to 1'


def test_several_problems_are_joined_in_brackets() -> None:
    message = refusal(pod({FRACTION: "2", MEMORY: "0"}))

    assert message.startswith(f"[{AT}[{MEMORY}]: Invalid value: ")
    assert f', {AT}[{FRACTION}]: Invalid value: "2"' in message
    assert message.endswith("]")


def test_unknown_models_can_be_allowed_or_added() -> None:
    body = pod({MODEL: "Z9"})

    assert "is not a known GPU model" in refusal(body)
    assert refusal(body, configuration.read("models: {allowUnknown: true}")) == ""
    assert refusal(body, configuration.read("models: {extra: [Z9]}")) == ""


@pytest.mark.parametrize("kind", [*PATHS, "Pod"])
def test_update_is_refused_only_for_what_is_new(kind: str) -> None:
    bad, worse = pod({FRACTION: "2"}), pod({FRACTION: "2", MEMORY: "0"})
    old, new = (body if kind == "Pod" else workload(kind, body) for body in (bad, worse))

    assert refusal(old, operation="UPDATE", old=old) == ""
    assert MEMORY in refusal(new, operation="UPDATE", old=old)
    assert FRACTION not in refusal(new, operation="UPDATE", old=old)


def test_update_to_another_bad_value_is_refused() -> None:
    assert '"3"' in refusal(pod({FRACTION: "3"}), operation="UPDATE", old=pod({FRACTION: "2"}))


def test_update_that_takes_the_gpu_away_from_an_annotation_is_refused() -> None:
    new, old = (workload("Deployment", pod({MODEL: "A100"}, gpus)) for gpus in (0, 1))

    assert "needs a container that asks for a GPU" in refusal(new, operation="UPDATE", old=old)


def test_update_without_an_old_object_is_judged_whole() -> None:
    assert FRACTION in refusal(pod({FRACTION: "2"}), operation="UPDATE", old={})


def test_update_of_an_old_object_of_wrong_types_is_judged_whole() -> None:
    assert FRACTION in refusal(pod({FRACTION: "2"}), operation="UPDATE", old={"spec": 5})


UNTYPED: list[tuple[Any, str]] = [
    ({"spec": {"containers": "x"}}, 'spec.containers: Invalid value: "x": must be a list'),
    ({"metadata": {"annotations": {"a": "", MODEL: 5}}}, f"{AT}[{MODEL}]: Invalid value: 5: must be a string"),
    ({"spec": {"containers": [{}, None]}}, "spec.containers[1]: Invalid value: None: must be an object"),
]


@pytest.mark.parametrize(("body", "message"), UNTYPED)
def test_pod_of_wrong_types_is_refused_at_its_field(body: Json, message: str) -> None:
    assert refusal({"kind": "Pod", **body}) == message


def test_template_of_wrong_types_is_refused_at_its_field() -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {"nodeName": 5}}}}
    shapeless = {"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"jobTemplate": []}}

    assert refusal(body) == "spec.template.spec.nodeName: Invalid value: 5: must be a string"
    assert refusal(shapeless) == "spec.jobTemplate: Invalid value: []: must be an object"


def test_wrong_types_can_be_let_pass_and_may_stay_in_an_update() -> None:
    body: Json = {"kind": "Pod", "spec": {"containers": "x"}}
    allowed = ask("/validate", review(body), configuration.read("validation: {unreadable: Allow}"))

    assert allowed["allowed"]
    assert allowed["warnings"] == ['spec.containers: Invalid value: "x": must be a list']
    assert refusal(body, operation="UPDATE", old=body) == ""


def test_unknown_gpu_key_warns_with_the_nearest_one() -> None:
    response = ask("/validate", review(pod({"gpu.nvidia.com/modle": "A100"})))

    assert response["allowed"]
    assert response["warnings"] == [f"{AT}[gpu.nvidia.com/modle]: unknown key, did you mean {MODEL}?"]


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet", "Job", "CronJob"])
def test_cost_where_nothing_heeds_it_warns(kind: str) -> None:
    response = ask("/validate", review(workload(kind, pod({MODEL: "A100", COST: "5"}))))

    assert response["warnings"] == [f"{PATHS[kind]}{AT}[{COST}]: has no effect on pods of a {kind}"]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_cost_where_it_is_heeded_does_not_warn(kind: str) -> None:
    assert "warnings" not in ask("/validate", review(workload(kind, pod({MODEL: "A100", COST: "5"}))))


def test_node_name_warns_when_it_is_new() -> None:
    body = pod({MODEL: "A100"}, nodeName="n1")
    created = ask("/validate", review(body))
    updated = ask("/validate", review(body, operation="UPDATE", old=body))

    assert created["warnings"] == ["spec.nodeName is set: the pod bypasses gpu-scheduler"]
    assert "warnings" not in updated


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT", ""])
def test_other_operations_are_allowed(operation: str) -> None:
    assert refusal(pod({FRACTION: "2"}), operation=operation) == ""


def test_workload_without_a_template_is_allowed() -> None:
    assert refusal({"apiVersion": "apps/v1", "kind": "Deployment", "spec": None}) == ""
