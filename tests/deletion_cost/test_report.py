"""Each pod's row says what its cost is, why, since when, and when the pod would go."""

from typing import Any

import msgspec
import pytest

from deletion_cost import report
from deletion_cost.pod_objects import Pod, ReplicaSet
from deletion_cost.report import Row

COST = "controller.kubernetes.io/pod-deletion-cost"
NOW_NS = 1_800_000_000 * 10**9
OURS = "gpu-scheduler-deletion-cost"


def pod(name: str, cost: str | None = None, writer: str = "", owner: str = "ReplicaSet", **meta: Any) -> Pod:
    """A Ready pod of the ReplicaSet `web`; `writer` owns its cost since 2026-01-02."""
    fields: dict[str, Any] = {"f:metadata": {"f:annotations": {f"f:{COST}": {}}}}
    owners = [{"kind": owner, "name": "web", "uid": f"uid-{owner}", "controller": True}] if owner else []
    document: dict[str, Any] = {
        "name": name,
        "uid": f"uid-{name}",
        "namespace": "d",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {} if cost is None else {COST: cost},
        "ownerReferences": owners,
        "managedFields": [
            {"manager": "kubelet", "time": "2026-01-03T00:00:00Z", "fieldsV1": {"f:status": {}}},
            *([{"manager": writer, "time": "2026-01-02T00:00:00Z", "fieldsV1": fields}] if writer else []),
        ],
    }
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}
    status = {"phase": "Running", "conditions": [ready]}
    return msgspec.convert({"metadata": document | meta, "spec": {"nodeName": "n"}, "status": status}, Pod)


def rows(*pods: Pod) -> list[Row]:
    """The rows of pods under one bare ReplicaSet."""
    web = msgspec.convert({"metadata": {"name": "web", "namespace": "d", "uid": "uid-ReplicaSet"}}, ReplicaSet)
    return report.rows(pods, [web], NOW_NS)


@pytest.mark.parametrize(
    ("found", "band", "reason"),
    [
        (pod("p"), "normal", "no value, counts as 0"),
        (pod("p", "-50"), "cold", "not warm yet"),
        (pod("p", "7"), "active", "written at creation"),
        (pod("p", "-50", OURS), "cold", "cold again after a restart or a time not Ready"),
        (pod("p", "-20", OURS), "victim", "victim mark 1 of 1"),
        (pod("p", "60", OURS), "active", "follows its load"),
        (pod("p", "600", OURS), "warm", "follows its load"),
        (pod("p", "5", "kube-controller-manager"), "active", "value of the pod template"),
        (pod("p", "5", "deletion-cost-reporter"), "active", "reported by the application"),
        (pod("p", "5000", "kubectl-annotate"), "other", "value by user, with kubectl-annotate"),
        (pod("p", "-7", "karpenter"), "victim", "foreign writer karpenter"),
        (pod("p", "5", owner="StatefulSet"), "active", "ignored: no StatefulSet looks at it"),
        (pod("p", "5", owner=""), "active", "ignored: the pod has no owner"),
        (pod("p", "5", deletionTimestamp="2026-01-01T00:00:00Z"), "active", "is being deleted"),
    ],
)
def test_a_value_has_a_band_and_a_reason(found: Pod, band: str, reason: str) -> None:
    [row] = rows(found)

    assert (row.band, row.reason) == (band, reason)


def test_a_mark_is_numbered_among_the_marks_in_the_order_of_deletion() -> None:
    listed = rows(pod("a", "-5", OURS), pod("b", "-49", OURS), pod("c"))

    assert [(row.pod.metadata.name, row.reason) for row in listed[:2]] == [
        ("b", "victim mark 1 of 2"),
        ("a", "victim mark 2 of 2"),
    ]


def test_a_value_dates_from_its_writer_and_one_that_nobody_owns_from_the_creation() -> None:
    written, initial, none = rows(pod("a", "-5", OURS), pod("b", "-4"), pod("c"))

    assert written.written_seconds == 1767312000
    assert initial.written_seconds == 1767225600
    assert none.written_seconds is None


def test_the_next_to_go_comes_first_with_its_place() -> None:
    listed = rows(pod("a"), pod("b", "-50"), pod("c", "9", OURS))

    assert [row.pod.metadata.name for row in listed] == ["b", "a", "c"]
    assert [(row.place.order, row.place.of) for row in listed if row.place] == [(1, 3), (2, 3), (3, 3)]


def test_pods_that_no_scale_down_takes_have_no_place() -> None:
    gone = pod("a", "1", deletionTimestamp="2026-01-01T00:00:00Z")

    assert [row.place for row in rows(gone, pod("b", "1", owner="Job"))] == [None, None]


def test_pods_without_a_cost_are_listed_where_it_would_count() -> None:
    listed = rows(pod("a"), pod("b", owner="ReplicationController"), pod("c", owner="Job"), pod("d", owner=""))

    assert {row.pod.metadata.name for row in listed} == {"a", "b"}


def test_without_replica_sets_costs_are_told_and_no_places() -> None:
    [low, high] = report.rows([pod("a", "9", OURS), pod("b", "-50")], None, NOW_NS)

    assert (low.cost, high.cost, low.place, high.place) == (-50, 9, None, None)
