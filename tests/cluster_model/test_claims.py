"""Resource claims: devices by class in every version's form, resolved against what stands in the same file."""

from typing import Any

import pytest

from cluster_model import claims
from cluster_model.claims import Context
from tests.cluster_model.pod_builder import pod

BY_CLAIM = {"name": "gpu", "resourceClaimName": "c"}
BY_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "t"}


def claim(*requests: Any, name: str = "c", **metadata: str) -> dict[str, Any]:
    spec = {"devices": {"requests": list(requests)}}
    return {"kind": "ResourceClaim", "metadata": {"name": name, **metadata}, "spec": spec}


def template(*requests: Any) -> dict[str, Any]:
    spec = {"spec": {"devices": {"requests": list(requests)}}}
    return {"kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": spec}


def devices(*entries: dict[str, str], beside: list[dict[str, Any]], namespace: str = "") -> dict[str, int]:
    spec = pod(resourceClaims=list(entries)).spec
    return dict(claims.devices(spec, Context.of(beside), namespace))


@pytest.mark.parametrize(
    ("request_", "counts"),
    [
        ({"deviceClassName": "gpu.nvidia.com"}, {"gpu.nvidia.com": 1}),
        ({"deviceClassName": "gpu.nvidia.com", "count": 4}, {"gpu.nvidia.com": 4}),
        ({"exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}, {"gpu.nvidia.com": 2}),
        ({"exactly": {"deviceClassName": "a", "allocationMode": "All"}}, {"a": 1}),
        (
            {"firstAvailable": [{"deviceClassName": "h100", "count": 1}, {"deviceClassName": "a100", "count": 2}]},
            {"h100": 1},
        ),
        ({"exactly": {}}, {"unknown": 1}),
        ({"deviceClassName": "a", "count": "many"}, {"a": 1}),
        ({"deviceClassName": "a", "count": -5}, {"a": 1}),
        ({"deviceClassName": "a", "count": True}, {"a": 1}),
        ("strange", {"unknown": 1}),
    ],
)
def test_a_request_is_read_in_the_form_of_every_version(request_: Any, counts: dict[str, int]) -> None:
    assert devices(BY_CLAIM, beside=[claim(request_)]) == counts
    assert devices(BY_TEMPLATE, beside=[template(request_)]) == counts


def test_the_oldest_form_names_a_class_for_the_whole_claim() -> None:
    old = {"kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {"resourceClassName": "gpu.example"}}
    assert devices(BY_CLAIM, beside=[old]) == {"gpu.example": 1}


def test_requests_add_up_by_class() -> None:
    requests = [{"deviceClassName": "mig"}, {"deviceClassName": "mig"}, {"deviceClassName": "gpu"}]
    assert devices(BY_TEMPLATE, beside=[template(*requests)]) == {"mig": 2, "gpu": 1}


def test_one_claim_named_twice_counts_once_but_a_template_makes_a_claim_each_time() -> None:
    beside = [claim({"deviceClassName": "a"}), template({"deviceClassName": "b"})]
    assert devices(BY_CLAIM, BY_CLAIM, BY_TEMPLATE, BY_TEMPLATE, beside=beside) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    "beside", [[], [claim(name="other")], [template()], [{"kind": "ResourceClaim", "metadata": 5}]]
)
def test_a_claim_that_nothing_resolves_is_one_unknown_device(beside: list[dict[str, Any]]) -> None:
    assert devices(BY_CLAIM, beside=beside) == {"unknown": 1}


def test_a_claim_of_another_namespace_does_not_resolve_it() -> None:
    beside = [claim({"deviceClassName": "a"}, namespace="elsewhere")]
    assert devices(BY_CLAIM, beside=beside, namespace="here") == {"unknown": 1}
    assert devices(BY_CLAIM, beside=beside) == {"a": 1}


def test_a_claim_without_a_namespace_stands_in_the_pods() -> None:
    assert devices(BY_CLAIM, beside=[claim({"deviceClassName": "a"})], namespace="here") == {"a": 1}


def test_device_classes_tell_which_extended_resources_they_serve() -> None:
    served = {"kind": "DeviceClass", "spec": {"extendedResourceName": "nvidia.com/gpu"}}
    beside: list[dict[str, Any]] = [
        served,
        {"kind": "DeviceClass", "spec": {"extendedResourceName": 5}},
        {"kind": "DeviceClass"},
    ]
    assert Context.of(beside).extended_names() == {"nvidia.com/gpu"}


@pytest.mark.parametrize("devices_", [None, 5, [], {"requests": 5}, {"requests": None}, {"requests": []}])
def test_a_claim_of_any_shape_is_read(devices_: Any) -> None:
    strange = {"kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": {"devices": devices_}}
    assert devices(BY_CLAIM, beside=[strange]) == {}
