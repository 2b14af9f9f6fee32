"""A pod waits on one node at most, and holds its room there against others of its priority or below."""

from cluster_model.nominations import Nominations
from cluster_model.pod import PendingPod
from tests import build


def pod(name: str, priority: int = 0) -> PendingPod:
    return build.pod(name, priority=priority)


def names(pods: tuple[PendingPod, ...]) -> list[str]:
    return [one.pod.metadata.name for one in pods]


def test_a_new_nomination_replaces_the_old() -> None:
    found = Nominations()
    found.set(pod("a"), "n1")
    found.set(pod("a"), "n2")
    assert (found.node("uid-a"), names(found.on("n1")), names(found.on("n2"))) == ("n2", [], ["a"])


def test_an_empty_name_ends_a_nomination() -> None:
    found = Nominations()
    found.set(pod("a"), "n1")
    found.set(pod("a"), "")
    assert (found.node("uid-a"), found.on("n1")) == ("", ())


def test_dropping_tells_who_waited() -> None:
    found = Nominations()
    found.set(pod("a"), "n1")
    gone = found.drop("uid-a")
    assert gone is not None
    assert (gone.pod.metadata.name, found.drop("uid-a")) == ("a", None)


def test_room_is_held_against_lower_and_equal_priorities_only() -> None:
    found = Nominations()
    for one, node in ((pod("low", 1), "n1"), (pod("same", 5), "n1"), (pod("high", 9), "n2")):
        found.set(one, node)
    assert {node: names(pods) for node, pods in found.before(pod("me", 5))} == {"n1": ["same"], "n2": ["high"]}
    assert names(found.holding("n1", pod("me", 5))) == ["same"]


def test_a_pod_does_not_stand_in_its_own_way() -> None:
    found = Nominations()
    found.set(pod("me", 5), "n1")
    assert list(found.before(pod("me", 5))) == []
