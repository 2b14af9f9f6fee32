"""Pods to stand before the real ReplicaSet controller, as far as the API lets a client set what it sorts by."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.control_plane import pods
from tests.control_plane.api import Json
from tests.deletion_cost.victim_cases import COST, rfc3339

NODES = ("victims-0", "victims-1", "victims-2")
COSTS = (None, None, "-50", "7", "-007", "0", "2147483647", "-2147483648")
# Half way between powers of two of nanoseconds, so that a minute of waiting moves no pod across one.
READY_SECONDS = (206, 412, 824, 3298, 26388, 105553)
AHEAD_SECONDS = -7200
SUBJECTS = ("node", "unassigned", "phase", "ready", "cost", "since")


@dataclass(frozen=True, slots=True)
class Plan:
    """One pod to be: pods of wave 1 are created long enough after those of wave 0 to be younger."""

    wave: int
    node: str
    cost: str | None
    phase: str
    is_ready: bool
    ready_seconds: int
    restarts: int
    sidecar_restarts: int

    def document(self, name: str, labels: dict[str, str]) -> Json:
        """The pod as it is created, owned by nobody yet."""
        notes = {} if self.cost is None else {COST: self.cost}
        once, side = {"name": "once", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"}
        spec: Json = {"containers": [{"name": "main", "image": "i"}], "initContainers": [once, side]}
        spec["schedulerName"] = "nobody"
        if self.node:
            spec["nodeName"] = self.node
        return {"metadata": {"name": name, "labels": labels, "annotations": notes}, "spec": spec}

    def status(self, pod: Json, now: int) -> Json:
        """The patch of the created pod's status; Ready times are counted back from `now`."""
        patch = pods.running(pod, "10.128.1.1")
        status = patch["status"]
        status["phase"] = self.phase
        ready = next(one for one in status["conditions"] if one["type"] == "Ready")
        ready |= {"status": str(self.is_ready), "lastTransitionTime": rfc3339(now - self.ready_seconds)}
        status["containerStatuses"][0]["restartCount"] = self.restarts
        once, side = status["initContainerStatuses"]
        once["restartCount"], side["restartCount"] = 50, self.sidecar_restarts
        return patch


def plans(seed: int) -> list[Plan]:
    """Plan the pods of one ReplicaSet: no two tie in every key."""
    random = Random(seed)
    varies = [one for one in SUBJECTS if random.random() < 0.4]
    count = random.randrange(4, 8)
    last = random.choice((_by_restarts, _by_sidecar, _by_wave))
    return [_plan(random, varies, number, last(number)) for number in random.sample(range(count), count)]


def _plan(random: Random, varies: list[str], number: int, last: tuple[int, int, int]) -> Plan:
    restarts, sidecar_restarts, wave = last
    assigned = "unassigned" not in varies or random.random() < 0.7
    node = random.choice(NODES[:2]) if "node" in varies else NODES[2]
    since = random.choice((*READY_SECONDS, AHEAD_SECONDS)) - number if "since" in varies else READY_SECONDS[0]
    return Plan(
        wave=wave,
        node=node if assigned else "",
        cost=random.choice(COSTS) if "cost" in varies else None,
        phase=random.choice(("Running", "Running", "Pending", "Unknown")) if "phase" in varies else "Running",
        is_ready="ready" not in varies or random.random() < 0.6,
        ready_seconds=since,
        restarts=restarts,
        sidecar_restarts=sidecar_restarts,
    )


def _by_restarts(number: int) -> tuple[int, int, int]:
    return number, 0, 0


def _by_sidecar(number: int) -> tuple[int, int, int]:
    return 0, number, 0


def _by_wave(number: int) -> tuple[int, int, int]:
    return number // 2, 0, number % 2
