"""Writes cases from a seed: each plugin alone, three together, and the whole default profile, in turn.

A plugin has a generator, a function that changes a world so that the plugin finds something to say in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import TypeAlias

from tests.differential import affinity, profiles, resources, simple, world
from tests.differential.documents import Document, config, default_config
from tests.differential.world import World

Generator: TypeAlias = Callable[[World], None]

GENERATORS: Mapping[str, Generator] = {
    "NodeName": simple.node_name,
    "NodeUnschedulable": simple.node_unschedulable,
    "TaintToleration": simple.taint_toleration,
    "NodeAffinity": affinity.node_affinity,
    "NodePorts": simple.node_ports,
    "NodeResourcesFit": resources.node_resources_fit,
    "NodeResourcesBalancedAllocation": resources.balanced_allocation,
}
MIXED = 3
PARTS = ("alone", "mixed", "default")


def cases(seed: int, count: int, plugins: Sequence[str] = tuple(GENERATORS)) -> Iterator[Document]:
    """Yield cases; each depends on the seed, its own number and the plugins only."""
    return (case(seed, number, plugins) for number in range(count))


def case(seed: int, number: int, plugins: Sequence[str] = tuple(GENERATORS)) -> Document:
    """Write one case. Its plugins are configured alone, or stand among all of the default profile."""
    rng = Random(f"{seed}/{number}")
    part = PARTS[number % len(PARTS)]
    chosen = [plugins[number // len(PARTS) % len(plugins)]]
    if part != "alone":
        chosen = rng.sample(plugins, min(MIXED, len(plugins)))
    made = world.start(rng)
    for plugin in chosen:
        GENERATORS[plugin](made)
    found = {"id": f"{seed}/{number}", "nodes": made.nodes, "pods": made.pods, "pod": made.pod, **made.others}
    return found | {"config": default_config(made.args) if part == "default" else _config(made, chosen)}


def _config(made: World, chosen: Iterable[str]) -> Document:
    """Configure the chosen plugins, seldom with weights of other than the default."""
    plugins = profiles.weighted(chosen)
    if made.seldom(3):
        plugins = [(name, weight and made.of((1, 2, 5))) for name, weight in plugins]
    return config(plugins, {name: args for name, args in made.args.items() if name in chosen})
