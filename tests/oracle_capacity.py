"""The plain twins of SpotScheduler, AZScheduler and NodeLessPods: one node, one pod, one rule at a time."""

from collections.abc import Iterable

from cluster_model import objects
from cluster_model.pod import PendingPod
from tests.oracle_nodes import tolerates
from tests.oracle_view import Said, View

SPOT_MARKS = (
    "karpenter.sh/capacity-type=spot",
    "eks.amazonaws.com/capacityType=SPOT",
    "cloud.google.com/gke-spot=true",
    "cloud.google.com/gke-preemptible=true",
    "kubernetes.azure.com/scalesetpriority=spot",
    "oci.oraclecloud.com/oke-is-preemptible=true",
    "oci.oraclecloud.com/oke-is-preemptible=present",
)
OTHER_CAPACITY = "node(s) didn't match the requested capacity type"


def is_spot(node: objects.Node, more: Iterable[str]) -> bool:
    labels = {f"{key}={value}" for key, value in node.metadata.labels.items()}
    taints = {f"{taint.key}={taint.value}" for taint in node.spec.taints}
    return not (labels | taints).isdisjoint((*SPOT_MARKS, *more))


def tolerates_spot(pod: objects.Pod, more: Iterable[str]) -> bool:
    for mark in (*SPOT_MARKS, *more):
        key, _, value = mark.partition("=")
        for toleration in pod.spec.tolerations:
            effect = (toleration.effect or "NoSchedule") if toleration.key else "NoSchedule"
            if tolerates(toleration, objects.Taint(key=key, value=value, effect=effect)):
                return True
    return False


def spot_rejects(pod: PendingPod, view: View, more: Iterable[str]) -> list[Said]:
    demanded = pod.pod.metadata.annotations.get("scheduling.gpu/capacity")
    if demanded not in ("spot", "on-demand"):
        return []
    return [] if is_spot(view.node, more) == (demanded == "spot") else [(OTHER_CAPACITY, False)]


def spot_score(pod: PendingPod, view: View, more: Iterable[str]) -> int | None:
    """None where any node will do."""
    wanted = pod.pod.metadata.annotations.get("scheduling.gpu/capacity")
    if wanted == "any":
        return None
    if wanted is None:
        wanted = "spot" if tolerates_spot(pod.pod, more) else "on-demand"
    return 100 if is_spot(view.node, more) == (wanted == "spot") else 0


def too_many_pods(view: View) -> list[Said]:
    return [("Too many pods", True)] if len(view.pods) + 1 > view.has("pods") else []


def less_pods_score(view: View) -> int:
    return max(0, 100 - len(view.pods))


def zone(view: View, keys: Iterable[str]) -> str | None:
    for key in keys:
        if key in view.node.metadata.labels:
            return view.node.metadata.labels[key]
    return None


def owner(pod: objects.Pod) -> str | None:
    for reference in pod.metadata.owner_references:
        if reference.controller:
            return reference.uid
    return None


def zone_scores(
    pod: PendingPod, views: list[View], fitting: Iterable[str], keys: tuple[str, ...]
) -> dict[str, int] | None:
    """Score the nodes that fit; None where there is nothing to balance."""
    mine = owner(pod.pod)
    counts: dict[str, int] = {}
    for view in views:
        where = zone(view, keys)
        if where is not None:
            others = [one for one in view.held_pods if owner(one) == mine and not one.metadata.deletion_timestamp]
            counts[where] = counts.get(where, 0) + len(others)
    if not mine or not counts:
        return None
    raw = {view.name: zone(view, keys) for view in views if view.name in fitting}
    held = {name: counts[where] for name, where in raw.items() if where is not None}
    most, fewest = max(held.values(), default=0), min(held.values(), default=0)

    def score(count: int) -> int:
        return 100 if most == fewest else (most - count) * 100 // (most - fewest)

    return {name: score(held[name]) if name in held else 0 for name in raw}
