"""What a pod holds on its node while its size changes: the most of what it asks for, was allotted and has in use.

By kube-scheduler's rules for pods that count on a node. Knows only amounts, like `effective`.
"""

import dataclasses
from collections.abc import Mapping

from cluster_model import effective, objects
from cluster_model.effective import Amounts, Container, Effective
from cluster_model.quantity import Nanos

PENDING, INFEASIBLE = "PodResizePending", "Infeasible"


def held(pod: objects.Pod, asked: Effective) -> Effective:
    """Return what the pod holds, given what it asks for. Without a word in its status both are the same."""
    if not _says_anything(pod.status):
        return asked
    sizes = _Sizes.read(pod, asked)
    level = _level(pod.status, asked.level)
    amounts, nonzero = effective.add_up(sizes.over_phases, level, asked.overhead, bool(asked.level))
    cpu, memory = effective.scored_units(nonzero)
    return dataclasses.replace(asked, amounts=amounts, nonzero_milli_cpu=cpu, nonzero_memory_bytes=memory)


def same(new: objects.PodStatus, old: objects.PodStatus) -> bool:
    """Say whether two statuses tell the same of a pod's size."""
    return (
        new.container_statuses == old.container_statuses
        and new.init_container_statuses == old.init_container_statuses
        and new.allocated_resources == old.allocated_resources
        and new.resources == old.resources
        and _refused(new) == _refused(old)
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Sizes:
    """The three sizes of each container, apps before init containers; as a whole where the status says so."""

    apps: int
    asked: tuple[Container, ...] | None  # None: does not count
    allotted: tuple[Container, ...] | Amounts
    used: tuple[Container, ...] | Amounts

    @classmethod
    def read(cls, pod: objects.Pod, found: Effective) -> "_Sizes":
        status, refused = pod.status, _refused(pod.status)
        asked = None if refused else found.containers
        requests = None if status.resources is None else status.resources.requests
        if status.allocated_resources and requests:
            return cls(len(pod.spec.containers), asked, _amounts(status.allocated_resources), _amounts(requests))
        told = {one.name: one for one in (*status.init_container_statuses, *status.container_statuses)}
        named = [told.get(one.name) for one in (*pod.spec.containers, *pod.spec.init_containers)]
        fallback = tuple(Container({}, one.restarts) for one in found.containers) if refused else found.containers
        allotted = tuple(_allotted(one, known) for one, known in zip(named, fallback, strict=True))
        used = tuple(_used(one, known) for one, known in zip(named, allotted, strict=True))
        return cls(len(pod.spec.containers), asked, allotted, used)

    def over_phases(self, missing: Mapping[str, Nanos]) -> Amounts:
        """Take the highest of the three, each summed by itself."""
        highest = effective.highest(self._summed(self.allotted, missing), self._summed(self.used, missing))
        return highest if self.asked is None else effective.highest(self._summed(self.asked, missing), highest)

    def _summed(self, found: tuple[Container, ...] | Amounts, missing: Mapping[str, Nanos]) -> Amounts:
        if isinstance(found, dict):
            return found
        return effective.over_phases(found[: self.apps], found[self.apps :], missing)


def _says_anything(status: objects.PodStatus) -> bool:
    containers = (*status.container_statuses, *status.init_container_statuses)
    sized = any(one.allocated_resources or one.resources is not None for one in containers)
    return sized or bool(status.allocated_resources) or status.resources is not None or _refused(status)


def _refused(status: objects.PodStatus) -> bool:
    """Whether the node can never give the pod its new size; the first condition of the kind counts."""
    return next((one.reason for one in status.conditions if one.type == PENDING), "") == INFEASIBLE


def _level(status: objects.PodStatus, asked: Amounts) -> Amounts:
    """Return what the pod holds as a whole, where it asks for something as a whole."""
    if not asked or status.resources is None:
        return asked
    told = effective.highest(_amounts(status.resources.requests), _amounts(status.allocated_resources or {}))
    told = {name: amount for name, amount in told.items() if effective.at_pod_level(name)}
    return told if _refused(status) else effective.highest(asked, told)


def _allotted(told: objects.ContainerStatus | None, known: Container) -> Container:
    if told is None or not told.allocated_resources:
        return known
    return Container(_amounts(told.allocated_resources), known.restarts)


def _used(told: objects.ContainerStatus | None, known: Container) -> Container:
    if told is None or told.resources is None or not told.resources.requests:
        return known
    return Container(_amounts(told.resources.requests), known.restarts)


def _amounts(resources: objects.Resources) -> Amounts:
    """Read amounts that the node's agent wrote; one that is none counts as absent."""
    return effective.amounts(resources, "status", [])
