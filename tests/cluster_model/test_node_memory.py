"""Memory of one nvidia.com/gpu, of a card and of each MIG device, from every source and in every unit."""

import pytest

from cluster_model.node_facts import Untrusted
from tests.cluster_model.node_builder import GPU, facts, gfd

HAND = "gpu.nvidia.com/memory"
GFD = "nvidia.com/gpu.memory"
VRAM = "gpu.nvidia.com/vram"
EKS = "eks.amazonaws.com/instance-gpu-memory"
KARPENTER = "karpenter.k8s.aws/instance-gpu-memory"
INSTANCE = "node.kubernetes.io/instance-type"
MODEL = "gpu.nvidia.com/model"

SOURCES = [
    ({HAND: "70000"}, 70000),
    ({GFD: "71000"}, 71000),
    ({VRAM: "72"}, 72000),
    ({EKS: "73000"}, 73000),
    ({KARPENTER: "74000"}, 74000),
    ({INSTANCE: "Standard_NC40ads_H100_v5"}, 96256),
    ({"akash.network/capabilities.gpu.vendor.nvidia.model.h100.ram.94Gi": "1"}, 96256),
    ({}, 81559),
]


@pytest.mark.parametrize("first", range(len(SOURCES)))
def test_memory_comes_from_the_first_source_that_knows(first: int) -> None:
    labels = {MODEL: "H100"}
    for source, _ in SOURCES[first:]:
        labels |= source
    assert facts(labels).memory_mib == SOURCES[first][1]


@pytest.mark.parametrize("key", [HAND, GFD, EKS, KARPENTER])
@pytest.mark.parametrize(
    ("text", "mib"),
    [("15360", 15360), ("16106127360", 15360), ("16777216", 2**24), ("16777217", 16), ("85899345920", 81920)],
)
def test_figures_above_16777216_are_bytes(key: str, text: str, mib: int) -> None:
    assert facts({key: text}).memory_mib == mib


@pytest.mark.parametrize("key", [HAND, GFD, VRAM, EKS, KARPENTER])
def test_zero_is_unknown_and_the_next_source_is_read(key: str) -> None:
    found = facts({MODEL: "T4", INSTANCE: "g4dn.xlarge", key: "0"})
    assert (found.memory_mib, found.untrusted) == (16384, ())


@pytest.mark.parametrize("key", [HAND, GFD, VRAM, EKS, KARPENTER])
@pytest.mark.parametrize("text", ["", " ", "40Gi", "-1", "1.5", "4096 ", "٤٠٩٦", "1_000", "0x10", "9" * 19, "9" * 5000])
def test_an_unreadable_figure_is_reported_and_the_next_source_read(key: str, text: str) -> None:
    found = facts({MODEL: "T4", INSTANCE: "g4dn.xlarge", key: text})
    assert found.memory_mib == 16384
    assert [(doubt.label, doubt.value) for doubt in found.untrusted] == [(key, text)]


@pytest.mark.parametrize(("model", "vram", "mib"), [("H100_NVLINK_80GB", "81", 81000), ("H200", "143", 143000)])
def test_vram_is_a_lower_bound(model: str, vram: str, mib: int) -> None:
    assert facts({MODEL: model, VRAM: vram}).memory_mib == mib


def test_vram_in_another_unit_is_not_believed() -> None:
    found = facts({MODEL: "H100", VRAM: "81559"})
    assert found.memory_mib == 81559  # what every H100 has, not the label
    assert found.untrusted == (Untrusted(VRAM, "81559", "must be the card's MiB divided by 1000"),)


@pytest.mark.parametrize(
    ("labels", "mib"),
    [
        ({MODEL: "A100_NVLINK_80GB"}, 81920),
        ({MODEL: "GH200_480GB"}, 97871),
        ({"gpu.nvidia.com/class": "A100_PCIE_80GB"}, 81920),
        ({"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"}, 40960),
        ({"cloud.google.com/gke-accelerator": "nvidia-a100-80gb"}, 81920),
        ({"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}, 15360),
        ({"karpenter.azure.com/sku-gpu-name": "A100", INSTANCE: "Standard_NC24ads_A100_v4"}, 81920),
        ({INSTANCE: "standard_nc4as_t4_v3"}, 15360),
        ({INSTANCE: "BM.GPU.L40S.4"}, 45776),
        ({INSTANCE: "g6f.2xlarge"}, 5722),
        (gfd("NVIDIA-A100-SXM4-80GB"), 81920),
        (gfd("Tesla-PG500-216"), 32768),
        (gfd("NVIDIA-A100-SXM4-80GB") | {INSTANCE: "p4d.24xlarge"}, 81920),  # the name's size beats the table's
        (gfd("NVIDIA-H100-80GB-HBM3") | {INSTANCE: "a3-highgpu-8g"}, 81559),  # the same card, measured
    ],
)
def test_names_and_instance_types_give_a_size(labels: dict[str, str], mib: int) -> None:
    assert facts(labels).memory_mib == mib


def test_a_sum_over_all_cards_is_not_taken_for_one_card() -> None:
    name = {"karpenter.k8s.aws/instance-gpu-name": "l4", INSTANCE: "g6.12xlarge"}
    found = facts(name | {KARPENTER: "91553"})
    assert found.memory_mib == 22888
    assert found.untrusted == (Untrusted(KARPENTER, "91553", "no L4 has as much memory"),)


def test_the_clouds_figure_for_another_card_is_left_out() -> None:
    labels = {MODEL: "A100_PCIE_80GB", "karpenter.k8s.aws/instance-gpu-name": "t4", KARPENTER: "16384"}
    assert facts(labels | {INSTANCE: "g4dn.xlarge"}).memory_mib == 81920


def test_one_slice_is_the_unit_under_the_single_strategy() -> None:
    found = facts(gfd("A100-SXM4-40GB-MIG-1g.5gb", 4864, 7), capacity={GPU: "7"})
    assert (found.memory_mib, found.card_memory_mib) == (4864, 40960)


@pytest.mark.parametrize(
    "labels",
    [
        gfd("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", 0) | {INSTANCE: "p4d.24xlarge"},
        {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100", "cloud.google.com/gke-gpu-partition-size": "1g.5gb"},
    ],
)
def test_an_unmeasured_slice_never_has_the_cards_memory(labels: dict[str, str]) -> None:
    found = facts(labels)
    assert (found.model, found.memory_mib, found.card_memory_mib) == ("A100", 4864, 40960)


def test_slices_of_an_unnamed_profile_have_no_known_memory() -> None:
    labels = gfd("A100-SXM4-40GB", gpu_slices_gi="1")
    assert facts(labels).memory_mib is None


@pytest.mark.parametrize(
    ("product", "mib"), [("NVIDIA-A16-4Q", 4096), ("GRID-A100-40C", 40960), ("GRID-A100-3-20C", 20480)]
)
def test_a_virtual_card_has_its_profiles_memory(product: str, mib: int) -> None:
    assert facts(gfd(product)).memory_mib == mib
    assert facts(gfd(product, mib - 96)).memory_mib == mib - 96


def test_an_invalid_slicing_leaves_memory_unknown() -> None:
    found = facts(gfd("NVIDIA-A100-SXM4-40GB-MIG-INVALID", 0, 0, gpu_replicas="0"))
    assert (found.model, found.memory_mib, found.physical) == ("A100", None, None)
    assert [doubt.label for doubt in found.untrusted] == ["nvidia.com/gpu.product"]


def test_a_shared_replica_sees_the_whole_card() -> None:
    assert facts(gfd("NVIDIA-A40-SHARED", 46068, 1, gpu_replicas="4")).memory_mib == 46068


def test_mig_devices_have_their_labels_memory() -> None:
    labels = gfd("NVIDIA-A100-SXM4-40GB", 40960, 1, gpu_replicas="0") | {
        "nvidia.com/mig-1g.5gb.memory": "4864",
        "nvidia.com/mig-7g.40gb.memory": "42144366592",
        "nvidia.com/mig-1g.5gb.me.memory": "4864",
        "nvidia.com/mig-2g.10gb.memory": "0",
    }
    sizes = facts(labels).device_memory_mib
    assert sizes == {
        "nvidia.com/mig-1g.5gb": 4864,
        "nvidia.com/mig-1g.5gb.me": 4864,
        "nvidia.com/mig-2g.10gb": 9728,
        "nvidia.com/mig-7g.40gb": 40192,
    }


def test_unlabelled_devices_have_what_their_name_promises_at_least() -> None:
    names = ("mig-3g.20gb", "mig-1c.3g.20gb", "mig-1g.10gb.shared", "gpu-10gb", "mig-odd", "mig-0g.0gb", "gpu")
    sizes = facts(capacity={f"nvidia.com/{name}": "1" for name in names}).device_memory_mib
    assert sizes == {
        "nvidia.com/mig-3g.20gb": 19456,
        "nvidia.com/mig-1c.3g.20gb": 19456,
        "nvidia.com/mig-1g.10gb.shared": 9728,
        "nvidia.com/gpu-10gb": 10240,
    }


def test_a_shared_devices_memory_is_its_profiles_label() -> None:
    labels = {"nvidia.com/mig-1g.10gb.memory": "9984"}
    sizes = facts(labels, capacity={"nvidia.com/mig-1g.10gb.shared": "8"}).device_memory_mib
    assert sizes == {"nvidia.com/mig-1g.10gb": 9984, "nvidia.com/mig-1g.10gb.shared": 9984}
