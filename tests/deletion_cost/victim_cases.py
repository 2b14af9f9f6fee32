"""Writes namespaces from a seed, as the API server would: a ReplicaSet to scale down and what stands around it.

Values come from small pools, and some do not vary within a case at all, so that every key is often the one to decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

Document = dict[str, Any]

COST = "controller.kubernetes.io/pod-deletion-cost"
NOW = 1_800_000_000
SECOND = 1_000_000_000
ODD_COSTS = (
    *("0", "-0", "-007", "2147483647", "-2147483648", "7", "-50"),  # read
    *("+5", "007", "2147483648", "-2147483649", " 5", "5\n", "1.5", "1e3", "0x1f", "1_0", "-1_0", "", "-", "--5", "٣"),
)
PHASES = ("Running", "Running", "Running", "Pending", "Unknown", "")
TARGET, ABOVE = "target", "above"


@dataclass(slots=True)
class World:
    """One case as it grows; `varies` says what differs between its pods."""

    random: Random
    varies: frozenset[str]
    moments: tuple[int, ...]  # seconds, that pods became Ready or were created at
    pods: list[Document] = field(default_factory=list)

    def pick(self, subject: str, pool: tuple[Any, ...]) -> Any:
        """One of the pool, or its first where this does not vary."""
        return self.random.choice(pool) if subject in self.varies else pool[0]


SUBJECTS = ("node", "phase", "ready", "cost", "since", "restarts", "sidecar", "created", "ended")


def case(seed: int) -> Document:
    """Write one case."""
    random = Random(seed)
    moments, now = _times(random)
    world = World(random, frozenset(one for one in SUBJECTS if random.random() < 0.5), moments)
    revisions = random.choice((0, 0, 1, 1, 2, 3))  # 0: bare
    replica_sets = [_replica_set(TARGET, ABOVE if revisions else None, "0")]
    replica_sets += [_replica_set(f"revision-{number}", ABOVE, str(number)) for number in range(1, revisions)]
    replica_sets += [_replica_set("stranger", "another", "9"), _odd_selector(random)]
    for _ in range(random.choice((2, 2, 3, 4, 6, 9, 14))):
        _add_pod(world, "0", TARGET)
    for _ in range(random.randrange(8)):
        _add_pod(world, str(random.randrange(3)), random.choice(("revision-1", "stranger", None)))
    random.shuffle(world.pods)
    return {"nowNanoseconds": now, "replicaSet": TARGET, "replicaSets": replica_sets, "pods": world.pods}


def rfc3339(seconds: int) -> str:
    """Write a metav1.Time."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_document(name: str, uid: str, labels: dict[str, str], owner: str | None) -> Document:
    """Write a pod with one container and one sidecar, and an init container that was restarted very often."""
    owners = [] if owner is None else [_owner("apps/v1", "ReplicaSet", owner)]
    meta = {"name": name, "namespace": "d", "uid": uid, "labels": labels, "ownerReferences": owners}
    once, side = {"name": "once"}, {"name": "side", "restartPolicy": "Always"}
    spec = {"containers": [{"name": "main"}], "initContainers": [once, side]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {}}


def _times(random: Random) -> tuple[tuple[int, ...], int]:
    """A few moments before the present one, some a power of two of nanoseconds ago, some close by, one ahead."""
    now = NOW * SECOND + random.choice((0, random.randrange(SECOND)))
    moments = [(now - 2 ** random.randrange(28, 59)) // SECOND for _ in range(2)]
    moments += [moments[0] - 1, moments[0] * 2 - NOW, NOW + random.randrange(-1, 3)]
    if random.random() < 0.5:
        now = moments[0] * SECOND + 2 ** random.randrange(31, 58) + random.randrange(-1, 2)
    return tuple(moments), now


def _owner(version: str, kind: str, uid: str) -> Document:
    return {"apiVersion": version, "kind": kind, "name": uid, "uid": uid, "controller": True}


def _replica_set(uid: str, above: str | None, revision: str) -> Document:
    owners = [] if above is None else [_owner("apps/v1", "Deployment", above)]
    meta = {"name": uid, "namespace": "d", "uid": uid, "ownerReferences": owners}
    selector = {"matchLabels": {"app": "a", "revision": revision}}
    return {"metadata": meta, "spec": {"replicas": 1, "selector": selector}}


def _odd_selector(random: Random) -> Document:
    """A sibling whose selector says things in another way, or nothing that can be read."""
    found = _replica_set("odd", ABOVE, "")
    found["spec"]["selector"] = random.choice(
        (
            None,
            {"matchLabels": {"app": "not a value!"}},
            {"matchExpressions": [{"key": "revision", "operator": "In", "values": ["1", "2"]}]},
            {"matchExpressions": [{"key": "revision", "operator": "NotIn", "values": ["0"]}]},
            {"matchLabels": {"app": "b"}},
        )
    )
    return found


def _add_pod(world: World, revision: str, owner: str | None) -> None:
    number = len(world.pods)
    uid = f"{world.random.randrange(16**6):06x}-{number}"
    pod = pod_document(f"p{number}", uid, {"app": "a", "revision": revision}, owner)
    _set_meta(world, pod["metadata"])
    if node := world.pick("node", ("n0", "n1", "n1", "n2", "")):
        pod["spec"]["nodeName"] = node
    pod["status"] = _status(world)
    world.pods.append(pod)


def _set_meta(world: World, meta: Document) -> None:
    cost = world.pick("cost", (None, None, "-1", "1", world.random.choice(ODD_COSTS)))
    if cost is not None:
        meta["annotations"] = {COST: cost}
    created = world.pick("created", (*world.moments, None))
    meta["creationTimestamp"] = None if created is None else rfc3339(created)
    if "ended" in world.varies and world.random.random() < 0.15:
        meta["deletionTimestamp"] = rfc3339(NOW)


def _status(world: World) -> Document:
    ended = "ended" in world.varies and world.random.random() < 0.15
    status = {
        "phase": world.random.choice(("Failed", "Succeeded")) if ended else world.pick("phase", PHASES),
        "containerStatuses": [{"name": "main", "restartCount": world.pick("restarts", (0, 0, 1, 5))}],
        "initContainerStatuses": [
            {"name": "once", "restartCount": world.random.randrange(100)},
            {"name": "side", "restartCount": world.pick("sidecar", (0, 0, 2))},
        ],
    }
    ready = world.pick("ready", ("True", "True", "False", "Unknown", None))
    since = world.pick("since", (*world.moments, None))
    time = None if since is None else rfc3339(since)
    conditions: list[Document] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": rfc3339(NOW)}]
    if ready is not None:
        conditions.append({"type": "Ready", "status": ready, "lastTransitionTime": time})
    return {**status, "conditions": conditions}
