"""Generators for PodTopologySpread: groups of pods in uneven topologies, constraints of every form, and owners."""

from __future__ import annotations

from tests.differential.documents import HOSTNAME, ZONE, Document, requirement
from tests.differential.world import World

RACK = "example.com/rack"
KEYS = (HOSTNAME, ZONE, RACK)
APPS = ("web", "db", "")
HARD, SOFT = ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = ("Honor", "Ignore")
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def pod_topology_spread(world: World) -> None:
    """Let the pod list constraints, or have the profile's for its owners."""
    topologies(world)
    crowd(world)
    if not world.seldom(3):
        found = dict.fromkeys((world.of(KEYS), world.of(ACTIONS)) for _ in world.up_to(3))
        world.spec()["topologySpreadConstraints"] = [_constraint(world, *one) for one in found]
    if world.seldom(2):
        owners(world)
    if world.seldom(3):
        world.args["PodTopologySpread"] = _args(world)


def crowded_spread(world: World) -> None:
    """Let the pod keep even with the many that look like it, as the pods of one Deployment do."""
    topologies(world)
    for one in world.everybody():
        one["metadata"].setdefault("labels", {})["app"] = "web" if not world.seldom(5) else "db"
    found = dict.fromkeys((world.of((HOSTNAME, ZONE, RACK)), world.of((HARD, HARD, SOFT))) for _ in range(2))
    about_web = {"labelSelector": {"matchLabels": {"app": "web"}}}
    world.spec()["topologySpreadConstraints"] = [_constraint(world, *one) | about_web for one in found]


def default_spread(world: World) -> None:
    """Let the pod list nothing and have owners, as the pods of a Deployment do."""
    topologies(world)
    crowd(world)
    owners(world)
    if world.seldom(3):
        world.args["PodTopologySpread"] = _args(world)


def topologies(world: World) -> None:
    """Put nodes in racks and zones, some in none and some in one without a name; close some to the pod."""
    for one in world.nodes:
        labels = one["metadata"]["labels"]
        if not world.seldom(4):
            labels[RACK] = world.of(("r1", "r2", "r3", ""))
        if world.seldom(6):
            labels[ZONE] = ""
        if world.seldom(8):
            labels.pop(ZONE, None)
        if world.seldom(12):
            labels.pop(HOSTNAME, None)
        if world.seldom(5):
            _taint(one["spec"].setdefault("taints", []))
        if world.seldom(3):
            labels["pool"] = "a"
    if world.seldom(5):
        world.spec().setdefault("nodeSelector", {})["pool"] = "a"
    if world.seldom(3):
        world.spec().setdefault("tolerations", []).append({"key": "dedicated", "operator": "Exists"})


def _taint(taints: list[Document]) -> None:
    """Add a taint, of which there is one of a key and an effect."""
    if all((one["key"], one["effect"]) != (TAINT["key"], TAINT["effect"]) for one in taints):
        taints.append(TAINT)


def crowd(world: World) -> None:
    """Label the pods, and put some in another namespace."""
    for one in world.everybody():
        labels = one["metadata"].setdefault("labels", {})
        labels |= {key: world.of(values) for key, values in (("app", APPS), ("tier", "xy")) if not world.seldom(4)}
        if one is not world.pod and world.seldom(6):
            one["metadata"]["namespace"] = "other"
    if world.seldom(8):
        world.pod["metadata"]["namespace"] = "other"


def selector(world: World) -> Document:
    """Make a label selector; an empty one matches everything."""
    found: Document = {}
    if not world.seldom(3):
        found["matchLabels"] = {"app": world.of(APPS)}
    if world.seldom(3):
        found["matchExpressions"] = [_expression(world) for _ in range(world.rng.randint(1, 2))]
    return found


def about(world: World, found: Document) -> Document:
    """Select pods like a given one half of the time."""
    app = found["metadata"].get("labels", {}).get("app")
    return {"matchLabels": {"app": app}} if app is not None and world.seldom(2) else selector(world)


def owners(world: World) -> None:
    """Let Services, and now and then a controller, select the pod or others."""
    for _ in world.up_to(2):
        chosen = {"app": _own(world, "app")} if not world.seldom(3) else {"tier": world.of("xy")}
        spec = {} if world.seldom(6) else {"selector": {} if world.seldom(8) else chosen}
        _add(world, "services", spec)
    if world.seldom(2):
        _own_by(world, world.of(("ReplicaSet", "ReplicaSet", "StatefulSet", "ReplicationController", "Job")))


def _own(world: World, key: str) -> str:
    found: str = world.pod["metadata"]["labels"].get(key, "web")
    return found


def _own_by(world: World, kind: str) -> None:
    listed = {
        "ReplicaSet": "replicaSets",
        "StatefulSet": "statefulSets",
        "ReplicationController": "replicationControllers",
    }
    version = {"ReplicationController": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
    reference = {"apiVersion": version, "kind": kind, "name": "owner", "uid": "u", "controller": not world.seldom(8)}
    world.pod["metadata"]["ownerReferences"] = [reference]
    if kind not in listed or world.seldom(8):
        return
    wanted = {"app": _own(world, "app")}
    own = (
        wanted
        if kind == "ReplicationController"
        else {}
        if world.seldom(8)
        else selector(world) | {"matchLabels": wanted}
    )
    _add(world, listed[kind], {"selector": own}, "owner")


def _add(world: World, kind: str, spec: Document, name: str = "") -> None:
    """Add an object, mostly in the pod's namespace; the first of a name stays."""
    listed = world.others.setdefault(kind, [])
    place = world.of((world.pod["metadata"]["namespace"],) * 5 + ("default", "other"))
    found = {"name": name or f"n{len(listed)}", "namespace": place}
    if all(one["metadata"] != found for one in listed):
        listed.append({"metadata": found, "spec": spec})


def _expression(world: World) -> Document:
    operator = world.of(("In", "NotIn", "Exists", "DoesNotExist"))
    values = world.rng.sample(APPS, world.rng.randint(1, 2)) if operator in ("In", "NotIn") else ()
    return requirement(world.of(("app", "tier", "absent")), operator, *values)


def _constraint(world: World, key: str, action: str) -> Document:
    """Make one that the API server takes: keys to share come with a selector that does not name them."""
    found: Document = {"topologyKey": key, "whenUnsatisfiable": action, "maxSkew": world.of((1, 1, 1, 2, 3))}
    if not world.seldom(8):
        found["labelSelector"] = about(world, world.pod)
        if not found["labelSelector"].get("matchExpressions") and world.seldom(3):
            found["matchLabelKeys"] = world.of((["tier"], ["absent"], ["tier", "absent"]))
    return found | _policies(world, action)


def _policies(world: World, action: str) -> Document:
    found: Document = {}
    if action == HARD and world.seldom(3):
        found["minDomains"] = world.rng.randint(1, 4)
    if world.seldom(3):
        found["nodeAffinityPolicy"] = world.of(POLICIES)
    if world.seldom(2):
        found["nodeTaintsPolicy"] = world.of(POLICIES)
    return found


def _args(world: World) -> Document:
    if world.seldom(4):
        return {"defaultingType": "System"}
    chosen = dict.fromkeys((world.of(KEYS), world.of(ACTIONS)) for _ in world.up_to(3))
    constraints = [
        {"topologyKey": key, "whenUnsatisfiable": action, "maxSkew": world.of((1, 2, 5))} | _policies(world, action)
        for key, action in chosen
    ]
    return {"defaultingType": "List", "defaultConstraints": constraints}
