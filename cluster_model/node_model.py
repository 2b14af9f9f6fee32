"""Which GPU model a node has: the first label in order of precedence that names one, checked against the cloud's own.

Says nothing about memory or numbers of cards.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cluster_model import gpu_models, instance_table
from cluster_model import node_labels as keys
from cluster_model.gpu_models import KnownModels, Model
from cluster_model.instance_table import Instance
from cluster_model.node_labels import LabelReader

# Labels that a cloud or a driver sets: what they say must be a card's name, and they must agree.
_AUTHORITIES = (keys.GFD_PRODUCT, keys.GKE_ACCELERATOR, keys.EKS_NAME, keys.KARPENTER_NAME, keys.AZURE_NAME)
_MUST_NAME_A_MODEL = frozenset({*_AUTHORITIES, keys.HAND_MODEL})
# akash.network/capabilities.gpu.vendor.nvidia.model.h100.ram.80Gi: the number of cards is the value.
_AKASH = re.compile(
    r"akash\.network/capabilities\.gpu\.vendor\.[^.]+\.model\.(?P<model>[^.]+)(?:\.ram\.(?P<ram>[^.]+))?(?:\..+)?"
)
Named = Mapping[str, Model | None]  # by label key, in order of precedence
_MIG_PROFILE = re.compile(r"[0-9]+g\.[0-9]+gb.*")


@dataclass(frozen=True, slots=True)
class Naming:
    """What the labels call the GPUs of a node."""

    model: Model | None = None  # None: unknown or contradictory
    product: Model | None = None  # what the driver's own label says, suffixes included, even if contradicted
    instance: Instance | None = None
    slice_profile: str | None = None  # MIG, single strategy: the profile behind every nvidia.com/gpu
    counts_slices: bool = False  # MIG, single strategy: count and memory describe slices
    akash: tuple[str, ...] = ()  # keys that describe the node's cards
    contradicted: bool = False  # the labels name several cards


def read(reader: LabelReader, known: KnownModels) -> Naming:
    """Find the model of a node's GPUs, and how they are cut."""
    instance = _instance(reader)
    akash = {key: model for key in reader.labels if (model := _akash_model(key, known))}
    named = {key: known.canonical(reader.labels[key]) for key in keys.MODELS if key in reader.labels}
    model = _model(reader, named, instance, akash)
    product = known.canonical(reader.labels.get(keys.GFD_PRODUCT, ""))
    invalid = product is not None and product.mig_invalid
    if invalid:
        reader.doubt(keys.GFD_PRODUCT, "several kinds of MIG slice under one resource name cannot be told apart")
    profile = (product.mig_profile if product else None) or _gke_profile(reader)
    cut = bool(profile) or invalid or any(key in reader.labels for key in keys.GFD_SLICES)
    contradicted = model is None and bool(instance or akash or any(named.values()))
    return Naming(model, product, instance, profile, cut, tuple(sorted(akash)), contradicted)


def akash_memory_mib(naming: Naming) -> int | None:
    """Return the memory per card that Akash's labels carry in their keys."""
    sizes = (size for key in naming.akash if (found := _AKASH.fullmatch(key)) and (size := found["ram"]))
    digits = (re.fullmatch(r"([0-9]{1,4})gi", size, re.IGNORECASE | re.ASCII) for size in sizes)
    return next((int(found[1]) * 1024 for found in digits if found and int(found[1])), None)


def _model(reader: LabelReader, named: Named, instance: Instance | None, akash: Mapping[str, Model]) -> Model | None:
    """Return the model by precedence; None when nothing names one or the labels contradict one another."""
    for key, model in named.items():
        if model is not None:
            return None if _contradicted(reader, key, named, instance) else model
        if key in _MUST_NAME_A_MODEL:
            reader.doubt(key, "names no known GPU model")
    if akash:
        return _only_model(reader, akash)
    return Model(instance.model) if instance else None


def _contradicted(reader: LabelReader, key: str, named: Named, instance: Instance | None) -> bool:
    """Tell whether another authority names another card: then the labels describe one kind of several, or lie."""
    mine = named[key]
    if mine is None or key not in _AUTHORITIES:  # written by hand: an override
        return False
    others = {other: model.name for other, model in named.items() if model and other in _AUTHORITIES}
    if instance is not None:
        others[f"instance type {instance.name}"] = instance.model
    rival = next((f"{other} says {name}" for other, name in others.items() if name != mine.name), None)
    if rival:
        reader.doubt(key, rival)
    return rival is not None


def _only_model(reader: LabelReader, akash: Mapping[str, Model]) -> Model | None:
    names = sorted({model.name for model in akash.values()})
    if len(names) == 1:
        return next(iter(akash.values()))
    for key in akash:
        reader.doubt(key, f"the node has several GPU models: {', '.join(names)}")
    return None


def _akash_model(key: str, known: KnownModels) -> Model | None:
    found = _AKASH.fullmatch(key)
    return known.canonical(found["model"]) if found else None


def _gke_profile(reader: LabelReader) -> str | None:
    partition = reader.labels.get(keys.GKE_PARTITION, "")
    return partition if _MIG_PROFILE.fullmatch(partition) else None


def _instance(reader: LabelReader) -> Instance | None:
    """Find the instance type, which GFD's machine label carries too on some clouds."""
    for key in (*keys.INSTANCE_TYPES, keys.GFD_MACHINE):
        instance = instance_table.find(reader.labels.get(key, ""))
        if instance:
            return instance
    return None


def default_memory_mib(naming: Naming) -> int | None:
    """Return what every card of the model has at least, after the size that its name carries."""
    if naming.model is None:
        return None
    return naming.model.memory_mib or gpu_models.smallest_memory_mib(naming.model.name)
