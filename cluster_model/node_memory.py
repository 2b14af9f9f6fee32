"""Memory behind a node's GPU units: of one nvidia.com/gpu, of one whole card, and of each MIG device. All in MiB."""

import re
from collections.abc import Iterable, Mapping

from cluster_model import gpu_models, gpu_names, node_model
from cluster_model import node_labels as keys
from cluster_model.node_labels import LabelReader
from cluster_model.node_model import Naming

_MIG_MEMORY = re.compile(r"nvidia\.com/(?P<device>mig-[^/]+)\.memory")
_MIG_RESOURCE = re.compile(r"nvidia\.com/mig-(?P<profile>[^/]+?)(?:\.shared)?")
_PROFILE_GB = re.compile(r"\b[0-9]+g\.([0-9]{1,4})gb", re.IGNORECASE)
# Slices show up to 5 % less than the profile's name says: 4864 MiB for 1g.5gb.
_SLICE_PERCENT = 95
_INSTANCE_MEMORY = ((keys.EKS_MEMORY, keys.EKS_NAME), (keys.KARPENTER_MEMORY, keys.KARPENTER_NAME))


def unit_mib(reader: LabelReader, naming: Naming) -> int | None:
    """Return the memory of one nvidia.com/gpu: a slice, a virtual card, or the card."""
    by_hand = reader.memory_mib(keys.HAND_MEMORY)
    by_driver = reader.memory_mib(keys.GFD_MEMORY)
    if by_hand or naming.contradicted:
        return by_hand
    if by_driver:
        return by_driver
    if naming.counts_slices:
        return slice_mib(naming.slice_profile or "")
    if naming.product and naming.product.vgpu_profile:
        return naming.product.vgpu_memory_mib
    return card_mib(reader, naming)


def card_mib(reader: LabelReader, naming: Naming) -> int | None:
    """Return the memory of one whole card, whatever the units are cut into."""
    if naming.contradicted:
        return reader.memory_mib(keys.HAND_MEMORY)
    virtual = naming.product is not None and naming.product.vgpu_profile is not None
    if not naming.counts_slices and not virtual:
        labelled = reader.memory_mib(keys.HAND_MEMORY) or reader.memory_mib(keys.GFD_MEMORY)
        if labelled:
            return labelled
    return (
        reader.vram_mib()
        or _from_instance_labels(reader, naming)
        or _from_instance_type(naming)
        or node_model.akash_memory_mib(naming)
        or node_model.default_memory_mib(naming)
    )


def device_mib(reader: LabelReader, resources: Iterable[str]) -> dict[str, int]:
    """Return the memory of one MIG device by resource name: as labelled, else what the name promises at least."""
    labelled = {f"nvidia.com/{found['device']}" for key in reader.labels if (found := _MIG_MEMORY.fullmatch(key))}
    devices = ((name, _device_mib(reader, name)) for name in sorted(labelled | set(resources)))
    return {name: mib for name, mib in devices if mib}


def slice_mib(profile: str) -> int | None:
    """Return what a MIG profile has at least, from its name."""
    size = _PROFILE_GB.search(profile)
    return int(size[1]) * 1024 * _SLICE_PERCENT // 100 or None if size else None


def _device_mib(reader: LabelReader, resource: str) -> int | None:
    mig = _MIG_RESOURCE.fullmatch(resource)
    if mig is None:
        return gpu_names.sized_slice_mib(resource)
    return reader.memory_mib(f"nvidia.com/mig-{mig['profile']}.memory") or slice_mib(mig["profile"])


def _from_instance_labels(reader: LabelReader, naming: Naming) -> int | None:
    """Read what the autoscaler says, unless it is the sum over all cards, as early versions had it."""
    for key, name_key in _INSTANCE_MEMORY:
        mib = reader.memory_mib(key)
        named = gpu_models.canonical(reader.labels.get(name_key, ""))
        if not mib or (named and naming.model and named.name != naming.model.name):
            continue
        if not naming.model or not gpu_models.exceeds_every_card(naming.model.name, mib):
            return mib
        reader.doubt(key, f"no {naming.model.name} has as much memory")
    return None


def _from_instance_type(naming: Naming) -> int | None:
    """Return the instance table's figure if it is for the same card: same model, and no other size in the name."""
    instance, model = naming.instance, naming.model
    if instance is None or model is None or instance.model != model.name or not instance.memory_mib:
        return None
    agrees = not model.memory_mib or gpu_models.suffices(instance.memory_mib, model.memory_mib)
    return instance.memory_mib if agrees or instance.fractional else None


def resource_names(*amounts: Mapping[str, int]) -> set[str]:
    """Return the resources whose devices have a memory of their own."""
    names = {name for each in amounts for name in each}
    return {name for name in names if _MIG_RESOURCE.fullmatch(name) or gpu_names.sized_slice_mib(name)}
