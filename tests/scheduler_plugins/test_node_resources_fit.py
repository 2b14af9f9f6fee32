"""NodeResourcesFit, the filter: room for the pod and each resource, all shortages said, and whether eviction helps."""

from collections.abc import Mapping
from typing import Any

import pytest

from cluster_model.pod import PendingPod
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Event
from scheduler_plugins import registry
from scheduler_plugins.decide import decide
from tests.build import node, pod, said, snapshot


def verdict(asking: PendingPod, cluster: Snapshot, args: Mapping[str, Any] | None = None) -> dict[str, str]:
    profile = registry.profile(filters=("NodeResourcesFit",), scorers=(), args={"NodeResourcesFit": args or {}})
    return said(decide(asking, cluster, profile))


def helps(asking: PendingPod, cluster: Snapshot) -> list[bool]:
    profile = registry.profile(filters=("NodeResourcesFit",), scorers=())
    rejection = decide(asking, cluster, profile).rejection("a")
    assert rejection is not None
    return [reason.preemption_may_help for reason in rejection.reasons]


def running(**requests: str) -> PendingPod:
    return pod(
        "running", node="a", phase="Running", requests={name.replace("_", "-"): n for name, n in requests.items()}
    )


def test_a_pod_fits_to_the_last_milli_and_byte() -> None:
    cluster = snapshot(node("a", allocatable={"cpu": "2", "memory": "2Gi"}), pods=[running(cpu="500m", memory="1Gi")])

    assert verdict(pod(requests={"cpu": "1500m", "memory": "1Gi"}), cluster) == {"a": "fits"}
    assert verdict(pod(requests={"cpu": "1501m"}), cluster) == {"a": "Insufficient cpu"}
    assert verdict(pod(requests={"memory": "1073741825"}), cluster) == {"a": "Insufficient memory"}


def test_everything_that_is_short_is_said_pods_first() -> None:
    cluster = snapshot(node("a", allocatable={"pods": "1", "cpu": "1"}), pods=[running(cpu="1")])

    found = verdict(pod(requests={"cpu": "1", "example.com/nic": "1"}), cluster)

    assert found == {"a": "Too many pods, Insufficient cpu, Insufficient example.com/nic"}


def test_nodes_with_different_shortages_get_different_sets() -> None:
    cluster = snapshot(
        node("cpu", allocatable={"cpu": "1"}),
        node("memory", allocatable={"memory": "1Gi"}),
        node("both", allocatable={"cpu": "1", "memory": "1Gi"}),
        node("none"),
    )

    assert verdict(pod(requests={"cpu": "2", "memory": "2Gi"}), cluster) == {
        "cpu": "Insufficient cpu",
        "memory": "Insufficient memory",
        "both": "Insufficient cpu, Insufficient memory",
        "none": "fits",
    }


def test_a_pod_that_asks_for_nothing_needs_only_a_place() -> None:
    cluster = snapshot(
        node("a", allocatable={"cpu": "1"}), node("full", allocatable={"pods": "0"}), pods=[running(cpu="9")]
    )

    assert verdict(pod(requests={"cpu": "0"}), cluster) == {"a": "fits", "full": "Too many pods"}


def test_eviction_helps_unless_the_empty_node_would_be_too_small() -> None:
    cluster = snapshot(node("a", allocatable={"cpu": "4", "memory": "4Gi"}), pods=[running(cpu="3", memory="1Gi")])

    assert helps(pod(requests={"cpu": "4", "memory": "5Gi"}), cluster) == [True, False]


def test_a_full_node_is_held_to_be_cured_by_eviction_whatever_its_size() -> None:
    """kube-scheduler marks no pod count as unresolvable, not even 0."""
    assert helps(pod(), snapshot(node("a", allocatable={"pods": "0"}))) == [True]


def test_what_cannot_be_freed_is_cured_by_the_node_alone() -> None:
    decision = decide(pod(requests={"cpu": "99"}), snapshot(node("a")), registry.profile())

    assert decision.cured_by == {Event.NODE_ADD, Event.NODE_ALLOCATABLE, Event.POD_SCALE_DOWN}


def test_a_resource_that_no_node_has_is_short_everywhere() -> None:
    assert verdict(pod(requests={"example.com/fpga": "1"}), snapshot(node("a"))) == {
        "a": "Insufficient example.com/fpga"
    }


@pytest.mark.parametrize(
    "args", [{"ignoredResources": ["example.com/fpga"]}, {"ignoredResourceGroups": ["example.com"]}]
)
def test_ignored_extended_resources_are_left_out(args: dict[str, Any]) -> None:
    assert verdict(pod(requests={"example.com/fpga": "1"}), snapshot(node("a")), args) == {"a": "fits"}


def test_native_resources_cannot_be_ignored() -> None:
    cluster = snapshot(node("a"))

    assert verdict(pod(requests={"cpu": "99"}), cluster, {"ignoredResources": ["cpu"]}) == {"a": "Insufficient cpu"}


def test_many_resources_at_once_are_all_said() -> None:
    names = [f"example.com/r{index:02}" for index in range(40)]

    found = verdict(
        pod(requests=dict.fromkeys(names, "1")), snapshot(node("a"), node("b", allocatable={names[0]: "1"}))
    )

    assert found["a"] == ", ".join(f"Insufficient {name}" for name in names)
    assert found["b"] == ", ".join(f"Insufficient {name}" for name in names[1:])


def test_an_amount_beyond_int64_is_short_and_does_not_wrap() -> None:
    assert verdict(pod(requests={"memory": "100E"}), snapshot(node("a"))) == {"a": "Insufficient memory"}
