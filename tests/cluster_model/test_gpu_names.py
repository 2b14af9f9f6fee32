"""Names of resources: which of them ask for a GPU, how they share it, and which ones the scheduler accounts for."""

import pytest

from cluster_model import gpu_names
from cluster_model.gpu_names import Sharing

KINDS = {
    "nvidia.com/gpu": Sharing.NONE,
    "nvidia.com/gpu.shared": Sharing.TIMESLICE,
    "nvidia.com/gpu-10gb": Sharing.TIMESLICE,
    "nvidia.com/mig-1g.5gb": Sharing.MIG,
    "nvidia.com/mig-1g.5gb.me": Sharing.MIG,
    "nvidia.com/mig-1g.5gb.shared": Sharing.MIG,
    "org.instaslice/mig-1g.5gb": Sharing.MIG,
    "nvidia.com/vgpu": Sharing.VGPU,
    "nvidia.com/gpumem": Sharing.VGPU,
    "nvidia.com/gpumem-percentage": Sharing.VGPU,
    "nvidia.com/gpucores": Sharing.VGPU,
    "aliyun.com/gpu-mem": Sharing.VGPU,
    "aliyun.com/gpu-core.percentage": Sharing.VGPU,
    "volcano.sh/gpu-memory": Sharing.VGPU,
    "volcano.sh/vgpu-memory": Sharing.VGPU,
    "volcano.sh/vgpu-number": Sharing.VGPU,
    "koordinator.sh/gpu": Sharing.VGPU,
    "koordinator.sh/gpu.shared": Sharing.VGPU,
    "koordinator.sh/gpu-memory-ratio": Sharing.VGPU,
    "tencent.com/vcuda-core": Sharing.VGPU,
    "deviceclass.resource.kubernetes.io/gpu.nvidia.com": Sharing.DRA,
}
OTHERS = ["cpu", "amd.com/gpu", "gpu.intel.com/i915", "google.com/tpu", "aws.amazon.com/neuron", "rdma/ib", "gpu"]
NEARLY = ["nvidia.com/gpu.sharedd", "nvidia.com/gpux", "xnvidia.com/gpu", "nvidia.com/mig-", "nvidia.com/gpu-gb"]


@pytest.mark.parametrize(("name", "sharing"), KINDS.items())
def test_a_name_tells_how_the_card_is_shared_and_asks_for_a_gpu(name: str, sharing: Sharing) -> None:
    assert gpu_names.sharing_of(name) == sharing
    assert gpu_names.asks_for_gpu(name)


@pytest.mark.parametrize("name", OTHERS + NEARLY)
def test_other_vendors_and_near_misses_ask_for_no_gpu(name: str) -> None:
    assert not gpu_names.asks_for_gpu(name)


@pytest.mark.parametrize(
    ("name", "mib"), [("nvidia.com/gpu-10gb", 10240), ("nvidia.com/gpu-10GB", 10240), ("nvidia.com/gpu", None)]
)
def test_a_size_in_the_name_is_gib(name: str, mib: int | None) -> None:
    assert gpu_names.sized_slice_mib(name) == mib


@pytest.mark.parametrize(
    ("name", "extended", "tracked"),
    [
        ("cpu", False, True),
        ("ephemeral-storage", False, True),
        ("pods", False, False),
        ("hugepages-2Mi", False, True),
        ("attachable-volumes-csi", False, True),
        ("nvidia.com/gpu", True, True),
        ("alpha.kubernetes.io/nvidia-gpu", False, True),
        ("requests.nvidia.com/gpu", False, False),
        ("nvidia.com/" + "x" * 63, True, True),
        ("nvidia.com/" + "x" * 64, False, False),
        ("n" * 244 + "/x", True, True),
        ("n" * 245 + "/x", False, False),
        ("Nvidia.com/gpu", False, False),
        ("nvidia.com/gpu\n", False, False),
        ("nvidia.com/-gpu", False, False),
        ("a/b/c", False, False),
        ("/gpu", False, False),
    ],
)
def test_extended_and_tracked_names_are_those_of_kubernetes(name: str, extended: bool, tracked: bool) -> None:
    assert (gpu_names.is_extended(name), gpu_names.is_tracked(name)) == (extended, tracked)
