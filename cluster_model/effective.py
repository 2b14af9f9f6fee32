"""What a pod asks for in effect, by kube-scheduler's rules: containers, init phases, sidecars, pod level, overhead.

Amounts stay exact here (billionths); whoever needs integers rounds the sums up, as Kubernetes does.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from cluster_model import gpu_names, objects, quantity
from cluster_model.quantity import Nanos
from cluster_model.verdict import Problem

Amounts = dict[str, Nanos]
Phases = Callable[[Mapping[str, Nanos]], Amounts]  # sums a pod's containers up, given what they do not name

DEFAULT_MILLI_CPU = 100  # what scoring assumes of a container that names no CPU
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024
_SCORING_DEFAULTS: Mapping[str, Nanos] = {
    "cpu": Nanos(DEFAULT_MILLI_CPU * quantity.NANOS_PER_MILLI),
    "memory": Nanos(DEFAULT_MEMORY_BYTES * quantity.NANOS_PER_UNIT),
}
RULE = 'must be a non-negative quantity such as "1", "500m" or "2Gi"'


@dataclass(frozen=True, slots=True)
class Container:
    """What one container asks for; `restarts` marks an init container that is a native sidecar."""

    asked: Amounts
    restarts: bool = False


@dataclass(frozen=True, slots=True)
class Effective:
    """The pod's total, the same as scoring counts it, and the amounts that could not be read."""

    amounts: Amounts
    nonzero_milli_cpu: int
    nonzero_memory_bytes: int
    by_containers: Amounts  # with those defaults, whatever the pod asks for as a whole
    level: Amounts  # what it asks for as a whole
    overhead: Amounts
    containers: tuple[Container, ...]
    problems: tuple[Problem, ...]


def read(spec: objects.PodSpec, at: str = "spec") -> Effective:
    """Add up a pod's requests. An unreadable amount counts as absent and is reported under the path `at`."""
    problems: list[Problem] = []
    apps = _containers(spec.containers, f"{at}.containers", problems)
    inits = _containers(spec.init_containers, f"{at}.initContainers", problems)
    requests = amounts(spec.resources.requests, f"{at}.resources.requests", problems)
    limits = amounts(spec.resources.limits, f"{at}.resources.limits", problems)
    overhead = amounts(spec.overhead, f"{at}.overhead", problems)
    level = _pod_level(requests, limits, apps, inits)
    phases = partial(over_phases, apps, inits)
    total, nonzero = add_up(phases, level, overhead, bool(level))
    by_containers = _plus(phases(_SCORING_DEFAULTS), overhead) if level else nonzero
    cpu, memory = scored_units(nonzero)
    return Effective(total, cpu, memory, by_containers, level, overhead, apps + inits, tuple(problems))


def add_up(phases: Phases, level: Amounts, overhead: Amounts, has_level: bool) -> tuple[Amounts, Amounts]:
    """Return the total, and the same with defaults for what containers do not name; `phases` sums containers up.

    A pod that asks for something as a whole has defaults only for what is not in its total at all.
    """
    total = _plus({**phases({}), **level}, overhead)
    missing = {n: amount for n, amount in _SCORING_DEFAULTS.items() if not has_level or n not in total}
    return total, (_plus({**phases(missing), **level}, overhead) if missing else total)


def scored_units(nonzero: Amounts) -> tuple[int, int]:
    """Round CPU (in milli) and memory (in bytes) up."""
    return quantity.milli(nonzero.get("cpu", Nanos(0))), quantity.value(nonzero.get("memory", Nanos(0)))


def in_units(found: Amounts) -> dict[str, int]:
    """Round up to the integers that the scheduler compares (cpu in milli), tracked names only."""
    return {
        name: quantity.milli(amount) if name == "cpu" else quantity.value(amount)
        for name, amount in found.items()
        if gpu_names.is_tracked(name)
    }


def _containers(containers: Iterable[objects.Container], at: str, problems: list[Problem]) -> tuple[Container, ...]:
    read = []
    for index, container in enumerate(containers):
        path = f"{at}[{index}].resources"
        limits = amounts(container.resources.limits, f"{path}.limits", problems)
        requests = amounts(container.resources.requests, f"{path}.requests", problems)
        read.append(Container(_of_container(requests, limits), container.restart_policy == "Always"))
    return tuple(read)


def _of_container(requests: Amounts, limits: Amounts) -> Amounts:
    """Fill requests from limits, as the API server does; where both must be equal, the limit speaks."""
    if not limits:
        return requests
    overcommitted = {name: amount for name, amount in requests.items() if name not in limits or _overcommits(name)}
    return limits | overcommitted


def amounts(resources: objects.Resources, at: str, problems: list[Problem]) -> Amounts:
    """Read a resource list, each amount rounded up to thousandths as the API server stores it."""
    found: Amounts = {}
    for name, text in resources.items():
        try:
            amount = quantity.parse(text)
        except ValueError:
            problems.append(Problem(f"{at}[{name}]", text, RULE))
            continue
        if amount < 0:
            problems.append(Problem(f"{at}[{name}]", text, RULE))
            continue
        found[name] = Nanos(-(-amount // quantity.NANOS_PER_MILLI) * quantity.NANOS_PER_MILLI)
    return found


def over_phases(apps: Iterable[Container], inits: Iterable[Container], missing: Mapping[str, Nanos]) -> Amounts:
    """Take the highest of all phases: each init step beside the sidecars before it, then the apps with all sidecars.

    What a container does not name counts as much as `missing` says.
    """
    sidecars: Amounts = {}
    peak: Amounts = {}
    for init in inits:
        step = _plus(sidecars, {**missing, **init.asked})
        if init.restarts:
            sidecars = step
        peak = highest(peak, step)
    running = sidecars
    for app in apps:
        running = _plus(running, {**missing, **app.asked})
    return highest(running, peak)


def _pod_level(requests: Amounts, limits: Amounts, apps: Iterable[Container], inits: Iterable[Container]) -> Amounts:
    """Return the pod-level requests that replace the sum, with the API server's defaults from the limits."""
    given = {name: amount for name, amount in requests.items() if at_pod_level(name)}
    if not limits:
        return given
    summed = over_phases(apps, inits, {})
    for name, limit in limits.items():
        if name not in given and at_pod_level(name):
            given[name] = summed[name] if name in summed and _overcommits(name) else limit
    return given


def _plus(left: Amounts, right: Amounts) -> Amounts:
    if not right:
        return left
    total = dict(left)
    for name, amount in right.items():
        total[name] = Nanos(total.get(name, 0) + amount)
    return total


def highest(left: Amounts, right: Amounts) -> Amounts:
    """Take the higher of two amounts of each resource."""
    if not right:
        return left
    return {**left, **{name: max(left.get(name, amount), amount) for name, amount in right.items()}}


def at_pod_level(name: str) -> bool:
    """Say whether a pod may ask for a resource as a whole."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _overcommits(name: str) -> bool:
    return gpu_names.is_native(name) and not name.startswith("hugepages-")
