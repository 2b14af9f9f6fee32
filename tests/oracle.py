"""Plain per-node twins of the columnar code, to compare with: one node, one pod, one rule at a time. Slow by design."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import msgspec

from cluster_model import gpu_names, node_facts, objects, quantity
from cluster_model.node_facts import NodeFacts
from cluster_model.pod import PendingPod
from cluster_model.request import PodRequest
from cluster_model.state import ClusterState
from tests.oracle_affinity import Affinity
from tests.oracle_labels import AROUND, Place
from tests.oracle_spread import Spread
from tests.oracle_volumes import NOTHING_TOLD, Judge, Told, Volumes, judges

Said: TypeAlias = tuple[str, bool]  # reason, whether evicting pods could help
GPU = "nvidia.com/gpu"
NOTHING_ADDED = objects.NodeAffinity()


@dataclass(frozen=True)
class View:
    """One node with the requests of the pods that count on it."""

    node: objects.Node
    pods: tuple[PodRequest, ...] = ()
    held_pods: tuple[objects.Pod, ...] = ()
    told: Told = NOTHING_TOLD

    @property
    def place(self) -> Place:
        return Place(self.node, self.held_pods)

    @property
    def name(self) -> str:
        return self.node.metadata.name

    @property
    def facts(self) -> NodeFacts:
        return node_facts.read(self.node)

    def has(self, resource: str) -> int:
        try:
            amount = quantity.parse(self.node.status.allocatable.get(resource, 0))
        except ValueError:
            return 0
        return max(0, quantity.milli(amount) if resource == "cpu" else quantity.value(amount))

    def held(self, resource: str) -> int:
        return sum(pod.resources.get(resource, 0) for pod in self.pods)

    def held_with_defaults(self, resource: str) -> int:
        if resource == "cpu":
            return sum(pod.nonzero_milli_cpu for pod in self.pods)
        if resource == "memory":
            return sum(pod.nonzero_memory_bytes for pod in self.pods)
        return self.held(resource)


def tolerates(toleration: objects.Toleration, taint: objects.Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def node_name(pod: PendingPod, view: View) -> list[Said]:
    wanted = pod.pod.spec.node_name
    return [("node(s) didn't match the requested node name", False)] if wanted and wanted != view.name else []


def node_unschedulable(pod: PendingPod, view: View) -> list[Said]:
    cordon = objects.Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
    if view.node.spec.unschedulable and not any(tolerates(one, cordon) for one in pod.pod.spec.tolerations):
        return [("node(s) were unschedulable", False)]
    return []


def taint_toleration(pod: PendingPod, view: View) -> list[Said]:
    for taint in view.node.spec.taints:
        hard = taint.effect == "NoSchedule" or taint.effect == "NoExecute"
        if hard and not any(tolerates(one, taint) for one in pod.pod.spec.tolerations):
            return [("node(s) had untolerated taint(s)", False)]
    return []


def soft_taints(pod: PendingPod, view: View) -> int:
    counted = 0
    relevant = [one for one in pod.pod.spec.tolerations if one.effect == "" or one.effect == "PreferNoSchedule"]
    for taint in view.node.spec.taints:
        if taint.effect == "PreferNoSchedule" and not any(tolerates(one, taint) for one in relevant):
            counted += 1
    return counted


def go_integer(text: str) -> int | None:
    """strconv.ParseInt(text, 10, 64)."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if not body or any(letter not in "0123456789" for letter in body):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def is_name(text: str) -> bool:
    inner = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    if not 1 <= len(text) <= 63 or text[0] not in inner or text[-1] not in inner:
        return False
    return all(letter in inner + "-_." for letter in text)


def requirement_readable(one: objects.SelectorRequirement) -> bool:
    domain, slash, name = one.key.rpartition("/")
    if not is_name(name) or (slash and not (domain and domain == domain.lower() and is_name(domain.replace(".", "")))):
        return False
    if any(value and not is_name(value) for value in one.values):
        return False
    if one.operator in ("In", "NotIn"):
        return len(one.values) >= 1
    if one.operator in ("Exists", "DoesNotExist"):
        return len(one.values) == 0
    if one.operator in ("Gt", "Lt"):
        return len(one.values) == 1 and go_integer(one.values[0]) is not None
    return False


def requirement_matches(one: objects.SelectorRequirement, labels: Mapping[str, str]) -> bool:
    present = one.key in labels
    if one.operator == "In":
        return present and labels[one.key] in one.values
    if one.operator == "NotIn":
        return not present or labels[one.key] not in one.values
    if one.operator == "Exists":
        return present
    if one.operator == "DoesNotExist":
        return not present
    if not present:
        return False
    mine, bound = go_integer(labels[one.key]), go_integer(one.values[0])
    if mine is None or bound is None:
        return False
    return mine > bound if one.operator == "Gt" else mine < bound


def term_matches(term: objects.NodeSelectorTerm, node: objects.Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    if not all(requirement_readable(one) for one in term.match_expressions):
        return False
    if not all(one.operator in ("In", "NotIn") and len(one.values) == 1 for one in term.match_fields):
        return False
    fields = {"metadata.name": node.metadata.name}
    by_field = all((fields.get(one.key, "") == one.values[0]) == (one.operator == "In") for one in term.match_fields)
    return by_field and all(requirement_matches(one, node.metadata.labels) for one in term.match_expressions)


def enforced(view: View, added: objects.NodeAffinity) -> list[Said]:
    """What the profile asks of every pod's node."""
    terms = None if added.required is None else added.required.node_selector_terms
    matched = terms is None or any(term_matches(term, view.node) for term in terms)
    return [] if matched else [("node(s) didn't match scheduler-enforced node affinity", False)]


def node_affinity(pod: PendingPod, view: View) -> list[Said]:
    labels = view.node.metadata.labels
    selected = all(labels.get(key) == value for key, value in pod.pod.spec.node_selector.items())
    own = pod.pod.spec.affinity.node_affinity
    if own is not None and own.required is not None:
        selected &= any(term_matches(term, view.node) for term in own.required.node_selector_terms)
    return [] if selected else [("node(s) didn't match Pod's node affinity/selector", False)]


def names_allowed(pod: PendingPod) -> set[str] | None:
    """The node names that NodeAffinity narrows the search to; None is all."""
    own = pod.pod.spec.affinity.node_affinity
    if own is None or own.required is None or not own.required.node_selector_terms:
        return None
    allowed: set[str] = set()
    for term in own.required.node_selector_terms:
        named = [set(one.values) for one in term.match_fields if one.key == "metadata.name" and one.operator == "In"]
        if not named:
            return None
        allowed |= set.intersection(*named)
    return allowed


def narrowed_by(pod: PendingPod) -> tuple[list[str], set[str]]:
    """Which plugins leave nodes out before any is judged, sorted, and the names they leave together."""
    wanted, affine = pod.pod.spec.node_name, names_allowed(pod)
    by_plugin = ({} if affine is None else {"NodeAffinity": affine}) | ({"NodeName": {wanted}} if wanted else {})
    return list(by_plugin), set.intersection(*by_plugin.values()) if by_plugin else set()


def preferred(pod: PendingPod) -> list[objects.PreferredSchedulingTerm]:
    own = pod.pod.spec.affinity.node_affinity
    return [] if own is None else list(own.preferred)


def preferred_weight(pod: PendingPod, view: View, added: objects.NodeAffinity = NOTHING_ADDED) -> int | None:
    wishes = [*added.preferred, *preferred(pod)]
    return sum(one.weight for one in wishes if term_matches(one.preference, view.node)) if wishes else None


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


def gpu_scheduler(pod: PendingPod, view: View) -> list[Said]:
    has_gpu = any(gpu_names.asks_for_gpu(name) and view.has(name) > 0 for name in view.node.status.allocatable)
    if pod.request.gpu.asks and not has_gpu:
        return [("Node does not have GPU", False)]
    return []


def enough_memory(shown_mib: int, asked_mib: int) -> bool:
    return shown_mib >= Fraction(92, 100) * asked_mib


def gpu_kind(pod: PendingPod, view: View) -> str | None:
    """What is wrong with the model or the memory, if anything."""
    gpu, facts = pod.request.gpu, view.facts
    asked = [gpu.memory_mib or 0]
    if gpu.models:
        if facts.model is None:
            return "node(s) had no known GPU model"
        sizes = [model.memory_mib or 0 for model in gpu.models if model.name == facts.model]
        if not sizes:
            return "node(s) didn't match GPU model"
        asked.append(min(sizes))
    if max(asked) > 0 and facts.memory_mib is None:
        return "node(s) had no known GPU memory"
    if max(asked) > 0 and not enough_memory(facts.memory_mib or 0, max(asked)):
        return "Insufficient GPU memory"
    return None


def gpu_topology(pod: PendingPod, view: View) -> list[Said]:
    gpu = pod.request.gpu
    if not gpu.asks:
        return []
    wrong = gpu_kind(pod, view)
    if gpu.units and view.has(GPU) - view.held(GPU) < gpu.units:
        return [(f"Insufficient {GPU}", wrong is None and gpu.units <= view.has(GPU))]
    return [] if wrong is None else [(wrong, False)]


def gpu_topology_score(pod: PendingPod, view: View, count: str = "free") -> int:
    total, taken = view.has(GPU), view.held(GPU)
    if not pod.request.gpu.asks or total == 0:
        return 0
    counted = total - taken if count == "free" else total
    fit = max(0, 100 - 10 * abs(counted - pod.request.gpu.units))
    said = view.facts.utilization
    idle = int(100 * (1 - (said if said is not None else min(taken / total, 1.0))))
    return (7 * fit + 3 * idle) // 10


def gpu_memory_score(pod: PendingPod, view: View) -> int:
    return (view.facts.memory_mib or 0) // 1024 if pod.request.gpu.asks else 0


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


def runtime_name(image: str) -> str:
    """The name as a container runtime says it: with a tag, which is not the port of a registry."""
    last = image.split("/")[-1]
    return image if ":" in last else image + ":latest"


def pod_images(pod: PendingPod) -> list[str]:
    spec = pod.pod.spec
    named = [one.image for one in (*spec.init_containers, *spec.containers)]
    return [runtime_name(one) for one in named + [one.image.reference for one in spec.volumes if one.image is not None]]


def image_names(node: objects.Node) -> set[str]:
    return {name for image in node.status.images for name in image.names}


def image_score(pod: PendingPod, view: View, views: list[View], sizes: Mapping[str, int]) -> int:
    wanted, total = pod_images(pod), 0
    for name in wanted:
        if name in image_names(view.node):
            holders = sum(name in image_names(other.node) for other in views)
            total += int(sizes[name] * (holders / len(views)))
    least, most = 23 * 1024 * 1024, 1000 * 1024 * 1024 * len(wanted)
    return 100 * (min(max(total, least), most) - least) // (most - least) if wanted else 0


def node_declared_features(pod: PendingPod, view: View) -> list[Said]:
    spec, declared = pod.pod.spec, view.node.status.declared_features
    needed = set()
    for one in (*spec.init_containers, *spec.containers):
        if "RestartAllContainers" in [rule.action for rule in one.restart_policy_rules]:
            needed.add("RestartAllContainersOnContainerExits")
        if [option for mount in one.volume_mounts for option in mount.bind_mount_options]:
            needed.add("VolumeBindMountOptions")
    if spec.host_network and spec.host_users is not None and not spec.host_users:
        needed.add("UserNamespacesHostNetworkSupport")
    return [] if all(one in declared for one in needed) else [("node(s) didn't match Pod's required features", False)]


FILTERS: dict[str, Callable[[PendingPod, View], list[Said]]] = {
    "NodeName": node_name,
    "NodeUnschedulable": node_unschedulable,
    "TaintToleration": taint_toleration,
    "NodeAffinity": node_affinity,
    "NodePorts": node_ports,
    "GPUScheduler": gpu_scheduler,
    "GPUTopologyPlugin": gpu_topology,
    "NodeResourcesFit": node_resources_fit,
    "NodeDeclaredFeatures": node_declared_features,
}
ORDER = (
    *[name for name in FILTERS if name != "NodeDeclaredFeatures"],
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
)
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "GPUScheduler": 1,
    "GPUTopologyPlugin": 10,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "VolumeBinding": 1,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}


@dataclass(frozen=True)
class Settings:
    """The args that the scores depend on."""

    count: str = "free"
    strategy: str = "LeastAllocated"
    weights: Mapping[str, int] = field(default_factory=lambda: {"cpu": 1, "memory": 1})
    shape: list[tuple[int, int]] = field(default_factory=list)
    balanced: tuple[str, ...] = ("cpu", "memory")
    spread: Mapping[str, Any] = field(default_factory=dict)
    affinity: Mapping[str, Any] = field(default_factory=dict)
    added: objects.NodeAffinity = NOTHING_ADDED
    ignored: tuple[str, ...] = ()  # names and groups of resources

    def as_args(self) -> dict[str, dict[str, Any]]:
        """Write them as a user would."""
        strategy: dict[str, Any] = {
            "type": self.strategy,
            "resources": [{"name": name, "weight": weight} for name, weight in self.weights.items()],
        }
        if self.strategy == "RequestedToCapacityRatio":
            points = [{"utilization": at, "score": score} for at, score in self.shape]
            strategy["requestedToCapacityRatio"] = {"shape": points}
        return {
            "GPUTopologyPlugin": {"count": self.count},
            "NodeAffinity": {"addedAffinity": msgspec.to_builtins(self.added)},
            "NodeResourcesFit": {
                "scoringStrategy": strategy,
                "ignoredResources": [name for name in self.ignored if "/" in name],
                "ignoredResourceGroups": [name for name in self.ignored if "/" not in name],
            },
            "NodeResourcesBalancedAllocation": {"resources": [{"name": name, "weight": 1} for name in self.balanced]},
            "PodTopologySpread": dict(self.spread),
            "InterPodAffinity": dict(self.affinity),
        }


@dataclass(frozen=True)
class Decided:
    """What the oracle decides: reasons of the nodes that do not fit, normalised scores and totals of the others."""

    reasons: dict[str, tuple[str, list[Said]]]  # node -> plugin, reasons
    scores: dict[str, dict[str, int]]  # plugin -> node -> score
    total: dict[str, int]
    refusal: list[str]
    nodes: int

    @property
    def sentence(self) -> str:
        if not self.nodes:
            return "no nodes available to schedule pods"
        if self.total:
            return ""
        if self.refusal:
            return f"0/{self.nodes} nodes are available: {', '.join(self.refusal)}."
        counted = Counter(text for _, said in self.reasons.values() for text, _ in said)
        entries = sorted(str(number) + " " + text for text, number in counted.items())
        return f"0/{self.nodes} nodes are available: " + ", ".join(entries) + "."


def decide(pod: PendingPod, views: list[View], settings: Settings = Settings()) -> Decided:
    """Decide one node after another."""
    refusal = refusals(pod, views)
    if refusal and views:
        return Decided({}, {}, {}, refusal, len(views))
    across, alone = judges_across(pod, views, settings), filters(settings)
    said = {view.name: first_rejection(pod, view, across, alone) for view in views}
    reasons = {name: found for name, found in said.items() if found is not None}
    fitting = [view for view in views if view.name not in reasons]
    everything = all_scores(pod, fitting, settings, views)
    everything |= {name: judge.scores([view.place for view in fitting]) for name, judge in across.items()}
    scores = {name: given for name, given in everything.items() if given}
    total = {view.name: sum(WEIGHTS[name] * given[view.name] for name, given in scores.items()) for view in fitting}
    return Decided(reasons, scores, total, [], len(views))


def refusals(pod: PendingPod, views: list[View]) -> list[str]:
    said = [str(problem) for problem in pod.request.problems]
    said += [f"{path} is not supported by this scheduler yet" for path in pod.request.unsupported]
    if not said and names_allowed(pod) == set():
        return ["pod affinity terms conflict"]
    plugins, names = narrowed_by(pod)
    if not said and plugins and not names:
        return [f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"]
    return said or volumes(pod, views).refusals()


def volumes(pod: PendingPod, views: list[View]) -> Volumes:
    told = views[0].told if views else NOTHING_TOLD
    return Volumes(pod.pod, [view.place for view in views], told, term_matches)


def judges_across(pod: PendingPod, views: list[View], settings: Settings) -> dict[str, Spread | Affinity | Judge]:
    """The twins of the plugins that look at all nodes for one."""

    def tolerated(node: objects.Node) -> bool:
        return not taint_toleration(pod, View(node))

    def selected(node: objects.Node) -> bool:
        return not node_affinity(pod, View(node))

    places = [view.place for view in views]
    return {
        **judges(volumes(pod, views)),
        "PodTopologySpread": Spread(pod, places, AROUND, settings.spread, (tolerated, selected)),
        "InterPodAffinity": Affinity(pod, places, AROUND, settings.affinity),
    }


def filters(settings: Settings) -> Mapping[str, Callable[[PendingPod, View], list[Said]]]:
    """The twins of the plugins that look at one node, with their args."""
    return {
        **FILTERS,
        "NodeAffinity": lambda pod, view: enforced(view, settings.added) or node_affinity(pod, view),
        "NodeResourcesFit": lambda pod, view: node_resources_fit(pod, view, settings.ignored),
    }


def first_rejection(
    pod: PendingPod,
    view: View,
    across: Mapping[str, Spread | Affinity | Judge],
    alone: Mapping[str, Callable[[PendingPod, View], list[Said]]],
) -> tuple[str, list[Said]] | None:
    plugins, names = narrowed_by(pod)
    if plugins and view.name not in names:
        return plugins[0], [(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]", False)]
    for name in ORDER:
        said = across[name].rejects(view.place) if name in across else alone[name](pod, view)
        if said:
            return name, said
    return None


def all_scores(
    pod: PendingPod, views: list[View], settings: Settings, everywhere: list[View]
) -> dict[str, dict[str, int]]:
    sizes = {name: image.size_bytes for view in everywhere for image in view.node.status.images for name in image.names}
    raw: dict[str, Callable[[View], int | None]] = {
        "TaintToleration": lambda view: soft_taints(pod, view),
        "NodeAffinity": lambda view: preferred_weight(pod, view, settings.added),
        "GPUScheduler": lambda view: gpu_memory_score(pod, view),
        "GPUTopologyPlugin": lambda view: gpu_topology_score(pod, view, settings.count),
        "NodeResourcesFit": lambda view: fit_score(pod, view, settings.strategy, settings.weights, settings.shape),
        "NodeResourcesBalancedAllocation": lambda view: balanced_score(pod, view, settings.balanced),
        "ImageLocality": lambda view: image_score(pod, view, everywhere, sizes),
    }
    found = {}
    for name, judge in raw.items():
        given = {view.name: judge(view) for view in views}
        found[name] = normalised(name, {node: score for node, score in given.items() if score is not None})
    return found


def normalised(name: str, scores: dict[str, int]) -> dict[str, int]:
    if name not in ("TaintToleration", "NodeAffinity", "GPUScheduler") or not scores:
        return scores
    highest = max(scores.values())
    scaled = {node: score * 100 // highest if highest else score for node, score in scores.items()}
    return {node: 100 - score for node, score in scaled.items()} if name == "TaintToleration" else scaled


def views(state: ClusterState) -> list[View]:
    """Return the nodes of a cluster in the snapshot's order, each with the pods that count on it."""
    held: dict[str, list[PendingPod]] = {}
    for holding in state.holdings().values():
        held.setdefault(holding.node, []).append(holding.pod)
    found, told = [], Told(state.storage.objects())
    for name in state.snapshot().names:
        record = state.node(name)
        assert record is not None
        pods = held.get(name, [])
        found.append(View(record.node, tuple(pod.request for pod in pods), tuple(pod.pod for pod in pods), told))
    return found


def check(state: ClusterState) -> None:
    """Assert that every column of the snapshot is what its nodes and pods say, each added up anew."""
    snapshot = state.snapshot()
    assert len(set(snapshot.names)) == len(snapshot)
    for row, view in enumerate(views(state)):
        assert snapshot.nodes.rows[view.name] == row
        check_node(state, row, view)
        check_usage(state, row, view)


def check_node(state: ClusterState, row: int, view: View) -> None:
    nodes, facts = state.snapshot().nodes, view.facts
    assert {name: int(column[row]) for name, column in nodes.allocatable.items()} == {
        name: view.has(name) for name in nodes.allocatable
    }
    assert set(view.node.status.allocatable) <= {*nodes.allocatable, "pods"}
    assert nodes.max_pods[row] == view.has("pods")
    assert bool(nodes.unschedulable[row]) == view.node.spec.unschedulable
    assert nodes.taints.at(row) == view.node.spec.taints
    assert nodes.gpu_model.at(row) == facts.model
    assert nodes.gpu_memory_mib[row] == (-1 if facts.memory_mib is None else facts.memory_mib)
    assert nodes.gpu_utilization[row] == (-1 if facts.utilization is None else facts.utilization)
    assert nodes.features.at(row) == frozenset(view.node.status.declared_features)
    held = {name for name in nodes.images.spreads if nodes.images.holders(name)[row]}
    assert held == image_names(view.node)
    for key in {*nodes.label_columns, *view.node.metadata.labels}:
        assert nodes.label(key).at(row) == view.node.metadata.labels.get(key)


def check_usage(state: ClusterState, row: int, view: View) -> None:
    usage = state.snapshot().usage
    assert {name: int(column[row]) for name, column in usage.requested.items()} == {
        name: view.held(name) for name in state.snapshot().resources
    }
    assert usage.nonzero_milli_cpu[row] == view.held_with_defaults("cpu")
    assert usage.nonzero_memory_bytes[row] == view.held_with_defaults("memory")
    assert usage.pods[row] == len(view.pods)
    assert usage.ports.at(row) == frozenset(port for pod in view.pods for port in pod.host_ports)
