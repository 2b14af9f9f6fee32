"""Every name of the public vocabularies reads as the right model, and nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import gpu_catalogue, gpu_models
from cluster_model.gpu_models import KnownModels, canonical

# (text, canonical name, card memory from its size word in GiB)
NAMES = [
    # GPU Feature Discovery product strings.
    ("Tesla-K80", "K80", None),
    ("Tesla-P100", "P100", None),
    ("Tesla-V100-SXM2-16GB", "V100", 16),
    ("Tesla-V100-SXM2-16GB-N", "V100", 16),
    ("Tesla-V100-SXM2-32GB", "V100", 32),
    ("Tesla-PG500-216", "V100", 32),
    ("Tesla-T4", "T4", None),
    ("NVIDIA-A10", "A10", None),
    ("NVIDIA-A10G", "A10G", None),
    ("NVIDIA-A30", "A30", None),
    ("A100-SXM4-40GB", "A100", 40),
    ("NVIDIA-A100-SXM4-40GB", "A100", 40),
    ("A100-PCIE-40GB", "A100", 40),
    ("NVIDIA-A100-PCIE-40GB", "A100", 40),
    ("NVIDIA-A100-SXM4-80GB", "A100", 80),
    ("NVIDIA-A100-80GB-PCIe", "A100", 80),
    ("NVIDIA-L4", "L4", None),
    ("NVIDIA-L40", "L40", None),
    ("NVIDIA-L40S", "L40S", None),
    ("NVIDIA-H100-80GB-HBM3", "H100", 80),
    ("NVIDIA-H100-PCIe", "H100", None),
    ("NVIDIA-H100-NVL", "H100", None),
    ("NVIDIA-H200", "H200", None),
    ("NVIDIA-GH200-480GB", "GH200", None),
    ("NVIDIA-B200", "B200", None),
    ("NVIDIA-GB200", "GB200", None),
    ("NVIDIA-GB300", "GB300", None),
    ("NVIDIA-GeForce-RTX-3090", "RTX-3090", None),
    ("NVIDIA-GeForce-RTX-4090", "RTX-4090", None),
    ("NVIDIA-GeForce-RTX-5070-Ti", "RTX-5070-Ti", None),
    ("NVIDIA-RTX-A2000", "RTX-A2000", None),
    ("NVIDIA-RTX-A4000", "RTX-A4000", None),
    ("NVIDIA-RTX-A6000", "RTX-A6000", None),
    ("NVIDIA-RTX-4000-Ada-Generation", "RTX-4000-Ada", None),
    ("NVIDIA-RTX-4000-SFF-Ada-Generation", "RTX-4000-Ada", None),
    ("NVIDIA-RTX-6000-Ada-Generation", "RTX-6000-Ada", None),
    ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "RTX-PRO-6000", None),
    # Invented ones that circulate in documentation.
    ("NVIDIA-H100-SXM5-80GB", "H100", 80),
    ("NVIDIA-A100-PCIE-80GB", "A100", 80),
    ("NVIDIA-T4-16GB", "T4", 16),
    ("NVIDIA-GB200-192GB-HBM3e", "GB200", 192),
    ("NVIDIA-H200-141GB-HBM3e", "H200", 141),
    # AWS.
    ("t4", "T4", None),
    ("t4g", "T4G", None),
    ("a10g", "A10G", None),
    ("l40s", "L40S", None),
    ("b300", "B300", None),
    ("m60", "M60", None),
    ("k80", "K80", None),
    ("rtx-pro-server-6000", "RTX-PRO-6000", None),
    ("rtx-pro-4500", "RTX-PRO-4500", None),
    ("radeon-pro-v520", "Radeon-Pro-V520", None),
    ("nvidia-tesla-p100", "P100", None),
    ("nvidia-l40s", "L40S", None),
    # GKE.
    ("nvidia-tesla-p4", "P4", None),
    ("nvidia-tesla-a100", "A100", None),
    ("nvidia-a100-80gb", "A100", 80),
    ("nvidia-h100-80gb", "H100", 80),
    ("nvidia-h100-mega-80gb", "H100", 80),
    ("nvidia-h200-141gb", "H200", 141),
    ("nvidia-rtx-pro-6000", "RTX-PRO-6000", None),
    # CoreWeave.
    ("H100_NVLINK_80GB", "H100", 80),
    ("A100_PCIE_80GB", "A100", 80),
    ("A100_NVLINK", "A100", None),
    ("Tesla_V100_NVLINK", "V100", None),
    ("Quadro_RTX_5000", "RTX-5000", None),
    ("RTX_A6000", "RTX-A6000", None),
    ("GH200_480GB", "GH200", None),
    # By hand, from the exporter, from other schedulers.
    ("rtx-a2000", "RTX-A2000", None),
    ("RTX4090", "RTX-4090", None),
    ("RTXA6000", "RTX-A6000", None),
    ("A6000", "RTX-A6000", None),
    ("RTX6000Ada", "RTX-6000-Ada", None),
    ("NVIDIA GeForce RTX 2080 Ti", "RTX-2080-Ti", None),
    ("Tesla T4", "T4", None),
    ("A100-80GB", "A100", 80),
    ("a100 80 GB", "A100", 80),
    (" H800 ", "H800", None),
    ("AMD-Instinct-MI300X-OAM", "MI300X", None),
]

NAMELESS = [
    "",
    " ",
    "-",
    "nvidia",
    "true",
    "professional",
    "80GB",
    "NVIDIA-DGX-Display",
    "A1000",
    "A100X",
    "XA100",
    "A100H100",
    "A100;H100",
    "A100 H100",
    "L40S-T4",
    "tpu-v5-lite-podslice",
    "A１００",
]


@pytest.mark.parametrize(("text", "name", "size_gib"), NAMES)
def test_a_name_of_any_vocabulary_reads_as_its_model_and_size(text: str, name: str, size_gib: int | None) -> None:
    model = canonical(text)
    assert model is not None
    assert (model.name, model.memory_mib) == (name, size_gib and size_gib * 1024)
    assert (model.shared, model.mig_profile, model.vgpu_profile) == (False, None, None)


@pytest.mark.parametrize("text", NAMELESS)
def test_what_names_no_single_known_model_reads_as_nothing(text: str) -> None:
    assert canonical(text) is None


@pytest.mark.parametrize(
    ("text", "name", "size_gib", "profile", "shared"),
    [
        ("NVIDIA-A100-80GB-PCIe-MIG-1g.10gb", "A100", 80, "1g.10gb", False),
        ("A100-SXM4-40GB-MIG-1g.5gb", "A100", 40, "1g.5gb", False),
        ("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb-SHARED", "A100", 40, "3g.20gb", True),
        ("NVIDIA-H200-MIG-7g.141gb", "H200", None, "7g.141gb", False),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me", "H100", 80, "1g.10gb.me", False),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition-MIG-2g.48gb", "RTX-PRO-6000", None, "2g.48gb", False),
        ("Tesla-T4-SHARED", "T4", None, None, True),
        ("NVIDIA-GeForce-RTX-2080-Ti-SHARED", "RTX-2080-Ti", None, None, True),
        ("NVIDIA-GeForce-RTX-4070-SHARED", "RTX-4070", None, None, True),
    ],
)
def test_suffixes_say_slice_and_replica(
    text: str, name: str, size_gib: int | None, profile: str | None, shared: bool
) -> None:
    model = canonical(text)
    assert model is not None
    assert (model.name, model.mig_profile, model.shared) == (name, profile, shared)
    assert model.memory_mib == (size_gib and size_gib * 1024)


@pytest.mark.parametrize(
    ("text", "name", "profile", "mib"),
    [
        ("NVIDIA-A16-4Q", "A16", "4Q", 4096),
        ("GRID-A100-40C", "A100", "40C", 40960),
        ("GRID-A100-10C", "A100", "10C", 10240),
        ("GRID-A100-8C", "A100", "8C", 8192),
        ("GRID-A100-3-20C", "A100", "20C", 20480),
        ("GRID-A100D-80C", "A100", "80C", 81920),
        ("NVIDIA-H100XM-80C", "H100", "80C", 81920),
        ("GRID-RTX6000-24Q", "RTX-6000", "24Q", 24576),
        ("GRID-M60-0B", "M60", "0B", 512),
        ("GRID-M60-1B4", "M60", "1B4", 1024),
    ],
)
def test_a_virtual_card_has_its_own_memory(text: str, name: str, profile: str, mib: int) -> None:
    model = canonical(text)
    assert model is not None
    assert (model.name, model.vgpu_profile, model.vgpu_memory_mib) == (name, profile, mib)


def test_an_invalid_mig_layout_keeps_its_model_and_says_so() -> None:
    model = canonical("NVIDIA-A100-SXM4-40GB-MIG-INVALID")
    assert model is not None
    assert (model.name, model.mig_invalid, model.mig_profile) == ("A100", True, None)


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("NVIDIA-A100-SXM4-80GB", ()),
        ("a100 80 GB", ()),
        ("NVIDIA-RTX-4000-Ada-Generation", ()),
        ("Tesla-V100-SXM2-16GB-N", ("N",)),
        ("A100-80", ("80",)),
        ("A100-80GBB", ("80GBB",)),
    ],
)
def test_words_of_no_known_meaning_are_reported(text: str, unread: tuple[str, ...]) -> None:
    model = canonical(text)
    assert model is not None
    assert model.unread == unread


@pytest.mark.parametrize("name", sorted(gpu_models.KNOWN))
def test_every_known_name_is_its_own_canonical_form(name: str) -> None:
    for spelled in (name, name.lower(), name.upper(), name.replace("-", "_"), f"NVIDIA {name.replace('-', ' ')}"):
        assert canonical(spelled) == gpu_models.Model(name)


@pytest.mark.parametrize("name", ["A2", "L20", "H20", "A800", "H800", "MI300X", "P40", "B300", "RTX-8000"])
def test_models_that_no_instance_type_has_are_known(name: str) -> None:
    assert name in gpu_models.KNOWN


def test_configured_models_are_known_and_win_over_shorter_names() -> None:
    known = KnownModels.extended(["Foo X1", "A100-Custom", "nvidia-h100"])
    assert canonical("NVIDIA-FOO-X1-80GB", known) == gpu_models.Model("Foo X1", 80 * 1024)
    assert canonical("a100_custom", known) == gpu_models.Model("A100-Custom")
    assert known.names - gpu_models.KNOWN == {"Foo X1", "A100-Custom"}


def test_blank_configured_models_add_nothing() -> None:
    assert KnownModels.extended(["", " ", "NVIDIA"]).names == gpu_models.KNOWN


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("H1000", "H100"),
        ("a1000", "A100"),
        ("L40SS", "L40S"),
        ("RTX 4900", "RTX-4090"),
        ("rtx-pro-600", "RTX-PRO-6000"),
    ],
)
def test_the_nearest_known_names_come_best_first(text: str, first: str) -> None:
    assert gpu_models.nearest(text)[0] == first
    assert len(gpu_models.nearest(text)) <= 3


def test_nothing_is_near_to_nonsense() -> None:
    assert gpu_models.nearest("%%%") == ()
    assert gpu_models.nearest("zzzzzzzz" * 50_000) == ()


@pytest.mark.parametrize(
    ("name", "asked_mib", "refused"),
    [
        ("A100", 81920, False),
        ("A100", 89043, False),  # 89043 * 0.92 = 81919.56
        ("A100", 89044, True),
        ("H100", 98304, False),
        ("L4", 24576, False),
        ("T4", 40960, True),
        ("Foo X1", 10**9, False),
    ],
)
def test_a_request_is_refused_only_over_the_largest_known_card(name: str, asked_mib: int, refused: bool) -> None:
    assert gpu_models.exceeds_every_card(name, asked_mib) is refused


@pytest.mark.parametrize(
    ("card_mib", "asked_mib", "enough"),
    [(81559, 81920, True), (15109, 16384, True), (40960, 81920, False), (92, 100, True), (91, 100, False)],
)
def test_cards_count_with_eight_percent_slack(card_mib: int, asked_mib: int, enough: bool) -> None:
    assert gpu_models.suffices(card_mib, asked_mib) is enough


def test_the_smallest_card_is_never_over_the_largest() -> None:
    for name in gpu_models.KNOWN:
        smallest, largest = gpu_models.smallest_memory_mib(name), gpu_models.largest_memory_mib(name)
        assert smallest is not None
        assert largest is not None
        assert 0 < smallest <= largest
    assert gpu_models.smallest_memory_mib("Foo X1") is None


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    model = canonical(text)
    assert model is None or model.name in gpu_models.KNOWN
    assert len(gpu_models.nearest(text)) <= 3


@given(
    st.lists(st.sampled_from(["NVIDIA", "A100", "80GB", "MIG", "1g.5gb", "SHARED", "4Q", "RTX", "PRO", "6000", "²"]))
)
def test_no_mixture_of_words_breaks_the_reader(words: list[str]) -> None:
    model = canonical("-".join(words))
    assert model is None or (model.vgpu_memory_mib is None) == (model.vgpu_profile is None)


def test_models_that_mig_cuts_are_known_models() -> None:
    assert gpu_catalogue.CUT_BY_MIG <= gpu_models.KNOWN
    assert not gpu_catalogue.CUT_BY_MIG & {"T4", "A10G", "L4", "L40S", "V100", "A40"}
