"""Small random labels, spread constraints and terms of (anti-)affinity, for the pods that `generate` makes."""

from typing import Any

from cluster_model import objects
from tests.generate_source import Source

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TOPOLOGIES = (HOSTNAME, ZONE, "rank")
APPS = ("web", "db", "")
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
OWNERS = (("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("v1", "ReplicationController"), ("batch/v1", "Job"))


def topology(source: Source, name: str) -> dict[str, str]:
    """Say where a node stands; some say little or nothing."""
    found = {HOSTNAME: name} if not source.seldom(6) else {}
    return found | ({ZONE: source.of(("a", "b", ""))} if not source.seldom(5) else {})


def meta(source: Source) -> dict[str, Any]:
    """Make what selectors and owners read of a pod."""
    labels = {"app": source.of(APPS)} if not source.seldom(3) else {}
    labels |= {"tier": source.of("xy")} if source.seldom(2) else {}
    return {
        "labels": labels,
        "namespace": "other" if source.seldom(5) else "default",
        "owner_references": (owner(source),) if source.seldom() else (),
        "deletion_timestamp": "2026-01-01T00:00:00Z" if source.seldom(8) else "",
    }


def owner(source: Source) -> objects.OwnerReference:
    version, kind = source.of(OWNERS)
    name = source.of(("web", "db", "y", "unreadable", "gone"))
    controls = not source.seldom(6)
    return objects.OwnerReference(api_version=version, kind=kind, name=name, uid=f"uid-{name}", controller=controls)


def selector(source: Source) -> objects.LabelSelector:
    labels = {"app": source.of(APPS)} if source.seldom(2) else {}
    return objects.LabelSelector(match_labels=labels, match_expressions=source.several(lambda: expression(source), 2))


def expression(source: Source) -> objects.SelectorRequirement:
    operator = source.of(("In", "NotIn", "Exists", "DoesNotExist"))
    values = tuple(source.some(APPS)) or ("web",)
    key = source.of(("app", "tier"))
    return objects.SelectorRequirement(key=key, operator=operator, values=values if "In" in operator else ())


def spread(source: Source) -> tuple[objects.TopologySpreadConstraint, ...]:
    """Make a list of constraints, mostly empty."""
    return source.several(lambda: constraint(source), 2) if source.seldom(2) else ()


def constraint(source: Source) -> objects.TopologySpreadConstraint:
    return objects.TopologySpreadConstraint(
        topology_key=source.of(TOPOLOGIES),
        when_unsatisfiable=source.of(ACTIONS),
        max_skew=source.of((1, 1, 2)),
        label_selector=None if source.seldom(8) else selector(source),
        min_domains=source.of((1, 1, 2, 3)),
        node_affinity_policy=source.of(("", "Honor", "Ignore")),
        node_taints_policy=source.of(("", "Honor", "Ignore")),
        match_label_keys=tuple(source.some(("app", "tier"))) if source.seldom() else (),
    )


def spread_args(source: Source) -> dict[str, Any]:
    """Make args of PodTopologySpread."""
    constraints = [
        {"topologyKey": key, "whenUnsatisfiable": action, "maxSkew": source.of((1, 2)), "minDomains": source.of((1, 2))}
        | {"nodeTaintsPolicy": source.of(("Honor", "Ignore"))}
        for key in source.some(TOPOLOGIES)
        for action in source.some(ACTIONS)
    ]
    return {"defaultingType": "List", "defaultConstraints": constraints}


def pod_affinity(source: Source, rest: objects.Affinity) -> objects.Affinity:
    """Give a pod terms about others, seldom; what it has of node affinity stays."""
    near = terms(source) if source.seldom(5) else None
    apart = terms(source) if source.seldom(5) else None
    return objects.Affinity(node_affinity=rest.node_affinity, pod_affinity=near, pod_anti_affinity=apart)


def terms(source: Source) -> objects.PodAffinity:
    required = source.several(lambda: term(source), 2) if source.seldom(2) else ()
    return objects.PodAffinity(required=required, preferred=source.several(lambda: wish(source), 2))


def wish(source: Source) -> objects.WeightedPodAffinityTerm:
    return objects.WeightedPodAffinityTerm(weight=source.of((1, 2, 29, 100)), pod_affinity_term=term(source))


def term(source: Source) -> objects.PodAffinityTerm:
    teams = objects.LabelSelector(match_labels={"team": source.of("ab")})
    untold = objects.SelectorRequirement(key="team", operator=source.of(("Exists", "DoesNotExist")))
    chosen = (None, None, None, objects.LabelSelector(), teams, objects.LabelSelector(match_expressions=(untold,)))
    return objects.PodAffinityTerm(
        topology_key=source.of(TOPOLOGIES),
        label_selector=None if source.seldom(10) else selector(source),
        namespaces=tuple(source.some(("default", "other", "unknown"))) if source.seldom() else (),
        namespace_selector=source.of(chosen),
    )


def affinity_args(source: Source) -> dict[str, Any]:
    """Make args of InterPodAffinity."""
    ignored = source.of((True, False))
    return {"hardPodAffinityWeight": source.of((0, 1, 50)), "ignorePreferredTermsOfExistingPods": ignored}
