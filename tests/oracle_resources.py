"""Twins of the plugins that count what pods hold on a node: resources and host ports."""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

from cluster_model.pod import PendingPod
from tests.oracle_view import Said, View


def node_ports(pod: PendingPod, view: View) -> list[Said]:
    held = [port for other in view.pods for port in other.host_ports]
    for mine in pod.request.host_ports:
        for theirs in held:
            anywhere = mine.ip == "0.0.0.0" or theirs.ip == "0.0.0.0"
            if (mine.protocol, mine.port) == (theirs.protocol, theirs.port) and (anywhere or mine.ip == theirs.ip):
                return [("node(s) didn't have free ports for the requested pod ports", True)]
    return []


def is_ignored(resource: str, ignored: Iterable[str]) -> bool:
    """Whether an extended resource is named, by itself or by its group; others cannot be ignored."""
    extended = "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")
    return extended and (resource in ignored or resource.split("/")[0] in ignored)


def node_resources_fit(pod: PendingPod, view: View, ignored: Iterable[str] = ()) -> list[Said]:
    said = []
    if len(view.pods) + 1 > view.has("pods"):
        said.append(("Too many pods", True))
    for resource, amount in pod.request.resources.items():
        short = amount > 0 and amount > view.has(resource) - view.held(resource)
        if short and not is_ignored(resource, ignored):
            said.append((f"Insufficient {resource}", amount <= view.has(resource)))
    return said


def after_and_capacity(pod: PendingPod, view: View, weights: Mapping[str, int]) -> Iterable[tuple[int, int, int]]:
    """Requested with the pod (defaults counted), capacity and weight of each resource that counts for the Fit score."""
    for resource, weight in weights.items():
        asked = pod.request.scored.get(resource, 0)
        native = resource in ("cpu", "memory", "ephemeral-storage")
        if (asked or native) and view.has(resource):
            yield view.held_with_defaults(resource) + asked, view.has(resource), weight


def fit_score(
    pod: PendingPod, view: View, strategy: str, weights: Mapping[str, int], shape: list[tuple[int, int]]
) -> int:
    total = weight_sum = 0
    for after, capacity, weight in after_and_capacity(pod, view, weights):
        if strategy == "LeastAllocated":
            worth = 0 if after > capacity else (capacity - after) * 100 // capacity
        else:
            worth = min(after, capacity) * 100 // capacity
        if strategy == "RequestedToCapacityRatio":
            worth = line(100 if after > capacity else after * 100 // capacity, shape)
            if not worth:
                continue
        total, weight_sum = total + worth * weight, weight_sum + weight
    if not weight_sum:
        return 0
    if strategy == "RequestedToCapacityRatio":
        return math.floor(Fraction(total, weight_sum) + Fraction(1, 2))
    return total // weight_sum


def line(share: int, shape: list[tuple[int, int]]) -> int:
    scaled = [(at, score * 10) for at, score in shape]
    for index, (at, score) in enumerate(scaled):
        if share <= at:
            if index == 0:
                return score
            left, low = scaled[index - 1]
            return low + math.trunc(Fraction((score - low) * (share - left), at - left))
    return scaled[-1][1]


def evenness(pairs: list[tuple[int, int]]) -> int:
    shares = []
    total = 0.0
    for requested, capacity in pairs:
        share = min(requested / capacity, 1.0)
        total += share
        shares.append(share)
    deviation = 0.0
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        mean, squares = total / len(shares), 0.0
        for share in shares:
            squares = squares + (share - mean) * (share - mean)
        deviation = math.sqrt(squares / len(shares))
    return int((1 - deviation) * 100)


def balanced_score(pod: PendingPod, view: View, resources: Iterable[str]) -> int | None:
    asked = {resource: pod.request.resources.get(resource, 0) for resource in resources}
    if not any(asked.values()):
        return None
    native = ("cpu", "memory", "ephemeral-storage")
    counted = [one for one in asked if (asked[one] or one in native) and view.has(one)]
    before = evenness([(view.held(one), view.has(one)) for one in counted])
    after = evenness([(view.held(one) + asked[one], view.has(one)) for one in counted])
    return 50 + (50 + after - before) // 2
