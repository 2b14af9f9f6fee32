"""Generators for InterPodAffinity: terms of every form, on the pod to place and on those that are there already."""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.affinity import PREFERRED, REQUIRED
from tests.differential.documents import HOSTNAME, ZONE, Document, requirement
from tests.differential.spread_cases import RACK, about, crowd, topologies
from tests.differential.world import World

NAMESPACES = ("default", "other", "third")
KEYS = (HOSTNAME, ZONE, ZONE, RACK, "absent")
WEIGHTS = (1, 2, 29, 50, 100)
KINDS = ("podAffinity", "podAntiAffinity")


def inter_pod_affinity(world: World) -> None:
    """Give terms to the pod, and to others about it."""
    topologies(world)
    crowd(world)
    _label_namespaces(world)
    for one in world.pods:
        if world.seldom(2):
            _give(world, one, (8, 3, 3, 3))
    if not world.seldom(3):
        _give(world, world.pod, (3, 3, 3, 3))
    if world.seldom(3):
        args = {
            "hardPodAffinityWeight": world.of((0, 1, 7, 100)),
            "ignorePreferredTermsOfExistingPods": world.seldom(2),
        }
        world.args["InterPodAffinity"] = args


def crowded_affinity(world: World) -> None:
    """Let the pod be near and apart from the many that look like it, as the pods of one Deployment do."""
    topologies(world)
    for one in world.everybody():
        one["metadata"].setdefault("labels", {})["app"] = "web"
    about = {"labelSelector": {"matchLabels": {"app": "web"}}}
    kind, key = world.of(KINDS), world.of((HOSTNAME, ZONE, RACK))
    for one in [world.pod, *world.some(world.pods)]:
        wanted: Document = {REQUIRED: [{**about, "topologyKey": key}]}
        if world.seldom(2):
            wish = {**about, "topologyKey": world.of((HOSTNAME, ZONE, RACK))}
            wanted = {PREFERRED: [{"weight": world.of(WEIGHTS), "podAffinityTerm": wish}]}
        one["spec"].setdefault("affinity", {})[kind] = wanted


def _label_namespaces(world: World) -> None:
    listed = world.others.setdefault("namespaces", [])
    for name in world.some(NAMESPACES):
        if all(one["metadata"]["name"] != name for one in listed):
            labels = {"team": world.of("ab")} if not world.seldom(3) else {}
            listed.append({"metadata": {"name": name, "labels": labels}})


def _give(world: World, found: Document, seldom: tuple[int, int, int, int]) -> None:
    """Give a pod terms of the four sorts, each as seldom as said."""
    for kind, required, preferred in (("podAffinity", *seldom[:2]), ("podAntiAffinity", *seldom[2:])):
        wanted: Document = {}
        if world.seldom(required):
            wanted[REQUIRED] = [_term(world, found) for _ in range(world.rng.randint(1, 2))]
        if world.seldom(preferred):
            wanted[PREFERRED] = list(_wishes(world, found))
        if wanted:
            found["spec"].setdefault("affinity", {})[kind] = wanted


def _wishes(world: World, found: Document) -> Iterator[Document]:
    for _ in range(world.rng.randint(1, 3)):
        yield {"weight": world.of(WEIGHTS), "podAffinityTerm": _term(world, found)}


def _term(world: World, found: Document) -> Document:
    """Make a term; keys to share or not to share come with a selector that does not name them."""
    term: Document = {"topologyKey": world.of(KEYS)}
    if not world.seldom(10):
        term["labelSelector"] = about(world, found)
        if not term["labelSelector"].get("matchExpressions") and world.seldom(5):
            term[world.of(("matchLabelKeys", "mismatchLabelKeys"))] = ["tier"]
    if world.seldom(4):
        term["namespaces"] = world.some(NAMESPACES)
    if world.seldom(3):
        term["namespaceSelector"] = _namespace_selector(world)
    return term


def _namespace_selector(world: World) -> Document:
    expression = requirement("team", world.of(("Exists", "DoesNotExist")))
    choices: tuple[Document, ...] = (
        {},
        {"matchLabels": {"team": world.of("ab")}},
        {"matchExpressions": [expression]},
        {"matchExpressions": [requirement("team", "NotIn", "a")]},
    )
    return world.of(choices)
