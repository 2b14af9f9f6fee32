"""Physical cards, replicas, sharing, lost cards, and the contradictions between labels and quantities."""

import pytest

from cluster_model.node_facts import Untrusted
from tests.cluster_model.node_builder import GPU, facts, gfd

SHARED = "nvidia.com/gpu.shared"
INSTANCE = "node.kubernetes.io/instance-type"
COUNT = "nvidia.com/gpu.count"
REPLICAS = "nvidia.com/gpu.replicas"
GKE = {"cloud.google.com/gke-accelerator": "nvidia-l4"}
AKASH = "akash.network/capabilities.gpu.vendor.nvidia.model.h100"


@pytest.mark.parametrize(
    ("labels", "cards"),
    [
        ({"gpu.nvidia.com/count": "8"}, 8),
        (gfd("Tesla-T4", count=2), 2),
        ({"gpu.nvidia.com/count": "8", COUNT: "7"}, 8),
        ({"eks.amazonaws.com/instance-gpu-count": "4"}, 4),
        ({"karpenter.k8s.aws/instance-gpu-count": "8"}, 8),
        ({"karpenter.azure.com/sku-gpu-count": "2"}, 2),
        (GKE | {"cloud.google.com/gke-accelerator-count": "2"}, 2),
        ({"cloud.google.com/gke-accelerator-count": "4", "cloud.google.com/gke-tpu-accelerator": "tpu-v5"}, None),
        ({f"{AKASH}.ram.80Gi": "8"}, 8),
        ({f"{AKASH}.ram.80Gi.interface.sxm": "8", f"{AKASH}": "8"}, 8),
        ({INSTANCE: "p4d.24xlarge"}, 8),
        ({INSTANCE: "BM.GPU.A100-v2.8"}, 8),
        ({INSTANCE: "g6f.xlarge"}, None),
        ({INSTANCE: "g6f.xlarge", "karpenter.k8s.aws/instance-gpu-count": "0"}, None),
        ({"karpenter.k8s.gcp/instance-gpu-count": "1", INSTANCE: "a2-highgpu-8g"}, 8),
        ({COUNT: "0", INSTANCE: "p4d.24xlarge"}, 8),
        ({}, None),
    ],
)
def test_cards_come_from_the_count_labels_then_from_the_instance_type(
    labels: dict[str, str], cards: int | None
) -> None:
    found = facts(labels)
    assert (found.physical, found.untrusted) == (cards, ())


@pytest.mark.parametrize(
    ("labels", "capacity", "cards"),
    [
        ({}, {GPU: "8"}, 8),
        ({}, {"amd.com/gpu": "4"}, 4),
        ({}, {GPU: "0"}, None),
        ({}, {GPU: "0", SHARED: "8"}, None),
        ({}, {GPU: "2", "nvidia.com/mig-1g.5gb": "7"}, None),
        ({}, {GPU: "8", "nvidia.com/mig-1g.5gb": "0"}, 8),
        (gfd("Tesla-T4-SHARED"), {GPU: "8"}, None),
        (gfd("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), {GPU: "7"}, None),
        ({"nvidia.com/gpu.sharing-strategy": "mps"}, {GPU: "10"}, None),
        ({"cloud.google.com/gke-gpu-partition-size": "1g.5gb"}, {GPU: "7"}, None),
        ({INSTANCE: "Standard_NV6ads_A10_v5"}, {GPU: "1"}, None),
    ],
)
def test_capacity_counts_cards_only_where_nothing_shows_sharing(
    labels: dict[str, str], capacity: dict[str, str | int | float], cards: int | None
) -> None:
    assert facts(labels, capacity=capacity).physical == cards


def test_the_single_strategys_count_is_of_slices() -> None:
    labels = gfd("A100-SXM4-40GB-MIG-1g.5gb", 4864, 56)
    assert facts(labels, capacity={GPU: "56"}).physical is None
    assert facts(labels | {INSTANCE: "p4d.24xlarge"}, capacity={GPU: "56"}).physical == 8
    assert facts(labels | {"gpu.nvidia.com/count": "8"}).physical == 8


def test_the_mixed_strategys_count_is_of_cards() -> None:
    labels = gfd("NVIDIA-A100-SXM4-40GB", 40960, 1, gpu_replicas="0", mig_strategy="mixed")
    found = facts(labels, capacity={GPU: "0", "nvidia.com/mig-1g.5gb": "2", "nvidia.com/mig-3g.20gb": "0"})
    assert (found.physical, found.replicas, found.shared, found.untrusted) == (1, 0, False, ())
    assert found.schedulable == {GPU: 0, "nvidia.com/mig-1g.5gb": 2, "nvidia.com/mig-3g.20gb": 0}


def test_the_single_strategy_on_a_card_without_mig_changes_nothing() -> None:
    labels = gfd("Tesla-T4", 15360, 1, gpu_replicas="1", mig_strategy="single", mig_capable="false")
    found = facts(labels, capacity={GPU: "1"})
    assert (found.physical, found.memory_mib, found.untrusted) == (1, 15360, ())


@pytest.mark.parametrize(
    ("labels", "capacity", "replicas", "shared"),
    [
        (gfd("Tesla-T4", 15360, 1), {GPU: "1"}, 1, False),
        (gfd("Tesla-T4", 15360, 1, gpu_replicas="1"), {GPU: "1"}, 1, False),
        (gfd("Tesla-T4-SHARED", 15360, 1, gpu_replicas="8"), {GPU: "8"}, 8, True),
        (gfd("Tesla-T4-SHARED", 15360, 1), {GPU: "8"}, 8, True),
        (gfd("Tesla-T4-SHARED", 15360, 2), {GPU: "7"}, None, True),
        (gfd("Tesla-T4-SHARED", 15360), {GPU: "8"}, None, True),
        (gfd("A100-SXM4-40GB-MIG-1g.5gb-SHARED", 4864, 7), {GPU: "28"}, 4, True),
        (gfd("Tesla-T4", 15360, 2, gpu_replicas="4"), {GPU: "0", SHARED: "8"}, 4, True),
        (gfd("Tesla-T4", 15360, 2, gpu_replicas="4"), {GPU: "8"}, 4, True),
        (gfd("Tesla-T4", 15360, 2) | {"nvidia.com/gpu.sharing-strategy": "time-slicing"}, {GPU: "8"}, 4, True),
        (gfd("Tesla-T4", 15360, 2) | {"nvidia.com/gpu.sharing-strategy": "none"}, {GPU: "2"}, 1, False),
        (gfd("Tesla-T4", 15360, 2) | {"nvidia.com/mps.capable": "true"}, {GPU: "8"}, 4, True),
        (gfd("Tesla-T4", 15360, 2) | {"nvidia.com/sharing.mps.enabled": "false"}, {GPU: "2"}, 1, False),
        ({}, {"nvidia.com/mig-1g.5gb.shared": "8"}, None, True),
        ({}, {"nvidia.com/gpu-10gb": "4"}, None, True),
        ({}, {GPU: "12"}, None, False),
        (
            GKE
            | {
                "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
                "cloud.google.com/gke-max-shared-clients-per-gpu": "4",
                "cloud.google.com/gke-accelerator-count": "1",
            },
            {GPU: "4"},
            4,
            True,
        ),
    ],
)
def test_sharing_shows_in_labels_and_resource_names(
    labels: dict[str, str], capacity: dict[str, str | int | float], replicas: int | None, shared: bool
) -> None:
    found = facts(labels, capacity=capacity)
    assert (found.replicas, found.shared, found.untrusted) == (replicas, shared, ())


@pytest.mark.parametrize(
    ("labels", "replicas"),
    [
        (gfd("NVIDIA-A10G-SHARED", 23028, 1, gpu_replicas="1"), 10),
        (gfd("NVIDIA-A10G", 23028, 1, gpu_replicas="1") | {INSTANCE: "g5.xlarge"}, 10),
        (gfd("NVIDIA-A100-SXM4-40GB", 40960, gpu_replicas="1") | {INSTANCE: "a2-highgpu-1g"}, 10),
    ],
)
def test_the_nodes_own_numbers_correct_a_replicas_label_that_stayed_at_1(labels: dict[str, str], replicas: int) -> None:
    found = facts(labels, capacity={GPU: "10"})
    assert (found.replicas, found.shared, found.physical) == (replicas, True, 1)
    assert found.untrusted == (Untrusted(REPLICAS, "1", "the node offers 10 units of each card"),)


@pytest.mark.parametrize(
    ("labels", "units", "shared"),
    [
        ({INSTANCE: "g5.xlarge"}, "10", True),
        ({INSTANCE: "g5.xlarge"}, "1", False),
        ({INSTANCE: "g5.12xlarge"}, "10", False),  # no multiple of 4 cards
        ({INSTANCE: "p4d.24xlarge"}, "56", False),  # may be slices
        ({INSTANCE: "g6f.xlarge"}, "4", False),
        (gfd("Tesla-T4", 15360, 1) | {INSTANCE: "g5.xlarge"}, "10", False),  # which label lies?
        (gfd("NVIDIA-A10G", 23028, 2) | {INSTANCE: "g5.xlarge"}, "10", False),
    ],
)
def test_a_machine_that_offers_a_multiple_of_its_uncut_cards_shares_them(
    labels: dict[str, str], units: str, shared: bool
) -> None:
    assert facts(labels, capacity={GPU: units}).shared is shared


@pytest.mark.parametrize(
    ("capacity", "allocatable", "unhealthy"),
    [
        ({GPU: "8"}, {GPU: "7"}, 1),
        ({GPU: "16"}, {GPU: "0"}, 16),
        ({GPU: "8"}, {GPU: "8"}, 0),
        ({GPU: "8"}, {GPU: "9"}, 0),
        ({GPU: "8"}, {}, 0),
        ({}, {GPU: "8"}, 0),
        ({GPU: "2", "nvidia.com/mig-1g.5gb": "7"}, {GPU: "1", "nvidia.com/mig-1g.5gb": "5"}, 3),
        ({"nvidia.com/gpumem": "81920"}, {"nvidia.com/gpumem": "0"}, 0),
        ({"cpu": "8"}, {"cpu": "7"}, 0),
        ({GPU: "-8"}, {GPU: "-9"}, 0),
    ],
)
def test_unhealthy_is_what_capacity_has_and_allocatable_lacks(
    capacity: dict[str, str | int | float], allocatable: dict[str, str | int | float], unhealthy: int
) -> None:
    assert facts(capacity=capacity, allocatable=allocatable).unhealthy == unhealthy


def test_only_gpu_resources_are_listed() -> None:
    names = [
        GPU,
        SHARED,
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/gpu-10gb",
        "nvidia.com/gpumem",
        "nvidia.com/GRID_A100-40C",
    ]
    others = ["cpu", "memory", "pods", "rdma/ib", "vpc.amazonaws.com/efa", "google.com/tpu", "nvidia.com/hostdev"]
    found = facts(capacity=dict.fromkeys([*names, "amd.com/gpu", *others], "3"))
    assert found.schedulable == dict.fromkeys([*names, "amd.com/gpu"], 3)
    assert found.capacity == found.schedulable


@pytest.mark.parametrize("text", ["", "eight", "8 ", "1.2.3", "٨"])
def test_an_unreadable_amount_is_reported_and_left_out(text: str) -> None:
    found = facts(capacity={GPU: "8"}, allocatable={GPU: text, SHARED: "2"})
    assert (found.schedulable, found.unhealthy) == ({SHARED: 2}, 0)
    assert [(doubt.label, doubt.value) for doubt in found.untrusted] == [(f"status.allocatable[{GPU}]", text)]


@pytest.mark.parametrize("key", ["gpu.nvidia.com/count", COUNT, REPLICAS, "karpenter.k8s.aws/instance-gpu-count"])
@pytest.mark.parametrize("text", ["", "two", "-1", "1.0", " 1", "²", "99999", "9" * 5000])
def test_an_unreadable_count_is_reported_and_unknown(key: str, text: str) -> None:
    found = facts({key: text})
    assert (found.physical, found.shared) == (None, False)
    assert found.untrusted == (Untrusted(key, text, "must be a whole number from 0 to 4096"),)


@pytest.mark.parametrize(
    "labels",
    [
        gfd("NVIDIA-A100-SXM4-80GB", gpu_replicas="4"),
        gfd("NVIDIA-A100-SXM4-80GB", 81920, 4, gpu_replicas="4"),
    ],
)
def test_replicas_that_nothing_confirms_are_distrusted(labels: dict[str, str]) -> None:
    found = facts(labels, capacity={GPU: "5"})
    assert REPLICAS in {doubt.label for doubt in found.untrusted}
    assert found.shared


def test_more_units_than_cards_without_sharing_are_distrusted() -> None:
    found = facts(gfd("NVIDIA-GeForce-RTX-4090", 24564, 1, gpu_replicas="1"), capacity={GPU: "3"})
    assert [doubt.label for doubt in found.untrusted] == [COUNT]
    assert "3" in found.untrusted[0].why


@pytest.mark.parametrize("count", [7, 16])
def test_another_count_than_the_instance_types_is_reported(count: int) -> None:
    labels = gfd("NVIDIA-H100-80GB-HBM3", 81559, count, gpu_replicas="1") | {INSTANCE: "p5.48xlarge"}
    found = facts(labels, capacity={GPU: str(count)})
    assert (found.model, found.physical) == ("H100", count)
    assert found.untrusted == (Untrusted(COUNT, str(count), "instance type p5.48xlarge has 8"),)


def test_a_lost_card_is_no_contradiction_in_the_nodes_own_numbers() -> None:
    labels = gfd("NVIDIA-H100-80GB-HBM3", 81559, 8, gpu_replicas="1")
    found = facts(labels, capacity={GPU: "8"}, allocatable={GPU: "7"})
    assert (found.physical, found.unhealthy, found.untrusted) == (8, 1, ())
