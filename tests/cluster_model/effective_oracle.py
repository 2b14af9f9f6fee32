"""A slow twin of the effective request: walks through a pod's life and adds up who runs at the same time."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction

from cluster_model import objects
from tests.cluster_model import quantity_oracle

Amounts = dict[str, Fraction]
AT_POD_LEVEL = ("cpu", "memory", "hugepages-2Mi")


def total(spec: objects.PodSpec, assumed: Mapping[str, Fraction]) -> Amounts:
    """Return the highest sum of any moment, replaced by pod-level requests, plus the overhead."""
    highest: Amounts = {}
    for moment in _moments(spec):
        together: defaultdict[str, Fraction] = defaultdict(Fraction)
        for container in moment:
            for name, amount in {**assumed, **_asked(container)}.items():
                together[name] += amount
        highest = {name: max(highest.get(name, Fraction(0)), together[name]) for name in {*highest, *together}}
    highest |= {name: amount for name, amount in _read(spec.resources.requests).items() if name in AT_POD_LEVEL}
    for name, amount in _read(spec.overhead).items():
        highest[name] = highest.get(name, Fraction(0)) + amount
    return highest


def _moments(spec: objects.PodSpec) -> Iterator[list[objects.Container]]:
    started: list[objects.Container] = []
    for init in spec.init_containers:
        yield [*started, init]
        if init.restart_policy == "Always":
            started.append(init)
    yield [*started, *spec.containers]


def _asked(container: objects.Container) -> Amounts:
    return _read({**container.resources.limits, **container.resources.requests})


def _read(resources: objects.Resources) -> Amounts:
    exact = {name: quantity_oracle.parse(str(text)) for name, text in resources.items()}
    return {name: Fraction(quantity_oracle.rounded_up(amount, 1000), 1000) for name, amount in exact.items()}
