"""Which autoscaler scales a ReplicaSet."""

from typing import Any

import msgspec

from deletion_cost.autoscalers import Autoscalers
from deletion_cost.scale_down import HorizontalPodAutoscaler
from kube_client.changes import Added, Deleted, Modified
from tests.deletion_cost.build import NAMESPACE, replica_set

OWNED = replica_set("web-1", deployment="web")


def autoscaler(name: str, target: str = "web", least: int = 1) -> HorizontalPodAutoscaler:
    spec: dict[str, Any] = {"scaleTargetRef": {"kind": "Deployment", "name": target}, "minReplicas": least}
    meta = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"}
    return msgspec.convert({"metadata": meta, "spec": spec}, HorizontalPodAutoscaler)


def test_it_is_found_by_what_owns_the_replica_set() -> None:
    autoscalers = Autoscalers()
    autoscalers.take(Added(autoscaler("a")))
    assert autoscalers.of(OWNED) == autoscaler("a")
    assert autoscalers.of(replica_set("web")) is None


def test_one_that_is_renamed_is_known_by_its_new_name() -> None:
    """The new one comes first, the old one changes once more, and goes."""
    autoscalers, old, new = Autoscalers(), autoscaler("old"), autoscaler("new")
    for change in (Added(old), Added(new), Modified(old, old), Deleted(old)):
        autoscalers.take(change)
    assert autoscalers.of(OWNED) == new


def test_one_that_turns_to_another_workload_leaves_the_first() -> None:
    autoscalers, old, new = Autoscalers(), autoscaler("a"), autoscaler("a", "other")
    autoscalers.take(Added(old))
    autoscalers.take(Modified(new, old))
    assert autoscalers.of(OWNED) is None
    assert autoscalers.of(replica_set("x", deployment="other")) == new


def test_a_change_of_its_numbers_counts() -> None:
    autoscalers = Autoscalers()
    autoscalers.take(Added(autoscaler("a")))
    autoscalers.take(Modified(autoscaler("a", least=4), autoscaler("a")))
    assert autoscalers.of(OWNED) == autoscaler("a", least=4)
