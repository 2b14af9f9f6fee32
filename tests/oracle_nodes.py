"""Twins of the plugins that read a node's own object: its name, labels, taints and features."""

from collections.abc import Mapping

from cluster_model import objects
from cluster_model.pod import PendingPod
from tests.oracle_view import Said, View

NOTHING_ADDED = objects.NodeAffinity()


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
