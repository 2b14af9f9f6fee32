"""What a pod's required node selectors say about the GPU: accepted models, least memory, how the card is shared.

Preferences and tolerations never limit; a value that names no known model does not either.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cluster_model import gpu_models, instance_table, objects
from cluster_model import node_labels as keys
from cluster_model.gpu_models import KnownModels, Model
from cluster_model.gpu_names import Sharing

MODEL_KEYS = frozenset({*keys.MODELS, "node.koordinator.sh/gpu-model"})
# MiB that one step of the label's number stands for.
MEMORY_KEYS: Mapping[str, int] = {
    keys.GFD_MEMORY: 1,
    keys.HAND_MEMORY: 1,
    keys.EKS_MEMORY: 1,
    keys.KARPENTER_MEMORY: 1,
    keys.COREWEAVE_VRAM: 1000,
}
_MODEL_IN_KEY = re.compile(r"akash\.network/capabilities\.gpu\.vendor\.nvidia\.model\.(?P<model>[^.]+)(?:\..+)?")
_MIG_PRODUCT = re.compile(r"nvidia\.com/mig-.+\.product")
_MIG_CONFIG = re.compile(r"all-[0-9]+g\.[0-9]+gb.*")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_PRECEDENCE = (Sharing.MIG, Sharing.VGPU, Sharing.TIMESLICE)  # replicas of a slice are slices
_LARGEST_MIB = 2**24  # above this a figure is bytes


@dataclass(frozen=True, slots=True)
class Limits:
    """What nodes a selector accepts, as far as GPUs are concerned. None: no limit."""

    models: frozenset[str] | None = None
    memory_mib: int | None = None
    sharing: Sharing | None = None
    strange: tuple[str, ...] = ()  # key=value of model labels that name no known model


@dataclass(slots=True)
class _Demand:
    """What one term wants of one label."""

    values: frozenset[str] | None = None  # None: any
    at_least: int | None = None
    present: bool = False

    def add(self, operator: str, values: tuple[str, ...]) -> None:
        if operator == "In":
            wanted = frozenset(values)
            self.values = wanted if self.values is None else self.values & wanted
        elif operator == "NotIn" and self.values is not None:
            self.values = self.values - frozenset(values)
        elif operator == "Gt" and len(values) == 1 and _INTEGER.fullmatch(values[0]):
            self.at_least = max(int(values[0]) + 1, self.at_least or 0)
        self.present |= operator in ("In", "Exists", "Gt", "Lt")

    @property
    def impossible(self) -> bool:
        return self.values is not None and not self.values


@dataclass(slots=True)
class _Reading:
    """What one term, a conjunction, says."""

    models: frozenset[str] | None = None
    memory_mib: int = 0
    sharing: Sharing | None = None
    strange: list[str] = field(default_factory=list)

    @property
    def impossible(self) -> bool:
        return self.models is not None and not self.models


def read(spec: objects.PodSpec, known: KnownModels = gpu_models.BUILT_IN) -> Limits:
    """Read nodeSelector and required node affinity: all of the first, and any one term of the second."""
    readings = [_term(demands, known) for demands in _terms(spec) if not any(d.impossible for d in demands.values())]
    strange = tuple(dict.fromkeys(one for reading in readings for one in reading.strange))
    possible = [reading for reading in readings if not reading.impossible]
    if not possible:
        return Limits(models=frozenset(), strange=strange)
    models = [reading.models for reading in possible if reading.models is not None]
    sharings = {reading.sharing for reading in possible}
    return Limits(
        models=frozenset().union(*models) if len(models) == len(possible) else None,
        memory_mib=min(reading.memory_mib for reading in possible) or None,
        sharing=sharings.pop() if len(sharings) == 1 else None,
        strange=strange,
    )


def _terms(spec: objects.PodSpec) -> Iterator[dict[str, _Demand]]:
    """Yield each way to satisfy the selectors: the nodeSelector joined with one term of the affinity."""
    affinity = spec.affinity.node_affinity
    required = affinity.required if affinity else None
    alternatives = required.node_selector_terms if required else (objects.NodeSelectorTerm(),)
    for term in alternatives:
        if required and not term.match_expressions and not term.match_fields:
            continue  # an empty term matches no node
        demands: dict[str, _Demand] = {}
        for key, value in spec.node_selector.items():
            demands.setdefault(key, _Demand()).add("In", (value,))
        for one in sorted(term.match_expressions, key=lambda e: e.operator != "In"):  # NotIn takes from what In allows
            demands.setdefault(one.key, _Demand()).add(one.operator, one.values)
        yield demands


def _term(demands: Mapping[str, _Demand], known: KnownModels) -> _Reading:
    reading, sharings = _Reading(), set[Sharing | None]()
    for key, demand in demands.items():
        models = _models(key, demand, known, reading)
        if models is not None:
            reading.models = models if reading.models is None else reading.models & models
        reading.memory_mib = max(reading.memory_mib, _memory_mib(key, demand))
        sharings.add(_sharing(key, demand, known))
    reading.sharing = next((one for one in _PRECEDENCE if one in sharings), None)
    return reading


def _models(key: str, demand: _Demand, known: KnownModels, reading: _Reading) -> frozenset[str] | None:
    """Return the models that a demand on one label accepts; None where it names none."""
    if (found := _MODEL_IN_KEY.fullmatch(key)) and demand.present:
        model = known.canonical(found["model"])
        return frozenset({model.name}) if model else None
    if demand.values is None:
        return None
    if key in keys.INSTANCE_TYPES:
        instances = (instance_table.find(value) for value in demand.values)
        return frozenset(one.model for one in instances if one) or None
    if key not in MODEL_KEYS and not _MIG_PRODUCT.fullmatch(key):
        return None
    named = {value: known.canonical(value) for value in demand.values}
    reading.strange += sorted(f"{key}={value}" for value, model in named.items() if model is None)
    return frozenset(model.name for model in named.values() if model) or None


def _memory_mib(key: str, demand: _Demand) -> int:
    """Return the least memory that a demand on a memory label accepts; 0 where it asks for none."""
    unit = MEMORY_KEYS.get(key)
    if unit is None:
        return 0
    exact = [int(value) for value in demand.values or () if _INTEGER.fullmatch(value)]
    least = max(min(exact, default=0), demand.at_least or 0)
    return -(-least // 2**20) if least > _LARGEST_MIB else max(least * unit, 0)


def _sharing(key: str, demand: _Demand, known: KnownModels) -> Sharing | None:
    """Say how the nodes behind a demand share their cards; None where it does not tell."""
    values = demand.values
    if key == keys.GKE_PARTITION and demand.present:
        return Sharing.MIG
    if key in (keys.GKE_SHARING, keys.GKE_CLIENTS) and demand.present:
        return Sharing.TIMESLICE
    if key == keys.GFD_REPLICAS:
        fewest = min((int(value) for value in values or () if _INTEGER.fullmatch(value)), default=0)
        return Sharing.TIMESLICE if max(fewest, demand.at_least or 0) > 1 else None
    if not values:
        return None
    if key == keys.GFD_SHARING:
        return Sharing.TIMESLICE if values <= {"time-slicing", "mps"} else None
    if key in keys.MPS_FLAGS:
        return Sharing.TIMESLICE if values == {"true"} else None
    if key == "nvidia.com/mig.config":
        return Sharing.MIG if all(map(_MIG_CONFIG.fullmatch, values)) else None
    return _shared_product(known.canonical(value) for value in values) if key == keys.GFD_PRODUCT else None


def _shared_product(models: Iterable[Model | None]) -> Sharing | None:
    """Read the suffixes of product names: -MIG-1g.5gb is a slice, -SHARED a replica, GRID-…-8C a virtual card."""
    kinds = {
        Sharing.MIG
        if m and m.mig_profile
        else Sharing.TIMESLICE
        if m and m.shared
        else Sharing.VGPU
        if m and m.vgpu_profile
        else None
        for m in models
    }
    return kinds.pop() if len(kinds) == 1 else None
