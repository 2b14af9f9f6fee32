"""The pods that the real ReplicaSet controller deletes are the ones we name, for 100 ReplicaSets and more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TypeVar

import msgspec
import pytest

from deletion_cost import standings, victims
from deletion_cost.pod_objects import Pod, ReplicaSet
from tests.control_plane import nodes, waiting
from tests.control_plane.api import Api, Json
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.kubelet import Kubelet
from tests.deletion_cost import live_cases, victim_oracle
from tests.deletion_cost.live_cases import Plan

# A machine that has built nothing yet compiles for many minutes.
pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

SETS = 120
ENOUGH = 100  # where the time at which the controller looked, which nobody knows, makes no difference
SECONDS_BETWEEN_WAVES = 20
PODS, MAPS = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/configmaps"
REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
KINDS = ("bare", "controller", "one revision", "two revisions", "three revisions")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Set:
    """One owner of pods to be scaled down, and the other revisions beside it."""

    number: int
    kind: str
    plans: list[Plan]
    siblings: list[list[Plan]]
    victims: int

    @property
    def name(self) -> str:
        """Its name, and the value of its pods' label."""
        return f"set-{self.number}"

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return f"{CONTROLLERS if self.kind == 'controller' else REPLICA_SETS}/{self.name}"

    def revisions(self) -> Iterator[tuple[str, list[Plan]]]:
        """Itself and its siblings."""
        yield self.name, self.plans
        yield from ((f"{self.name}-{number}", plans) for number, plans in enumerate(self.siblings))

    @classmethod
    def generate(cls, number: int) -> Set:
        """Write one from its number."""
        kind, plans = KINDS[number % len(KINDS)], live_cases.plans(number)
        beside = {"two revisions": 1, "three revisions": 2}.get(kind, 0)
        siblings = [live_cases.plans(1000 * (other + 1) + number) for other in range(beside)]
        return cls(number, kind, plans, siblings, Random(number).randrange(1, len(plans)))


@dataclass(frozen=True, slots=True)
class Seen:
    """The cluster at one moment, by the name of the ReplicaSet."""

    pods: list[Json]
    replica_sets: list[Json]

    @classmethod
    def now(cls, api: Api) -> Seen:
        """Read it all."""
        controllers = [one | {"spec": {"replicas": one["spec"]["replicas"]}} for one in api.get(CONTROLLERS)["items"]]
        return cls(api.get(PODS)["items"], api.get(REPLICA_SETS)["items"] + controllers)

    def owner(self, name: str) -> Json:
        """One ReplicaSet, or a ReplicationController without its selector, which nothing is related by."""
        return next(one for one in self.replica_sets if one["metadata"]["name"] == name)

    def active(self) -> dict[str, set[str]]:
        """The UIDs of the active pods of each owner's UID."""
        found: dict[str, set[str]] = {one["metadata"]["uid"]: set() for one in self.replica_sets}
        for pod in self.pods:
            if "deletionTimestamp" not in pod["metadata"]:
                for owner in pod["metadata"].get("ownerReferences", []):
                    found[owner["uid"]].add(pod["metadata"]["uid"])
        return found

    def all_have(self, wanted: dict[str, int]) -> bool:
        """Whether each has as many active pods as wanted."""
        active = self.active()
        return all(len(active[self.owner(name)["metadata"]["uid"]]) == count for name, count in wanted.items())

    def case(self, name: str, now_ns: int) -> Json:
        """The question to the linked comparison."""
        target = self.owner(name)["metadata"]["uid"]
        return {
            "nowNanoseconds": now_ns,
            "replicaSet": target,
            "replicaSets": self.replica_sets,
            "pods": [pod for pod in self.pods if _label(pod) == name.split("-")[1]],
        }

    def foretold(self, one: Set, now_ns: int) -> frozenset[str]:
        """The UIDs of the pods that we say go next."""
        pods = msgspec.convert(self.pods, list[Pod])
        sets = msgspec.convert(self.replica_sets, list[ReplicaSet])
        target = next(other for other in sets if other.metadata.name == one.name)
        related = map(standings.read, standings.Relations(pods, sets).related(target))
        uids = self.active()[target.metadata.uid]
        owned = [standings.read(pod) for pod in pods if pod.metadata.uid in uids]
        return frozenset(pod.uid for pod in victims.next_victims(owned, related, one.victims, now_ns))


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """A control plane of this test's own: another test's kubelet would run these pods."""
    with ControlPlane() as plane, Kubelet(plane.kubeconfig, run_pods=False) as kubelet:
        kubelet.wait_ready(kubelet.create_nodes(nodes.gpu_node(name) for name in live_cases.NODES))
        yield plane.api


def test_the_controller_deletes_the_pods_that_we_name(api: Api) -> None:
    """Bare ReplicaSets, ReplicationControllers, and several revisions under one controller."""
    sets = [Set.generate(number) for number in range(SETS)]
    stand_up(api, sets)
    seen, before = Seen.now(api), time.time_ns()

    in_parallel(lambda one: api.patch(one.path, {"spec": {"replicas": len(one.plans) - one.victims}}), sets)
    waiting.until(lambda: Seen.now(api).all_have(left(sets)), "all scaled down", 60, 0.5)
    gone, after = removed(seen, Seen.now(api)), time.time_ns()

    certain = [one for one in sets if is_certain(seen, one, before, after)]
    wrong = [(one.number, one.kind) for one in certain if seen.foretold(one, before) != gone[one.name]]
    assert wrong == []
    assert len(certain) >= ENOUGH
    assert {one.kind for one in certain} == set(KINDS)


def stand_up(api: Api, sets: list[Set]) -> None:
    """Create pods in two waves, then the owners that adopt them."""
    started = time.time()
    for wave in (0, 1):
        time.sleep(max(0.0, started + SECONDS_BETWEEN_WAVES * wave - time.time()))
        in_parallel(
            partial(create_pod, api, int(started)),
            [one for each in sets for one in pods_of(each) if one[2].wave == wave],
        )
    in_parallel(partial(create_owners, api), sets)
    waiting.until(lambda: Seen.now(api).all_have(full(sets)), "all pods adopted", 60, 0.5)


def pods_of(one: Set) -> Iterator[tuple[str, dict[str, str], Plan]]:
    """Name, labels and plan of each of its pods."""
    for revision, plans in one.revisions():
        for number, plan in enumerate(plans):
            yield f"{revision}-{number}", {"set": str(one.number), "revision": revision}, plan


def create_pod(api: Api, now: int, one: tuple[str, dict[str, str], Plan]) -> None:
    """Create a pod and say how it fares."""
    name, labels, plan = one
    created = api.post(PODS, plan.document(f"pod-{name}", labels))
    api.patch(f"{PODS}/pod-{name}/status", plan.status(created, now))


def create_owners(api: Api, one: Set) -> None:
    """Create what adopts the pods; a ConfigMap stands for the controller above, which no other controller minds."""
    owners = []
    if one.kind not in ("bare", "controller"):
        above = api.post(MAPS, {"metadata": {"name": one.name}})["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": one.name, "uid": above["uid"]}
        owners = [reference | {"controller": True}]
    for revision, plans in one.revisions():
        labels = {"set": str(one.number), "revision": revision}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
        selector = labels if one.kind == "controller" else {"matchLabels": labels}
        spec = {"replicas": len(plans), "selector": selector, "template": template}
        api.post(one.path.rpartition("/")[0], {"metadata": {"name": revision, "ownerReferences": owners}, "spec": spec})


def full(sets: list[Set]) -> dict[str, int]:
    """How many pods each revision begins with."""
    return {name: len(plans) for one in sets for name, plans in one.revisions()}


def left(sets: list[Set]) -> dict[str, int]:
    """How many pods each revision ends with."""
    return full(sets) | {one.name: len(one.plans) - one.victims for one in sets}


def removed(before: Seen, after: Seen) -> dict[str, frozenset[str]]:
    """The UIDs of the pods that went, by the name of their owner."""
    then, now = before.active(), after.active()
    names = {one["metadata"]["uid"]: one["metadata"]["name"] for one in before.replica_sets}
    return {name: frozenset(then[uid] - now[uid]) for uid, name in names.items()}


def is_certain(seen: Seen, one: Set, before: int, after: int) -> bool:
    """Whether the linked comparison names the same pods at every moment at which the controller may have looked."""
    moments = range(before, after + 1, max((after - before) // 8, 1))
    orders = [answer.decided() for answer in victim_oracle.answers(seen.case(one.name, now) for now in moments)]
    named = {frozenset(order.order[: one.victims]) if order and not order.has_ties else None for order in orders}
    return len(named) == 1 and None not in named


def in_parallel(call: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Do it for all, several at a time; the first error is raised."""
    with ThreadPoolExecutor(8) as workers:
        list(workers.map(call, items))


def _label(pod: Json) -> str:
    return str(pod["metadata"]["labels"]["set"])
