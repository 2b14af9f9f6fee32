"""Generator for NodeAffinity: labels on nodes, selectors, terms of every operator, and the profile's own affinity."""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential.documents import ZONE, Document, requirement
from tests.differential.world import World

KEYS = ("pool", "rank", "example.com/tier")
VALUES = ("", "a", "b", "1", "7", "03", "99999999999999999999")
NUMBERS = ("0", "1", "3", "007")
# The API server lets these pass in a pod; in a preferred term, and in the profile's, they are errors.
NO_NUMBERS = ("a", "99999999999999999999")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def node_affinity(world: World) -> None:
    """Label the nodes and let the pod, and seldom the profile, choose among them."""
    for one in world.nodes:
        one["metadata"]["labels"] |= {key: world.of(VALUES) for key in world.some(KEYS)}
    if world.seldom(3):
        world.spec()["nodeSelector"] = {world.of(KEYS): world.of(VALUES)}
    affinity = _affinity(world, (*NUMBERS, *NO_NUMBERS))
    if affinity:
        world.spec().setdefault("affinity", {}).setdefault("nodeAffinity", {}).update(affinity)
    added = _affinity(world, NUMBERS) if world.seldom(5) else {}
    if added:
        world.args["NodeAffinity"] = {"addedAffinity": added}


def malformed_preference(world: World) -> None:
    """Prefer nodes by a bound that is no number, which the API server lets pass: scoring then fails as a whole."""
    preference = {"matchExpressions": [requirement(world.of(KEYS), world.of(("Gt", "Lt")), world.of(NO_NUMBERS))]}
    affinity = world.spec().setdefault("affinity", {}).setdefault("nodeAffinity", {})
    affinity.setdefault(PREFERRED, []).append({"weight": world.of((1, 50)), "preference": preference})


def _affinity(world: World, bounds: Sequence[str]) -> Document:
    found: Document = {}
    if world.seldom(2):
        found[REQUIRED] = {"nodeSelectorTerms": [_term(world, bounds) for _ in range(world.rng.randint(1, 3))]}
    preferred = [{"weight": world.of((1, 2, 29, 100)), "preference": _wish(world)} for _ in world.up_to(3)]
    return found | ({PREFERRED: preferred} if preferred else {})


def _wish(world: World) -> Document:
    """Make a preferred term; half of them some nodes meet and others do not."""
    return _term(world, NUMBERS) if world.seldom(2) else {"matchExpressions": [requirement(ZONE, "In", world.of("ab"))]}


def _term(world: World, bounds: Sequence[str]) -> Document:
    """Make a term of label and field requirements; an empty one matches nothing."""
    term: Document = {}
    if not world.seldom(6):
        term["matchExpressions"] = [_requirement(world, bounds) for _ in world.up_to(3)]
    if world.seldom(4):
        term["matchFields"] = [_field(world) for _ in range(world.rng.randint(1, 2))]
    return term


def _requirement(world: World, bounds: Sequence[str]) -> Document:
    operator = world.of(OPERATORS)
    if operator in ("In", "NotIn"):
        return requirement(world.of(KEYS), operator, *world.rng.sample(VALUES, world.rng.randint(1, 3)))
    return requirement(world.of(KEYS), operator, *((world.of(bounds),) if operator in ("Gt", "Lt") else ()))


def _field(world: World) -> Document:
    names = [*(one["metadata"]["name"] for one in world.nodes), "nowhere"]
    return requirement("metadata.name", world.of(("In", "In", "NotIn")), world.of(names))
