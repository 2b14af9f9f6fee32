"""The one parser: GPUs, annotations, host ports, problems and unsupported constraints of a whole pod."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import objects, request
from cluster_model.request import HostPort, ModelRequest
from tests.cluster_model.pod_builder import GPU, limits, pod

MODEL, MEMORY, FRACTION = "gpu.nvidia.com/model", "gpu.nvidia.com/memory", "gpu.nvidia.com/fraction"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def test_a_whole_gpu_request_is_read_with_its_annotations() -> None:
    gpu = request.parse(pod(limits(gpu="2"), annotations={MODEL: "A100-80GB,H100", MEMORY: "40Gi"})).gpu
    assert (gpu.units, gpu.memory_mib, gpu.asks, gpu.annotated) == (2, 40960, True, True)
    assert gpu.models == (ModelRequest("A100", 81920), ModelRequest("H100"))


def test_a_plain_pod_asks_for_nothing_special() -> None:
    found = request.parse(pod(limits(cpu="1")))
    assert found.gpu == request.GpuRequest()
    assert (found.problems, found.unsupported, found.warnings, found.host_ports) == ((), (), (), frozenset())


@pytest.mark.parametrize(
    ("spec", "annotations", "asks"),
    [
        ({"containers": [limits(gpu="1")]}, {}, True),
        ({"containers": [limits(gpu="0")]}, {}, False),
        ({"initContainers": [limits(gpu="1")]}, {}, True),
        ({"containers": [limits(**{"nvidia.com/mig-1g.5gb": "1"})]}, {}, True),
        ({"containers": [limits(**{"amd.com/gpu": "1"})]}, {}, False),
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]}, {}, True),
        ({}, {FRACTION: "0.5"}, True),
        ({}, {MODEL: "A100"}, False),
    ],
)
def test_who_asks_for_a_gpu(spec: dict[str, Any], annotations: dict[str, str], asks: bool) -> None:
    document = {"metadata": {"annotations": annotations}, "spec": spec}
    assert request.parse(msgspec.convert(document, objects.Pod)).gpu.asks is asks


@pytest.mark.parametrize(
    ("text", "milli"), [("0.5", 500), ("0.01", 10), ("0.015", 15), ("0.0151", 16), ("1", 1000), ("0.29", 290)]
)
def test_a_fraction_in_thousandths_is_rounded_up(text: str, milli: int) -> None:
    assert request.parse(pod(annotations={FRACTION: text})).gpu.fraction_milli == milli


def test_a_pod_without_a_fraction_has_no_thousandths() -> None:
    assert request.parse(pod(limits(gpu="1"))).gpu.fraction_milli is None


def test_two_containers_with_a_gpu_each_are_more_than_a_fraction_may_stand_with() -> None:
    (problem,) = request.parse(pod(limits(gpu="1"), limits(gpu="1"), annotations={FRACTION: "0.5"})).problems
    assert str(problem).endswith("must stand with at most 1 nvidia.com/gpu, the pod asks for 2")


def test_problems_of_amounts_annotations_and_deletion_cost_are_all_found_under_the_templates_path() -> None:
    annotations = {MEMORY: "0", "controller.kubernetes.io/pod-deletion-cost": "+5"}
    problems = request.parse(pod(limits(gpu="x"), annotations=annotations), at="spec.template").problems
    assert [problem.path for problem in problems] == [
        f"spec.template.spec.containers[0].resources.limits[{GPU}]",
        f"spec.template.metadata.annotations[{MEMORY}]",
        f"spec.template.metadata.annotations[{MEMORY}]",
        "spec.template.metadata.annotations[controller.kubernetes.io/pod-deletion-cost]",
    ]


def test_host_ports_are_those_of_running_containers_with_the_api_servers_defaults() -> None:
    taken = {"containerPort": 80, "hostPort": 8080}
    sidecar = {
        "restartPolicy": "Always",
        "ports": [{"containerPort": 1, "hostPort": 9, "protocol": "UDP", "hostIP": "::1"}],
    }
    found = request.parse(pod({"ports": [taken, {"containerPort": 81}]}, initContainers=[sidecar, {"ports": [taken]}]))
    assert found.host_ports == {HostPort("TCP", "0.0.0.0", 8080), HostPort("UDP", "::1", 9)}


def test_on_the_host_network_every_container_port_is_a_host_port() -> None:
    found = request.parse(pod({"ports": [{"containerPort": 80}]}, hostNetwork=True))
    assert found.host_ports == {HostPort("TCP", "0.0.0.0", 80)}


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"resourceClaims": [{"name": "a"}, {"name": "b"}]}, ["spec.resourceClaims[0]", "spec.resourceClaims[1]"]),
        ({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}, []),
        ({"affinity": {"podAffinity": {REQUIRED: [{}]}, "podAntiAffinity": {REQUIRED: [{}]}}}, []),
        ({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}}, []),
        ({"volumes": [{"name": "a"}, {"persistentVolumeClaim": {"claimName": "c"}}, {"ephemeral": {}}]}, []),
        ({"nodeSelector": {"a": "b"}, "schedulingGates": [{"name": "g"}]}, []),
    ],
)
def test_hard_constraints_without_a_plugin_are_named_by_their_path(spec: dict[str, Any], paths: list[str]) -> None:
    assert list(request.parse(pod(**spec)).unsupported) == paths


def test_a_fraction_is_not_supported_yet_even_a_malformed_one() -> None:
    assert request.parse(pod(annotations={FRACTION: "x"})).unsupported == (f"metadata.annotations[{FRACTION}]",)


def test_the_resources_of_a_request_cannot_be_changed() -> None:
    resources: Any = request.parse(pod(limits(gpu="1"))).resources
    with pytest.raises(TypeError):
        resources[GPU] = 2


@given(
    st.dictionaries(st.sampled_from([MODEL, MEMORY, FRACTION, "other"]) | st.text(), st.text()),
    st.dictionaries(
        st.sampled_from([GPU, "cpu", "nvidia.com/mig-1g.5gb"]) | st.text(), st.text() | st.integers() | st.floats()
    ),
)
def test_no_content_of_a_pod_raises(annotations: dict[str, str], amounts: dict[str, Any]) -> None:
    container = objects.Container(name="c", resources=objects.ResourceRequirements(limits=amounts))
    raw = objects.Pod(
        metadata=objects.ObjectMeta(annotations=annotations), spec=objects.PodSpec(containers=(container,))
    )
    assert all(n >= 0 for n in request.parse(raw).resources.values())
