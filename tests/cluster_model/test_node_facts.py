"""Model, taints, annotations and robustness of what is read from a node; memory and cards have files of their own."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import node_facts, objects
from cluster_model.node_facts import Untrusted
from tests.cluster_model.node_builder import GPU, facts, gfd, node

HAND = "gpu.nvidia.com/model"
GKE = "cloud.google.com/gke-accelerator"
INSTANCE = "node.kubernetes.io/instance-type"
AKASH = "akash.network/capabilities.gpu.vendor.nvidia.model."

# The order of precedence, each with its own spelling of a card.
BY_HAND = [
    ("k8s.amazonaws.com/accelerator", "nvidia-tesla-v100", "V100"),
    ("skypilot.co/accelerator", "h100", "H100"),
    ("aliyun.accelerator/nvidia_name", "Tesla-P4", "P4"),
    ("cloud.tencent.com/tke-accelerator", "t4", "T4"),
    ("baidu/nvidia_name", "nvidia_A30", "A30"),
    ("cluster-api/accelerator", "nvidia-l40s", "L40S"),
    ("k8s.scw.cloud/gpu", "L4", "L4"),
    ("doks.digitalocean.com/gpu-model", "rtx4000_ada", "RTX-4000-Ada"),
    ("cloud.digitalocean.com/gpu-node", "h200", "H200"),
    ("hcloud/gpu-node", "A40", "A40"),
    ("accelerator", "nvidia-tesla-p100", "P100"),
    (f"{AKASH}b200", "8", "B200"),
    (INSTANCE, "p4d.24xlarge", "A100"),
]
CLOUDS = [
    (GKE, "nvidia-h100-mega-80gb", "H100"),
    ("eks.amazonaws.com/instance-gpu-name", "l40s", "L40S"),
    ("karpenter.k8s.aws/instance-gpu-name", "rtx-pro-server-6000", "RTX-PRO-6000"),
    ("karpenter.azure.com/sku-gpu-name", "V100", "V100"),
]
OWN = [("nvidia.com/gpu.product", "NVIDIA-A10", "A10"), (HAND, "A100", "A100"), ("gpu.nvidia.com/class", "A40", "A40")]


@pytest.mark.parametrize(("key", "value", "model"), OWN + CLOUDS + BY_HAND)
def test_each_label_alone_names_the_model(key: str, value: str, model: str) -> None:
    found = facts({key: value})
    assert (found.model, found.untrusted) == (model, ())


@pytest.mark.parametrize(
    ("first", "second"),
    [*pairwise(OWN), (OWN[2], CLOUDS[0]), *pairwise(BY_HAND)],
)
def test_the_earlier_label_wins_over_the_later(first: tuple[str, str, str], second: tuple[str, str, str]) -> None:
    found = facts({second[0]: second[1], first[0]: first[1]})
    assert (found.model, found.untrusted) == (first[2], ())


@pytest.mark.parametrize(("key", "value", "model"), CLOUDS)
def test_a_clouds_label_wins_over_one_that_users_write(key: str, value: str, model: str) -> None:
    assert facts({"skypilot.co/accelerator": "t4", key: value}).model == model


@pytest.mark.parametrize("rival", [*CLOUDS, BY_HAND[-1]])
def test_a_product_that_a_cloud_contradicts_is_distrusted(rival: tuple[str, str, str]) -> None:
    found = facts(gfd("Tesla-T4", 15360, 1) | {rival[0]: rival[1]})
    assert (found.model, found.memory_mib) == (None, None)
    assert found.untrusted[0].label == "nvidia.com/gpu.product"
    assert rival[2] in found.untrusted[0].why


def test_agreeing_sources_are_trusted_whatever_their_spelling() -> None:
    labels = gfd("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", 97887, 8) | {CLOUDS[2][0]: CLOUDS[2][1]}
    found = facts(labels | {INSTANCE: "g7e.48xlarge"})
    assert (found.model, found.untrusted) == ("RTX-PRO-6000", ())


def test_a_model_by_hand_overrides_the_cloud() -> None:
    found = facts({HAND: "A100", "gpu.nvidia.com/memory": "40960", INSTANCE: "g4dn.xlarge"})
    assert (found.model, found.memory_mib, found.untrusted) == ("A100", 40960, ())


@pytest.mark.parametrize("key", ["nvidia.com/gpu.product", HAND, GKE, CLOUDS[1][0], CLOUDS[2][0], CLOUDS[3][0]])
@pytest.mark.parametrize("value", ["NVIDIA-DGX-Display", "", "☃"])
def test_a_card_nobody_knows_is_reported_and_the_next_label_read(key: str, value: str) -> None:
    found = facts({key: value, "skypilot.co/accelerator": "t4"})
    assert found.model == "T4"
    assert found.untrusted == (Untrusted(key, value, "names no known GPU model"),)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kubernetes.azure.com/accelerator", "nvidia"),
        ("accelerator", "nvidia"),
        ("cloud.digitalocean.com/gpu-node", "true"),
        ("hcloud/gpu-node", ""),
        ("gpu.nvidia.com/class", "professional"),
        ("nvidia.com/gpu", "true"),
        ("nvidia.com/gpu.present", "true"),
        ("nvidia.com/gpu.family", "ampere"),
        (INSTANCE, "m5.large"),
        (f"{AKASH}unheard-of", "8"),
    ],
)
def test_labels_that_carry_no_card_are_no_cause_for_doubt(key: str, value: str) -> None:
    found = facts({key: value})
    assert (found.model, found.untrusted) == (None, ())


def test_a_homelabs_class_does_not_hide_its_model() -> None:
    assert facts({"gpu.nvidia.com/class": "professional", HAND: "rtx-a2000"}).model == "RTX-A2000"


def test_several_akash_models_on_a_node_are_distrusted() -> None:
    found = facts({f"{AKASH}h100.ram.80Gi": "4", f"{AKASH}t4": "1"})
    assert (found.model, found.memory_mib) == (None, None)
    assert {doubt.label for doubt in found.untrusted} == {f"{AKASH}h100.ram.80Gi", f"{AKASH}t4"}


def test_configured_models_are_read_too() -> None:
    labels = gfd("NVIDIA-Foo-X1", 1000, 1)
    assert node_facts.read(node(labels)).model is None
    assert node_facts.read(node(labels), ("Foo-X1",)).model == "Foo-X1"


@pytest.mark.parametrize("key", [INSTANCE, "beta.kubernetes.io/instance-type", "nvidia.com/gpu.machine"])
def test_the_instance_type_is_found_under_each_of_its_keys(key: str) -> None:
    found = facts({key: "ml.p5.48xlarge"})
    assert (found.model, found.memory_mib, found.physical) == ("H100", 81920, 8)


def test_a_node_without_any_sign_of_a_gpu_has_no_facts() -> None:
    found = facts({"kubernetes.io/arch": "amd64"}, capacity={"cpu": "4", "memory": "8Gi", "pods": "110"})
    assert (found.model, found.memory_mib, found.physical, found.replicas) == (None, None, None, None)
    assert (found.shared, found.unhealthy, dict(found.capacity), dict(found.schedulable)) == (False, 0, {}, {})
    assert (found.untrusted, found.withheld) == ((), ())


def test_labels_alone_offer_nothing() -> None:
    found = facts(gfd("Tesla-T4", 15360, 4), capacity={"cpu": "8"})
    assert (found.model, found.physical, dict(found.schedulable)) == ("T4", 4, {})


def test_taints_are_written_as_kubectl_writes_them() -> None:
    taints = (
        objects.Taint(key=GPU, value="present", effect="NoSchedule"),
        objects.Taint(key=GPU, effect="NoExecute"),
    )
    assert node_facts.read(node(taints=taints)).taints == (f"{GPU}=present:NoSchedule", f"{GPU}:NoExecute")


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("1", 1.0), ("0.25", 0.25), (".5", 0.5), ("1.000", 1.0)])
def test_utilization_is_a_ratio(text: str, value: float) -> None:
    found = node_facts.read(node(annotations={"gpu.nvidia.com/utilization": text}))
    assert (found.utilization, found.untrusted) == (value, ())


@pytest.mark.parametrize(
    "text", ["", " ", "1.01", "-0.1", "50%", "nan", "inf", "1e-1", "0,5", "٠.٥", "0.5 ", "0.", "9" * 5000]
)
def test_any_other_utilization_is_unknown_and_reported(text: str) -> None:
    found = node_facts.read(node(annotations={"gpu.nvidia.com/utilization": text}))
    assert found.utilization is None
    assert found.untrusted == (Untrusted("metadata.annotations[gpu.nvidia.com/utilization]", text, "must be 0 to 1"),)


@pytest.mark.parametrize(
    ("key", "value", "withheld"),
    [
        ("nvidia.com/mig.config.state", "success", False),
        ("nvidia.com/mig.config.state", "rebooting", True),
        ("nvidia.com/gpu-driver-upgrade-state", "upgrade-done", False),
        ("nvidia.com/gpu-driver-upgrade-state", "drain-required", True),
        ("oci.oraclecloud.com/host.health", "HEALTHY", False),
        ("oci.oraclecloud.com/host.health", "UNHEALTHY", True),
    ],
)
def test_a_node_under_change_asks_to_be_left_alone(key: str, value: str, withheld: bool) -> None:
    found = facts({key: value})
    assert [asked.label for asked in found.withheld] == ([key] if withheld else [])
    assert found.untrusted == ()


KEYS = [
    *(key for key, _, _ in OWN + CLOUDS + BY_HAND),
    *(f"nvidia.com/gpu.{name}" for name in ("memory", "count", "replicas", "sharing-strategy", "machine", "slices.gi")),
    *(f"gpu.nvidia.com/{name}" for name in ("memory", "count", "vram")),
    *(
        f"{cloud}/instance-gpu-{name}"
        for cloud in ("eks.amazonaws.com", "karpenter.k8s.aws")
        for name in ("memory", "count")
    ),
    *(f"cloud.google.com/gke-{name}" for name in ("accelerator-count", "gpu-partition-size", "gpu-sharing-strategy")),
    "cloud.google.com/gke-max-shared-clients-per-gpu",
    "nvidia.com/mig-1g.5gb.memory",
    "nvidia.com/mig-.memory",
    f"{AKASH}a100.ram.80Gi",
    f"{AKASH}a100.ram..interface.x",
]
VALUES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["0", "1", "8", "81559", "16106127360", "9" * 30, "-1", "８", "1g.5gb", "T4-MIG-INVALID", "T4-SHARED"]
    ),
)
RESOURCES = [
    GPU,
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-1g.5gb",
    "nvidia.com/gpu-10gb",
    "nvidia.com/GRID_T4-8Q",
    "cpu",
]
AMOUNTS = st.dictionaries(
    st.sampled_from(RESOURCES) | st.text(max_size=12),
    st.one_of(st.text(max_size=12), st.integers(), st.floats(), st.sampled_from(["8", "1500m", "9E", "1e400", "-3"])),
)


@given(labels=st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=12), VALUES), capacity=AMOUNTS, free=AMOUNTS)
def test_no_content_of_a_node_breaks_the_reading(
    labels: dict[str, str], capacity: objects.Resources, free: objects.Resources
) -> None:
    found = node_facts.read(node(labels, capacity=capacity, allocatable=free, annotations=labels))
    assert found.memory_mib is None or 0 < found.memory_mib <= 2**24
    assert found.physical is None or found.physical > 0
    assert found.unhealthy >= 0
    assert all(amount >= 0 for amount in found.schedulable.values())
    assert found == node_facts.read(node(labels, capacity=capacity, allocatable=free, annotations=labels))
