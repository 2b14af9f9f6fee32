"""Finding the pod in any workload, and reading hand-written documents without ever crashing on them."""

from typing import Any

import pytest

from cluster_model import workload
from cluster_model.verdict import BadRequest

SPEC: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"annotations": {"a": "b"}}, "spec": SPEC}
KINDS = sorted(workload.TEMPLATE_PATHS)


def placed(kind: str, template: Any) -> dict[str, Any]:
    document = template
    for step in reversed([step for step in workload.TEMPLATE_PATHS.get(kind, "spec.template").split(".") if step]):
        document = {step: document}
    return {**document, "kind": kind}


def refusal(document: dict[str, Any]) -> str:
    with pytest.raises(BadRequest) as caught:
        workload.find(document)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_the_pod_is_found_in_every_kind_of_workload(kind: str) -> None:
    found = workload.find(placed(kind, TEMPLATE))
    assert (found.kind, found.at, found.notes) == (kind, workload.TEMPLATE_PATHS[kind], ())
    assert (found.pod.metadata.annotations, found.pod.spec.containers[0].image) == ({"a": "b"}, "i")


@pytest.mark.parametrize("kind", ["Rollout", "Service", "Notebook"])
def test_another_kind_with_one_template_at_the_usual_place_is_read_too(kind: str) -> None:
    assert workload.find(placed(kind, TEMPLATE)).at == "spec.template"


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "Service", "spec": {"ports": []}},
        {"kind": "ConfigMap", "data": {}},
        {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Master": {"template": TEMPLATE}}}},
        {"kind": "ResourceClaimTemplate", "spec": {"spec": {"devices": {}}}},
    ],
)
def test_an_object_without_exactly_one_pod_template_is_refused_by_its_kind(document: dict[str, Any]) -> None:
    kind = document["kind"]
    assert refusal(document).startswith(f'kind: Invalid value: "{kind}": must be a kind with one pod template: Pod,')


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"kind": "Pod"}, "spec"),
        ({"kind": "Pod", "spec": None}, "spec"),
        ({"kind": "Pod", "spec": []}, "spec"),
        ({"kind": "Deployment", "spec": {"template": {"spec": "x"}}}, "spec.template.spec"),
        ({"kind": "Deployment", "spec": {"template": []}}, "spec.template.spec"),
        ({"kind": "CronJob", "spec": {"jobTemplate": 5}}, "spec.jobTemplate.spec.template.spec"),
    ],
)
def test_a_workload_whose_template_is_missing_is_refused_with_its_path(document: dict[str, Any], path: str) -> None:
    assert refusal(document).startswith(f"{path}: Invalid value: ")


def test_a_refusal_names_what_was_found_in_the_words_of_json() -> None:
    assert refusal({"kind": "Pod"}) == 'spec: Invalid value: "null": must be a pod\'s spec'
    with pytest.raises(BadRequest, match='document: Invalid value: "string": must be a mapping'):
        workload.flatten(["text"])


def test_a_document_without_a_kind_is_taken_for_a_pod() -> None:
    assert workload.find({"spec": SPEC}).kind == "Pod"


def test_lists_are_taken_apart_and_typed_items_get_their_kind() -> None:
    pods = {"kind": "PodList", "items": [{"spec": SPEC}]}
    found = workload.flatten([None, {"kind": "List", "items": [{"kind": "Job"}, pods, None]}])
    assert [one["kind"] for one in found] == ["Job", "Pod"]


@pytest.mark.parametrize("document", ["text", 5, [], ["a"], True])
def test_a_document_that_is_no_mapping_is_refused(document: Any) -> None:
    with pytest.raises(BadRequest, match=r"document: Invalid value: .* must be a mapping"):
        workload.flatten([document])


def test_lists_in_lists_without_end_are_refused() -> None:
    endless: dict[str, Any] = {"kind": "List", "items": []}
    endless["items"].append(endless)
    with pytest.raises(BadRequest, match="nested too deeply"):
        workload.flatten([endless])


def test_claim_references_of_old_versions_are_read_and_noted() -> None:
    old = {"name": "gpu", "source": {"resourceClaimName": "x"}}
    found = workload.find({"kind": "Pod", "spec": {**SPEC, "resourceClaims": [old, "strange", {"source": 5}]}})
    assert found.pod.spec.resource_claims[0].resource_claim_name == "x"
    assert "api-rejects: spec.resourceClaims[0].source is gone since Kubernetes 1.31" in found.notes


def test_notes_stand_under_the_templates_path() -> None:
    document = placed("Deployment", {"metadata": {"annotations": {"a": 5}}, "spec": SPEC})
    assert workload.find(document).notes == ("api-rejects: spec.template.metadata.annotations[a] must be a string",)
