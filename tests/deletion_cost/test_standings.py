"""Reads pods and ReplicaSets as the API server writes them."""

from typing import Any

import msgspec
import pytest

from deletion_cost import standings
from deletion_cost.pod_objects import Pod, ReplicaSet
from deletion_cost.victims import Standing

COST = "controller.kubernetes.io/pod-deletion-cost"
POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "uid": "u",
        "creationTimestamp": "1970-01-01T00:01:40Z",
        "annotations": {COST: "-50"},
    },
    "spec": {
        "nodeName": "n",
        "initContainers": [{"name": "once"}, {"name": "side", "restartPolicy": "Always"}],
    },
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:03:20Z"}],
        "containerStatuses": [{"name": "a", "restartCount": 1}, {"name": "b", "restartCount": 3}],
        "initContainerStatuses": [{"name": "once", "restartCount": 9}, {"name": "side", "restartCount": 2}],
    },
}


def read(**changes: Any) -> Standing:
    """Read POD with parts of it replaced."""
    return standings.read(msgspec.convert(POD | changes, Pod))


def test_a_pod_is_read_as_the_controller_sees_it() -> None:
    assert read() == Standing("p", "u", "n", ready_since=200, cost=-50, restarts=3, sidecar_restarts=2, created=100)


@pytest.mark.parametrize("condition", [{"status": "False"}, {"status": "Unknown"}, {"type": "ContainersReady"}])
def test_only_a_true_ready_condition_makes_ready(condition: dict[str, str]) -> None:
    given = POD["status"]["conditions"][0] | condition

    found = read(status=POD["status"] | {"conditions": [given]})

    assert (found.is_ready, found.ready_since) == (False, None)


@pytest.mark.parametrize("text", ["+5", "007", " 5", "1.5", "", "2147483648", "many"])
def test_a_malformed_cost_counts_as_0(text: str) -> None:
    assert read(metadata={"annotations": {COST: text}}).cost == 0


@pytest.mark.parametrize("text", [None, "", "0001-01-01T00:00:00Z"])
def test_a_time_that_is_not_set_is_none(text: str | None) -> None:
    assert standings.seconds(text) is None


def replica_set(name: str, owner: str | None, wanted: dict[str, str] | None, namespace: str = "d") -> ReplicaSet:
    """A ReplicaSet under a Deployment, or a bare one."""
    above = [] if owner is None else [{"kind": "Deployment", "uid": owner, "controller": True}]
    meta = {"name": name, "namespace": namespace, "uid": name, "ownerReferences": above}
    selector = None if wanted is None else {"matchLabels": wanted}
    return msgspec.convert({"metadata": meta, "spec": {"selector": selector}}, ReplicaSet)


def labelled(uid: str, namespace: str = "d", **labels: str) -> Pod:
    """A pod that nobody owns."""
    return msgspec.convert({"metadata": {"uid": uid, "namespace": namespace, "labels": labels}}, Pod)


def related(one: ReplicaSet, *others: ReplicaSet) -> set[str]:
    """The UIDs of the pods that crowd a ReplicaSet's, of five that stand around."""
    pods = [
        labelled("old", app="a", hash="1"),
        labelled("new", app="a", hash="2"),
        labelled("stranger", app="b"),
        labelled("elsewhere", "e", app="a", hash="1"),
        labelled("plain"),
    ]
    return {pod.metadata.uid for pod in standings.Relations(pods, [one, *others]).related(one)}


def test_pods_of_every_revision_of_a_deployment_are_related_by_label() -> None:
    new = replica_set("new", "deployment", {"app": "a", "hash": "2"})
    old = replica_set("old", "deployment", {"app": "a", "hash": "1"})
    other = replica_set("other", "another", {"app": "b"})

    assert related(new, old, other) == {"old", "new"}


def test_nothing_is_related_to_a_bare_replica_set() -> None:
    assert related(replica_set("bare", None, {"app": "a"})) == set()


def test_a_selector_that_is_absent_or_cannot_be_read_selects_nothing_and_an_empty_one_all() -> None:
    absent, unreadable = replica_set("r", "d", None), replica_set("r", "d", {"app": "not a value!"})

    assert related(absent) == related(unreadable) == set()
    assert related(replica_set("r", "d", {})) == {"old", "new", "stranger", "plain"}
