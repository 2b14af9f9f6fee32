"""The instance table answers for every spelling that platforms use, and agrees with the catalogue of models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import gpu_models, instance_table


@pytest.mark.parametrize(
    ("instance_type", "model", "cards", "memory_mib"),
    [
        ("p4d.24xlarge", "A100", 8, 40960),
        ("ml.p5.48xlarge", "H100", 8, 81920),
        ("g5.xlarge", "A10G", 1, 22888),
        ("g6f.xlarge", "L4", 0, 2861),
        ("a2-ultragpu-1g", "A100", 1, 81920),
        ("Standard_NC4as_T4_v3", "T4", 1, 15360),
        ("standard_nc4as_t4_v3", "T4", 1, 15360),
        ("STANDARD_NV6ADS_A10_V5", "A10", 0, 4096),
        ("gd-8xh200ib-i128", "H200", 8, 143771),
        ("BM.GPU.H100.8", "H100", 8, 81559),
        ("BM.GPU.B4.8", "A100", 8, 40960),
        ("g2-gpu-rtx4000a1-m", "RTX-4000-Ada", 1, 20475),
    ],
)
def test_a_listed_type_is_found_in_any_spelling(instance_type: str, model: str, cards: int, memory_mib: int) -> None:
    found = instance_table.find(instance_type)
    assert found is not None
    assert (found.model, found.cards, found.memory_mib) == (model, cards, memory_mib)
    assert found.fractional is (cards == 0)


@pytest.mark.parametrize(
    ("shape", "model", "cards"),
    [("BM.GPU.L40S.4", "L40S", 4), ("VM.GPU.A10.2", "A10", 2), ("BM.GPU.L40S-NC.4", "L40S", 4)],
)
def test_an_unlisted_oci_shape_carries_model_and_cards_in_its_name(shape: str, model: str, cards: int) -> None:
    found = instance_table.find(shape)
    assert found is not None
    assert (found.model, found.cards, found.memory_mib) == (model, cards, None)


@pytest.mark.parametrize("name", ["", "ml.", "m5.large", "e2-standard-4", "BM.GPU.X9.8", "BM.GPU.A10.0", "k3s"])
def test_other_types_are_not_found(name: str) -> None:
    assert instance_table.find(name) is None


def test_every_row_names_a_known_model_whose_largest_card_is_no_smaller() -> None:
    for instance in instance_table.table().values():
        largest = gpu_models.largest_memory_mib(instance.model)
        assert gpu_models.canonical(instance.model) == gpu_models.Model(instance.model)
        assert instance.memory_mib is not None
        assert largest is not None
        assert 0 < instance.memory_mib <= largest


def test_no_whole_card_of_the_table_is_much_smaller_than_the_smallest_known() -> None:
    whole = [instance for instance in instance_table.table().values() if not instance.fractional]
    for instance in whole:
        smallest = gpu_models.smallest_memory_mib(instance.model)
        assert smallest is not None
        assert gpu_models.suffices(instance.memory_mib or 0, smallest)


def test_the_table_is_complete_and_its_names_are_unique() -> None:
    table = instance_table.table()
    assert len(table) == 167
    assert {instance.interconnect for instance in table.values() if instance.fractional} == {"fractional"}
    assert all(instance.cards > 0 for instance in table.values() if not instance.fractional)


@given(st.text(max_size=80) | st.from_regex(r"(bm|vm)\.gpu\.[a-z0-9.-]{0,50}\.[0-9]{0,3}", fullmatch=True))
def test_no_name_breaks_the_lookup(name: str) -> None:
    found = instance_table.find(name)
    assert found is None or found.model in gpu_models.KNOWN
