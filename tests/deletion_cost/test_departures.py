"""On what occasion a pod is deleted."""

from typing import Any

import pytest

from deletion_cost import departures
from tests.deletion_cost.build import Cluster, pod, replica_set


def cluster(replicas: int, new: int = 0, gone: int = 0) -> Cluster:
    """A Deployment of which "web" has four pods, and a newer revision `new`."""
    found = Cluster()
    found.add(replica_set("web", replicas, "app"), replica_set("new", new, "app"))
    found.add(*(pod(f"p{number}", leaving=number >= 4 - gone) for number in range(4)))
    found.add(*(pod(f"n{number}", owner="new") for number in range(new)))
    return found


@pytest.mark.parametrize(
    ("given", "occasion"),
    [
        ({"replicas": 1}, "scale_down"),
        ({"replicas": 1, "gone": 2}, "scale_down"),
        ({"replicas": 1, "gone": 3}, "other"),  # the last one: there is none too many any more
        ({"replicas": 4}, "other"),  # a drain, or kubectl delete
        ({"replicas": 0}, "other"),  # all go
        ({"replicas": 3, "new": 1}, "rollout"),
        ({"replicas": 0, "new": 4, "gone": 3}, "rollout"),
    ],
)
def test_the_occasion_follows_from_who_has_more_pods_than_are_wanted(given: dict[str, Any], occasion: str) -> None:
    found = cluster(**given)
    assert departures.occasion(found.fleet, found.member("p0")) == occasion


def test_pods_that_outlive_their_replica_set_go_with_it() -> None:
    found = Cluster()
    found.add(pod("a"))
    assert departures.occasion(found.fleet, found.member("a")) == "other"
