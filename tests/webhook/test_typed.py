"""Raw JSON into typed structs: nulls are absent, wrong types are named by their field."""

from typing import Any

import pytest

from cluster_model.verdict import BadRequest
from tests.webhook.build import pod
from webhook import typed

Json = dict[str, Any]


def refusal(raw: Json, at: str = "") -> str:
    with pytest.raises(BadRequest) as caught:
        typed.read(raw, at)
    (problem,) = caught.value.problems
    return str(problem)


def test_null_reads_as_absent() -> None:
    raw = {"metadata": {"creationTimestamp": None, "labels": None, "annotations": {"a": None}}, "spec": {"os": None}}

    assert typed.read(raw) == typed.read({"metadata": {}, "spec": {}})


def test_unknown_fields_do_no_harm_and_the_raw_pod_is_not_changed() -> None:
    raw = pod(newField={"a": [None, {"b": None}]})
    before = repr(raw)

    typed.read(raw)

    assert repr(raw) == before


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"metadata": 5}, "metadata: Invalid value: 5: must be an object"),
        ({"spec": {"hostNetwork": "yes"}}, 'spec.hostNetwork: Invalid value: "yes": must be true or false'),
        ({"spec": {"priority": 1.5}}, "spec.priority: Invalid value: 1.5: must be an integer"),
        ({"spec": {"tolerations": [{}, {"key": []}]}}, "spec.tolerations[1].key: Invalid value: []: must be a string"),
        (
            {"metadata": {"annotations": {"good": "x", "a.b/c[0]": 5}}},
            "metadata.annotations[a.b/c[0]]: Invalid value: 5: must be a string",
        ),
        (
            {"spec": {"containers": [{"resources": {"limits": {"cpu": 1, "nvidia.com/gpu": True}}}]}},
            "spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: True: "
            "must be an integer or a number or a string",
        ),
    ],
)
def test_wrong_type_is_named_by_its_field(raw: Json, message: str) -> None:
    assert refusal(raw) == message


def test_path_of_a_template_is_prefixed() -> None:
    assert refusal({"spec": {"nodeName": 5}}, "spec.template").startswith("spec.template.spec.nodeName: ")


def test_nesting_too_deep_to_walk_is_refused() -> None:
    deep: Any = 1
    for _ in range(3000):
        deep = {"a": deep}

    assert typed.read({"spec": {"x": deep}}) == typed.read({})
    assert (
        refusal({"metadata": {"name": None}, "spec": {"x": deep}})
        == 'spec: Invalid value: "…": must not be nested that deep'
    )
