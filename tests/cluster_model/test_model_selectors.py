"""What required node selectors say about GPUs, over the label families of real clusters."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import instance_table, model_selectors
from cluster_model.gpu_names import Sharing
from cluster_model.model_selectors import Limits
from tests.cluster_model.pod_builder import pod

PRODUCT, MEMORY, CLASS = "nvidia.com/gpu.product", "nvidia.com/gpu.memory", "gpu.nvidia.com/class"
INSTANCE, GKE = "node.kubernetes.io/instance-type", "cloud.google.com/gke-accelerator"
Expression = tuple[Any, ...]  # key, operator, values


def term(*expressions: Expression) -> dict[str, Any]:
    return {
        "matchExpressions": [{"key": key, "operator": op, "values": list(values)} for key, op, *values in expressions]
    }


def read(*terms: dict[str, Any], selector: dict[str, str] | None = None) -> Limits:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}} if terms else {}
    return model_selectors.read(pod(nodeSelector=selector or {}, affinity={"nodeAffinity": required}).spec)


def models(*expressions: Expression) -> list[str] | None:
    found = read(term(*expressions)).models
    return None if found is None else sorted(found)


@pytest.mark.parametrize(
    ("key", "value", "model"),
    [
        (PRODUCT, "NVIDIA-H100-80GB-HBM3", "H100"),
        (PRODUCT, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "A100"),
        (PRODUCT, "Tesla-T4-SHARED", "T4"),
        ("gpu.nvidia.com/model", "A100_NVLINK_80GB", "A100"),
        (CLASS, "Quadro_RTX_5000", "RTX-5000"),
        (GKE, "nvidia-tesla-t4", "T4"),
        (GKE, "nvidia-h100-mega-80gb", "H100"),
        ("eks.amazonaws.com/instance-gpu-name", "l40s", "L40S"),
        ("karpenter.k8s.aws/instance-gpu-name", "a10g", "A10G"),
        ("karpenter.azure.com/sku-gpu-name", "V100", "V100"),
        ("k8s.amazonaws.com/accelerator", "nvidia-tesla-k80", "K80"),
        ("skypilot.co/accelerator", "h100", "H100"),
        ("accelerator", "nvidia-tesla-p100", "P100"),
        ("nvidia.com/mig-1g.5gb.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "A100"),
        (INSTANCE, "g6e.12xlarge", "L40S"),
        (INSTANCE, "ml.p5.48xlarge", "H100"),
        (INSTANCE, "standard_nc4as_t4_v3", "T4"),
        (INSTANCE, "BM.GPU.H100.8", "H100"),
        ("beta.kubernetes.io/instance-type", "p4d.24xlarge", "A100"),
    ],
)
def test_every_label_family_names_the_model_in_selector_and_affinity_alike(key: str, value: str, model: str) -> None:
    assert read(selector={key: value}).models == frozenset({model})
    assert models((key, "In", value)) == [model]


def test_every_gpu_instance_type_limits_to_its_model() -> None:
    for name, instance in instance_table.table().items():
        assert read(selector={INSTANCE: name}).models == frozenset({instance.model})


@pytest.mark.parametrize("operator", ["In", "Exists", "Gt"])
def test_a_model_in_the_key_itself_limits_when_the_label_must_be_there(operator: str) -> None:
    key = "akash.network/capabilities.gpu.vendor.nvidia.model.h100.ram.80Gi"
    assert models((key, operator, "1")) == ["H100"]
    assert models((key, "DoesNotExist")) is None


@pytest.mark.parametrize(
    ("key", "value", "strange"),
    [
        ("kubernetes.azure.com/accelerator", "nvidia", False),
        ("accelerator", "nvidia", True),
        (CLASS, "professional", True),
        (INSTANCE, "m5.large", False),
        ("nvidia.com/gpu", "true", False),
        ("cloud.google.com/gke-tpu-accelerator", "tpu-v5-lite-podslice", False),
        ("nvidia.com/gpu.family", "hopper", False),
    ],
)
def test_a_value_that_names_no_model_does_not_limit(key: str, value: str, strange: bool) -> None:
    found = read(selector={key: value})
    assert (found.models, found.strange) == (None, (f"{key}={value}",) if strange else ())


def test_of_a_list_the_known_models_count() -> None:
    assert models((PRODUCT, "In", "NVIDIA-H100-80GB-HBM3", "NVIDIA-H200", "Something")) == ["H100", "H200"]


def test_alternatives_are_joined_and_one_without_a_model_lifts_the_limit() -> None:
    h100, t4 = term((PRODUCT, "In", "NVIDIA-H100-PCIe")), term((GKE, "In", "nvidia-tesla-t4"))
    assert read(h100, t4).models == frozenset({"H100", "T4"})
    assert read(h100, t4, term(("zone", "In", "a"))).models is None


def test_conditions_that_must_all_hold_are_intersected_across_label_families() -> None:
    assert models((PRODUCT, "In", "NVIDIA-A100-SXM4-40GB", "NVIDIA-H100-PCIe"), (INSTANCE, "In", "p5.48xlarge")) == [
        "H100"
    ]
    assert read(term((CLASS, "In", "A40", "H100")), selector={GKE: "nvidia-h100-80gb"}).models == frozenset({"H100"})


def test_a_contradictory_alternative_is_dropped_and_only_contradictions_leave_no_model() -> None:
    impossible = term((PRODUCT, "In", "NVIDIA-A40"), (CLASS, "In", "H100"))
    assert read(impossible, term((CLASS, "In", "T4"))).models == frozenset({"T4"})
    assert read(impossible).models == frozenset()
    assert read(term((CLASS, "In", "T4"), (CLASS, "In", "A40"))).models == frozenset()


def test_an_excluded_value_is_taken_from_the_list_and_alone_limits_nothing() -> None:
    assert models((PRODUCT, "NotIn", "Tesla-T4"), (PRODUCT, "In", "Tesla-T4", "NVIDIA-A40")) == ["A40"]
    assert models((PRODUCT, "NotIn", "Tesla-T4")) is None


def test_an_empty_term_matches_no_node_and_so_adds_no_alternative() -> None:
    assert read({}, term((CLASS, "In", "T4"))).models == frozenset({"T4"})


def test_preferences_never_limit() -> None:
    preferred = [{"weight": 1, "preference": term((CLASS, "In", "T4"))}]
    spec = pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}).spec
    assert model_selectors.read(spec) == Limits()


@pytest.mark.parametrize(
    ("expression", "mib"),
    [
        ((MEMORY, "Gt", "70000"), 70001),
        (("gpu.nvidia.com/memory", "Gt", "40959"), 40960),
        (("karpenter.k8s.aws/instance-gpu-memory", "Gt", "20000"), 20001),
        (("eks.amazonaws.com/instance-gpu-memory", "In", "81920"), 81920),
        ((MEMORY, "In", "81559", "40960"), 40960),
        (("gpu.nvidia.com/vram", "Gt", "79"), 80000),
        ((MEMORY, "Gt", str(70000 * 2**20)), 70001),
        ((MEMORY, "Lt", "70000"), None),
        ((MEMORY, "Gt", "a lot"), None),
        ((MEMORY, "Gt", "1", "2"), None),
        ((MEMORY, "Gt", "-5"), None),
        ((MEMORY, "Exists"), None),
        ((MEMORY, "NotIn", "4096"), None),
        (("nvidia.com/gpu.count", "Gt", "3"), None),
    ],
)
def test_memory_labels_give_the_least_memory_in_mib(expression: Expression, mib: int | None) -> None:
    assert read(term(expression)).memory_mib == mib


def test_the_highest_floor_of_a_term_counts_and_the_lowest_of_alternatives() -> None:
    both = term((MEMORY, "Gt", "100"), (MEMORY, "Gt", "200"))
    assert read(both).memory_mib == 201
    assert read(both, term((MEMORY, "Gt", "150"))).memory_mib == 151
    assert read(both, term(("zone", "In", "a"))).memory_mib is None


@pytest.mark.parametrize(
    ("expression", "sharing"),
    [
        (("cloud.google.com/gke-gpu-sharing-strategy", "In", "time-sharing"), Sharing.TIMESLICE),
        (("cloud.google.com/gke-gpu-sharing-strategy", "In", "mps"), Sharing.TIMESLICE),
        (("cloud.google.com/gke-max-shared-clients-per-gpu", "In", "4"), Sharing.TIMESLICE),
        (("cloud.google.com/gke-gpu-partition-size", "In", "1g.5gb"), Sharing.MIG),
        (("nvidia.com/gpu.sharing-strategy", "In", "time-slicing", "mps"), Sharing.TIMESLICE),
        (("nvidia.com/gpu.sharing-strategy", "In", "none"), None),
        (("nvidia.com/gpu.sharing-strategy", "NotIn", "mps"), None),
        (("nvidia.com/mps.capable", "In", "true"), Sharing.TIMESLICE),
        (("nvidia.com/mps.capable", "In", "false"), None),
        (("nvidia.com/gpu.replicas", "In", "4"), Sharing.TIMESLICE),
        (("nvidia.com/gpu.replicas", "In", "1"), None),
        (("nvidia.com/gpu.replicas", "Gt", "1"), Sharing.TIMESLICE),
        (("nvidia.com/mig.config", "In", "all-1g.5gb"), Sharing.MIG),
        (("nvidia.com/mig.config", "In", "all-disabled"), None),
        (("nvidia.com/mig.capable", "In", "true"), None),
        ((PRODUCT, "In", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), Sharing.MIG),
        ((PRODUCT, "In", "NVIDIA-A10G-SHARED"), Sharing.TIMESLICE),
        ((PRODUCT, "In", "GRID-A100-8C"), Sharing.VGPU),
        ((PRODUCT, "In", "NVIDIA-A10G-SHARED", "NVIDIA-A10G"), None),
    ],
)
def test_selectors_tell_how_the_cards_behind_them_are_shared(expression: Expression, sharing: Sharing | None) -> None:
    assert read(term(expression)).sharing == sharing


def test_sharing_must_hold_for_every_alternative() -> None:
    shared = term(("nvidia.com/mps.capable", "In", "true"))
    assert read(shared, shared).sharing == Sharing.TIMESLICE
    assert read(shared, term((CLASS, "In", "T4"))).sharing is None


@given(
    st.lists(
        st.builds(
            lambda key, operator, values: (key, operator, *values),
            st.sampled_from(
                [*model_selectors.MODEL_KEYS, *model_selectors.MEMORY_KEYS, INSTANCE, "nvidia.com/gpu.replicas"]
            ),
            st.sampled_from(["In", "NotIn", "Gt", "Lt", "Exists", "DoesNotExist", "", "in"]),
            st.lists(st.text() | st.sampled_from(["A100", "T4", "70000", "g5.xlarge"]), max_size=3),
        ),
        max_size=4,
    )
)
def test_any_selector_is_read(expressions: list[Expression]) -> None:
    assert isinstance(read(term(*expressions)), Limits)
