"""What the names of extended resources mean: whole GPUs, slices and shares of every system that we know.

Names only, no amounts. `asks_for_gpu` is the design's "asks for a GPU" for one resource name.
"""

import re
from enum import StrEnum

GPU = "nvidia.com/gpu"
GPU_SHARED = "nvidia.com/gpu.shared"
DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"


class Sharing(StrEnum):
    """How a pod shares the cards it gets."""

    NONE = "none"
    FRACTION = "fraction"
    VGPU = "vgpu"
    MIG = "mig"
    TIMESLICE = "timeslice"
    DRA = "dra"


_MIG = re.compile(r"(?:nvidia\.com/mig-|org\.instaslice/).+")
_SIZED_SLICE = re.compile(r"nvidia\.com/gpu-([0-9]{1,6})gb", re.IGNORECASE)
_VGPU = re.compile(
    r"nvidia\.com/(?:vgpu|gpumem|gpumem-percentage|gpucores)"
    r"|4pd\.io/(?:vgpu|gpumem|gpumem-percentage|gpucores)"
    r"|aliyun\.com/gpu-[a-z]+(?:\.percentage)?"
    r"|volcano\.sh/v?gpu-[a-z-]+"
    r"|koordinator\.sh/gpu(?:[.-][a-z-]+)?"
    r"|tencent\.com/vcuda-[a-z]+"
)
_NATIVE_DOMAIN = "kubernetes.io/"
_QUALIFIED = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/"
    r"(?=.{1,63}\Z)[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?",
    re.DOTALL,
)
_LONGEST_DOMAIN = 253 - len("requests.")  # the name must also do as a quota's key


def sharing_of(name: str) -> Sharing | None:
    """Say how a pod that asks for this resource shares a card; None if the name is not about NVIDIA GPUs."""
    if name == GPU:
        return Sharing.NONE
    if name == GPU_SHARED or _SIZED_SLICE.fullmatch(name):
        return Sharing.TIMESLICE
    if _MIG.fullmatch(name):
        return Sharing.MIG
    if name.startswith(DEVICE_CLASS_PREFIX):
        return Sharing.DRA
    return Sharing.VGPU if _VGPU.fullmatch(name) else None


def asks_for_gpu(name: str) -> bool:
    """Say whether more than 0 of this resource means that the pod asks for a GPU."""
    return sharing_of(name) is not None


def sized_slice_mib(name: str) -> int | None:
    """Return the memory that a name such as nvidia.com/gpu-10gb promises."""
    found = _SIZED_SLICE.fullmatch(name)
    return int(found.group(1)) * 1024 if found else None


def is_native(name: str) -> bool:
    """Say whether Kubernetes itself owns the name, so that limit and request may differ (huge pages apart)."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended(name: str) -> bool:
    """Say whether the name is an extended resource as Kubernetes defines it."""
    if is_native(name) or name.startswith("requests."):
        return False
    return _QUALIFIED.fullmatch(name) is not None and name.index("/") <= _LONGEST_DOMAIN


def is_tracked(name: str) -> bool:
    """Say whether the scheduler accounts for the resource; it ignores every other name."""
    if name in ("cpu", "memory", "ephemeral-storage") or _NATIVE_DOMAIN in name:
        return True
    return name.startswith(("hugepages-", "attachable-volumes-")) or is_extended(name)
