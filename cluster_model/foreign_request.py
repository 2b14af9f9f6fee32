"""How other systems write what a pod asks for: shares, memory and models in their resources and annotations.

HAMi, KAI, Volcano, Koordinator, gpushare, Tencent and InstaSlice. For readers only; the scheduler acts on none of it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cluster_model import gpu_annotations, gpu_models, gpu_names, quantity
from cluster_model.effective import Amounts, Container
from cluster_model.gpu_models import KnownModels
from cluster_model.gpu_names import Sharing

USE_TYPE = "nvidia.com/use-gputype"
AVOID_TYPE = "nvidia.com/nouse-gputype"
VGPU_MODE = "nvidia.com/vgpu-mode"
KAI_FRACTION = "gpu-fraction"
KAI_MEMORY = "gpu-memory"
_HAMI_CHOICES = (USE_TYPE, AVOID_TYPE, "nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid")
_MODES = {"mig": Sharing.MIG, "mps": Sharing.TIMESLICE}

_MIB_RESOURCES = frozenset({"nvidia.com/gpumem", "4pd.io/gpumem", "aliyun.com/gpu-mem"})
_VOLCANO_MEMORY = re.compile(r"volcano\.sh/.*-memory")
_KOORDINATOR_MEMORY = "koordinator.sh/gpu-memory"
_KOORDINATOR_SHARES = "koordinator.sh/gpu.shared"
_TENCENT_MEMORY = "tencent.com/vcuda-memory"
_TENCENT_BLOCK_MIB = 256
_DECIMAL = re.compile(r"[01]?\.[0-9]{1,18}|1")
_DIGITS = re.compile(r"[0-9]{1,18}")
_PRECEDENCE = (Sharing.DRA, Sharing.MIG, Sharing.FRACTION, Sharing.VGPU, Sharing.TIMESLICE)


@dataclass(frozen=True, slots=True)
class Foreign:
    """What the vocabularies of other systems add to a pod's request."""

    models: frozenset[str] | None = None  # None: no limit
    avoided: frozenset[str] = frozenset()
    memory_mib: int | None = None
    fraction: float | None = None
    sharing: Sharing = Sharing.NONE
    notes: tuple[str, ...] = ()


def read(
    annotations: Mapping[str, str], containers: Iterable[Container], known: KnownModels = gpu_models.BUILT_IN
) -> Foreign:
    """Read annotations and container resources in the words of other systems."""
    amounts = [container.asked for container in containers]
    kinds = {sharing_of(name) for asked in amounts for name, amount in asked.items() if amount > 0}
    kinds |= set(_annotated_sharing(annotations))
    memory = max([_annotated_memory_mib(annotations), *(_memory_mib(asked) for asked in amounts)])
    return Foreign(
        models=_listed(annotations.get(USE_TYPE, ""), known) or None,
        avoided=_listed(annotations.get(AVOID_TYPE, ""), known),
        memory_mib=memory or None,
        fraction=_fraction(annotations),
        sharing=strongest(kinds),
        notes=tuple(_notes(annotations)),
    )


def sharing_of(name: str) -> Sharing:
    """Say how a pod with this resource shares a card; none for what is no NVIDIA GPU."""
    return gpu_names.sharing_of(name) or Sharing.NONE


def strongest(kinds: Iterable[Sharing | None]) -> Sharing:
    """Of several ways to share, name the one that shapes the request most."""
    found = set(kinds)
    return next((kind for kind in _PRECEDENCE if kind in found), Sharing.NONE)


def _annotated_sharing(annotations: Mapping[str, str]) -> Iterable[Sharing]:
    if any(key in annotations for key in (KAI_FRACTION, KAI_MEMORY, gpu_annotations.FRACTION)):
        yield Sharing.FRACTION
    if VGPU_MODE in annotations:
        yield _MODES.get(annotations[VGPU_MODE].strip().lower(), Sharing.VGPU)
    elif any(key in annotations for key in _HAMI_CHOICES):
        yield Sharing.VGPU


def _annotated_memory_mib(annotations: Mapping[str, str]) -> int:
    text = annotations.get(KAI_MEMORY, "").strip()
    return int(text) if _DIGITS.fullmatch(text) else 0


def _fraction(annotations: Mapping[str, str]) -> float | None:
    text = annotations.get(KAI_FRACTION, "").strip()
    return float(text) if _DECIMAL.fullmatch(text) and 0 < float(text) <= 1 else None


def _memory_mib(asked: Amounts) -> int:
    """Return the most memory per card that one container's resources name."""
    return max((_of_resource(name, asked) for name in asked), default=0)


def _of_resource(name: str, asked: Amounts) -> int:
    amount = quantity.value(asked[name])
    if name in _MIB_RESOURCES or _VOLCANO_MEMORY.fullmatch(name):
        return amount
    if name == _TENCENT_MEMORY:
        return amount * _TENCENT_BLOCK_MIB
    if name == _KOORDINATOR_MEMORY:  # of all shares together, in bytes
        shares = quantity.value(asked[_KOORDINATOR_SHARES]) if _KOORDINATOR_SHARES in asked else 1
        return -(-amount // (2**20 * max(shares, 1)))
    return (gpu_names.sized_slice_mib(name) or 0) if amount else 0


def _listed(text: str, known: KnownModels) -> frozenset[str]:
    models = (known.canonical(name) for name in text.split(",")[: gpu_annotations.MOST_MODELS])
    return frozenset(model.name for model in models if model)


def _notes(annotations: Mapping[str, str]) -> Iterable[str]:
    if KAI_FRACTION in annotations and _fraction(annotations) is None:
        yield f'metadata.annotations[{KAI_FRACTION}]: "{annotations[KAI_FRACTION][:80]}" is no fraction'
    if KAI_MEMORY in annotations and not _annotated_memory_mib(annotations):
        yield f'metadata.annotations[{KAI_MEMORY}]: "{annotations[KAI_MEMORY][:80]}" is no number of MiB'
