"""The requests and limits of a whole pod as its spec has them, in units and with the name of the unit.

For reports: what a pod holds while its size changes, and rounding, are matters of `request`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cluster_model import effective, objects, quantity
from cluster_model.effective import Amounts, Container
from cluster_model.quantity import Nanos

_UNITS = {"cpu": "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}


@dataclass(frozen=True, slots=True)
class PodResources:
    """Both totals, without what is nought."""

    requests: dict[str, float]
    limits: dict[str, float]


def read(spec: objects.PodSpec) -> PodResources:
    """Add up a pod's requests and limits; what cannot be read counts as absent."""
    return PodResources(_in_units(effective.read(spec).amounts), _in_units(_limits(spec)))


def unit(resource: str) -> str:
    """Name the unit of a resource as kube-scheduler does; "" where it has none."""
    if resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else _UNITS.get(resource, "")


def _limits(spec: objects.PodSpec) -> Amounts:
    """Sum limits up as requests are; overhead adds to those that are set."""
    total = effective.over_phases(_limited(spec.containers), _limited(spec.init_containers), {})
    for name, amount in _amounts(spec.resources.limits).items():
        if effective.at_pod_level(name):
            total = {**total, name: amount}
    for name, amount in _amounts(spec.overhead).items():
        if total.get(name):
            total = {**total, name: Nanos(total[name] + amount)}
    return total


def _limited(containers: Iterable[objects.Container]) -> list[Container]:
    return [Container(_amounts(one.resources.limits), one.restart_policy == "Always") for one in containers]


def _amounts(resources: objects.Resources) -> Amounts:
    return effective.amounts(resources, "", []) if resources else {}


def _in_units(found: Amounts) -> dict[str, float]:
    return {name: amount / quantity.NANOS_PER_UNIT for name, amount in found.items() if amount}
