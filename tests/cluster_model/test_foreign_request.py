"""Other systems' words for GPU shares, memory and models."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import effective, foreign_request
from cluster_model.foreign_request import Foreign
from cluster_model.gpu_names import Sharing
from tests.cluster_model.pod_builder import limits, pod


def read(*containers: dict[str, Any], **annotations: str) -> Foreign:
    return foreign_request.read(annotations, effective.read(pod(*containers).spec).containers)


@pytest.mark.parametrize(
    ("amounts", "mib", "sharing"),
    [
        ({"nvidia.com/gpumem": 3000, "nvidia.com/gpu": 1}, 3000, Sharing.VGPU),
        ({"nvidia.com/gpumem": "3k"}, 3000, Sharing.VGPU),
        ({"nvidia.com/gpumem-percentage": 50}, None, Sharing.VGPU),
        ({"nvidia.com/gpucores": 30}, None, Sharing.VGPU),
        ({"nvidia.com/vgpu": 1}, None, Sharing.VGPU),
        ({"aliyun.com/gpu-mem": 8138}, 8138, Sharing.VGPU),
        ({"volcano.sh/gpu-memory": 1024}, 1024, Sharing.VGPU),
        ({"volcano.sh/vgpu-memory": 2000, "volcano.sh/vgpu-number": 1}, 2000, Sharing.VGPU),
        ({"koordinator.sh/gpu-memory": "8Gi", "koordinator.sh/gpu.shared": 1}, 8192, Sharing.VGPU),
        ({"koordinator.sh/gpu-memory": "8Gi", "koordinator.sh/gpu.shared": 2}, 4096, Sharing.VGPU),
        ({"koordinator.sh/gpu-memory-ratio": 50}, None, Sharing.VGPU),
        ({"tencent.com/vcuda-core": 30, "tencent.com/vcuda-memory": 25}, 6400, Sharing.VGPU),
        ({"nvidia.com/gpu-10gb": 2}, 10240, Sharing.TIMESLICE),
        ({"nvidia.com/gpu.shared": 1}, None, Sharing.TIMESLICE),
        ({"nvidia.com/mig-1g.5gb": 1}, None, Sharing.MIG),
        ({"org.instaslice/mig-1g.5gb": 1}, None, Sharing.MIG),
        ({"nvidia.com/gpu": 1}, None, Sharing.NONE),
        ({"amd.com/gpu": 1}, None, Sharing.NONE),
        ({"nvidia.com/mig-1g.5gb": 0, "nvidia.com/gpu-10gb": 0}, None, Sharing.NONE),
    ],
)
def test_resources_tell_memory_per_card_and_sharing(amounts: dict[str, Any], mib: int | None, sharing: Sharing) -> None:
    found = read(limits(**amounts))
    assert (found.memory_mib, found.sharing) == (mib, sharing)


def test_memory_is_per_card_so_containers_do_not_add_up() -> None:
    found = read(limits(**{"nvidia.com/gpumem": 3000}), limits(**{"nvidia.com/gpumem": 2000}))
    assert found.memory_mib == 3000


@pytest.mark.parametrize(
    ("annotations", "wanted"),
    [
        ({"gpu-fraction": "0.5"}, Foreign(fraction=0.5, sharing=Sharing.FRACTION)),
        ({"gpu-memory": "2000"}, Foreign(memory_mib=2000, sharing=Sharing.FRACTION)),
        ({"gpu.nvidia.com/fraction": "0.5"}, Foreign(sharing=Sharing.FRACTION)),
        ({"nvidia.com/use-gputype": "A100,V100"}, Foreign(models=frozenset({"A100", "V100"}), sharing=Sharing.VGPU)),
        ({"nvidia.com/use-gputype": "NVIDIA,strange"}, Foreign(sharing=Sharing.VGPU)),
        ({"nvidia.com/nouse-gputype": "T4"}, Foreign(avoided=frozenset({"T4"}), sharing=Sharing.VGPU)),
        ({"nvidia.com/vgpu-mode": "mig"}, Foreign(sharing=Sharing.MIG)),
        ({"nvidia.com/vgpu-mode": "hami-core"}, Foreign(sharing=Sharing.VGPU)),
        ({"nvidia.com/vgpu-mode": "mps"}, Foreign(sharing=Sharing.TIMESLICE)),
        ({"other": "0.5"}, Foreign()),
    ],
)
def test_annotations_tell_models_memory_and_sharing(annotations: dict[str, str], wanted: Foreign) -> None:
    assert read(**annotations) == wanted


def test_a_mode_decides_over_the_resources_beside_it() -> None:
    vgpu: dict[str, Any] = limits(**{"nvidia.com/gpumem": 3000})
    assert read(vgpu, **{"nvidia.com/vgpu-mode": "mig"}) == Foreign(memory_mib=3000, sharing=Sharing.MIG)


@pytest.mark.parametrize("text", ["", "0", "half", "1.5", "-0.5", "1e-1", "NaN", "٠.٥"])
def test_a_fraction_that_is_none_is_noted(text: str) -> None:
    found = read(**{"gpu-fraction": text})
    assert (found.fraction, found.notes) == (None, (f'metadata.annotations[gpu-fraction]: "{text}" is no fraction',))


@pytest.mark.parametrize("text", ["", "0", "2Gi", "-1", "٣"])
def test_a_memory_that_is_no_number_of_mib_is_noted(text: str) -> None:
    found = read(**{"gpu-memory": text})
    assert (found.memory_mib, len(found.notes)) == (None, 1)


def test_the_strongest_way_to_share_wins() -> None:
    ways = [Sharing.NONE, Sharing.TIMESLICE, Sharing.VGPU, Sharing.FRACTION, Sharing.MIG, Sharing.DRA]
    assert [foreign_request.strongest(ways[: n + 1]) for n in range(len(ways))] == ways
    assert foreign_request.strongest([None]) == Sharing.NONE


@given(
    st.dictionaries(
        st.sampled_from(["gpu-fraction", "gpu-memory", "nvidia.com/use-gputype", "nvidia.com/vgpu-mode"]), st.text()
    )
)
def test_any_annotation_is_read(annotations: dict[str, str]) -> None:
    assert isinstance(foreign_request.read(annotations, ()), Foreign)
