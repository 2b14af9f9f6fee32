"""The whole reading of one workload's pod: our own request, foreign vocabularies, selectors and claims put together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from cluster_model import claims, effective, foreign_request, gpu_names, model_selectors, quantity, request
from cluster_model.claims import Context
from cluster_model.effective import Effective
from cluster_model.foreign_request import Foreign
from cluster_model.gpu_annotations import DEFAULT_RULES, Rules
from cluster_model.gpu_names import Sharing
from cluster_model.model_selectors import Limits
from cluster_model.quantity import Nanos
from cluster_model.request import PodRequest
from cluster_model.workload import Workload


@dataclass(frozen=True, slots=True)
class PodReading:
    """What one pod asks for, in every vocabulary that we know."""

    gpus: int | Literal["invalid"]  # nvidia.com/gpu
    resources: Mapping[str, int | float]  # in units, claims as claim:<class>
    models: tuple[str, ...] | None  # None: any
    memory_mib: int | None
    sharing: Sharing
    fraction: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The separate readings, before they are put together."""

    total: Effective
    request: PodRequest
    foreign: Foreign
    limits: Limits
    devices: Mapping[str, int]


def read(workload: Workload, context: Context, rules: Rules = DEFAULT_RULES) -> PodReading:
    """Read a workload's pod; claims are resolved in `context`."""
    pod, prefix = workload.pod, f"{workload.at}." if workload.at else ""
    total = effective.read(pod.spec, f"{prefix}spec")
    parts = _Parts(
        total=total,
        request=request.parse(pod, rules, workload.at),
        foreign=foreign_request.read(pod.metadata.annotations, total.containers, rules.known),
        limits=model_selectors.read(pod.spec, rules.known),
        devices=claims.devices(pod.spec, context, workload.namespace),
    )
    models = _models(parts)
    return PodReading(
        gpus=_gpus(total),
        resources=_resources(parts),
        models=None if models is None else tuple(sorted(models)),
        memory_mib=_memory_mib(parts),
        sharing=_sharing(parts, context),
        fraction=parts.request.gpu.fraction or parts.foreign.fraction,
        notes=(*workload.notes, *_unlimited(workload), *_notes(parts, models)),
    )


def _gpus(total: Effective) -> int | Literal["invalid"]:
    """Return the whole GPUs; a fraction or an unreadable amount is never rounded here."""
    asked = _amounts_of(gpu_names.GPU, total)
    unreadable = any(problem.path.endswith(f"[{gpu_names.GPU}]") for problem in total.problems)
    if unreadable or not all(map(quantity.is_whole, asked)):
        return "invalid"
    return quantity.value(total.amounts.get(gpu_names.GPU, Nanos(0)))


def _resources(parts: _Parts) -> dict[str, int | float]:
    tracked = {name: amount for name, amount in parts.total.amounts.items() if gpu_names.is_tracked(name)}
    in_units = {
        name: quantity.value(amount) if quantity.is_whole(amount) else amount / quantity.NANOS_PER_UNIT
        for name, amount in tracked.items()
    }
    return {**in_units, **{f"claim:{name}": count for name, count in parts.devices.items()}}


def _models(parts: _Parts) -> frozenset[str] | None:
    """Intersect what annotations and selectors accept; None: any model will do."""
    annotated = frozenset(model.name for model in parts.request.gpu.models) or None
    accepted: frozenset[str] | None = None
    for models in (annotated, parts.foreign.models, parts.limits.models):
        if models is not None:
            accepted = models if accepted is None else accepted & models
    return None if accepted is None else accepted - parts.foreign.avoided


def _memory_mib(parts: _Parts) -> int | None:
    gpu = parts.request.gpu
    sized = min((model.memory_mib or 0 for model in gpu.models), default=0)
    asked = (gpu.memory_mib, sized, parts.foreign.memory_mib, parts.limits.memory_mib)
    return max(mib or 0 for mib in asked) or None


def _sharing(parts: _Parts, context: Context) -> Sharing:
    served = context.extended_names() & {name for name, amount in parts.total.amounts.items() if amount > 0}
    by_class = Sharing.DRA if served or parts.devices else None
    on_gpus = parts.limits.sharing if parts.request.gpu.asks else None
    return foreign_request.strongest((by_class, parts.foreign.sharing, on_gpus))


def _rejected(total: Effective) -> Iterator[str]:
    """Yield what an API server refuses about the amounts, so that nobody takes the reading for an admitted pod."""
    for name in sorted({name for container in total.containers for name in container.asked}):
        if not gpu_names.is_tracked(name):
            yield f"api-rejects: {name} must be a standard resource type or have a domain"
        elif gpu_names.is_extended(name) and not all(map(quantity.is_whole, _amounts_of(name, total))):
            yield f"api-rejects: {name} must be an integer"


def _amounts_of(name: str, total: Effective) -> Iterator[Nanos]:
    return (container.asked[name] for container in total.containers if name in container.asked)


def _unlimited(workload: Workload) -> Iterator[str]:
    """Yield the extended resources whose limit is absent or differs from the request."""
    for container in (*workload.pod.spec.init_containers, *workload.pod.spec.containers):
        limits, requests = container.resources.limits, container.resources.requests
        for name, asked in requests.items():
            if gpu_names.is_extended(name) and str(limits.get(name)) != str(asked):
                yield f"api-rejects: container {container.name}: {name} must have a limit equal to its request"


def _notes(parts: _Parts, models: frozenset[str] | None) -> Iterator[str]:
    yield from map(str, parts.request.problems)
    yield from parts.request.warnings
    yield from parts.foreign.notes
    yield from _rejected(parts.total)
    yield from (f"{one} names no known GPU model and does not limit" for one in parts.limits.strange)
    if claims.UNKNOWN in parts.devices:
        yield "a resource claim, or its class, is not in this file"
    if models is not None and not models:
        yield "selectors and annotations contradict one another: no GPU model satisfies them"
    yield from (
        f"{path} is not implemented: the scheduler leaves such a pod pending" for path in parts.request.unsupported
    )
