"""The args of PodTopologySpread: the constraints of pods that list none, and the rules they must keep."""

from collections.abc import Iterator
from dataclasses import dataclass

from cluster_model import label_syntax, objects, pod_terms
from cluster_model.label_selectors import NOTHING
from cluster_model.pod_terms import HARD, SOFT, SpreadConstraint
from cluster_model.verdict import Problem
from scheduler_plugins import plugin_args
from scheduler_plugins.topology import HOSTNAME, ZONE

SYSTEM, LIST = DEFAULTING = ("System", "List")


class DefaultConstraint(plugin_args.Args, frozen=True):
    """A constraint of the profile, as a pod would write it but without a selector."""

    topology_key: str = ""
    when_unsatisfiable: str = ""
    max_skew: int = 0
    min_domains: int = 1
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()
    label_selector: objects.LabelSelector | None = None

    def read(self) -> SpreadConstraint:
        """Return it as if a pod had written it."""
        written = objects.TopologySpreadConstraint(
            topology_key=self.topology_key,
            max_skew=self.max_skew,
            min_domains=self.min_domains,
            node_affinity_policy=self.node_affinity_policy,
            node_taints_policy=self.node_taints_policy,
        )
        return pod_terms.spread_constraint(written, NOTHING)

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what Kubernetes refuses about it."""
        if self.max_skew <= 0:
            yield Problem(f"{path}.maxSkew", self.max_skew, "not in valid range (0, inf)")
        wrong = "; ".join(label_syntax.wrong_with_key(self.topology_key)) if self.topology_key else "can not be empty"
        if wrong:
            yield Problem(f"{path}.topologyKey", self.topology_key, wrong)
        if self.when_unsatisfiable not in (HARD, SOFT):
            rule = f"must be one of: {HARD}, {SOFT}" if self.when_unsatisfiable else "can not be empty"
            yield Problem(f"{path}.whenUnsatisfiable", self.when_unsatisfiable, rule)
        if self.label_selector is not None:
            rule = "constraint must not define a selector, as they deduced for each pod"
            yield Problem(f"{path}.labelSelector", str(self.label_selector), rule)


class Args(plugin_args.Args, frozen=True):
    """Constraints for pods that list none: kube-scheduler's own (`System`), or `defaultConstraints` (`List`)."""

    default_constraints: tuple[DefaultConstraint, ...] = ()
    defaulting_type: str = SYSTEM

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what Kubernetes refuses about them."""
        if self.defaulting_type not in DEFAULTING:
            yield Problem(f"{path}.defaultingType", self.defaulting_type, f"must be one of: {', '.join(DEFAULTING)}")
        elif self.defaulting_type == SYSTEM and self.default_constraints:
            yield Problem(f"{path}.defaultingType", self.defaulting_type, "when .defaultConstraints are not empty")
        seen = set()
        for index, constraint in enumerate(self.default_constraints):
            at = f"{path}.defaultConstraints[{index}]"
            yield from constraint.problems(at)
            said = (constraint.topology_key, constraint.when_unsatisfiable)
            if said in seen:
                yield Problem(at, f"{{{', '.join(said)}}}", "must not be there twice")
            seen.add(said)


@dataclass(frozen=True, slots=True)
class Defaults:
    """The constraints of pods that list none, before they get a selector."""

    hard: tuple[SpreadConstraint, ...] = ()
    soft: tuple[SpreadConstraint, ...] = ()
    lenient: bool = False  # nodes that lack a topology are scored by the others

    @classmethod
    def of(cls, args: Args) -> "Defaults":
        """Read the args."""
        if args.defaulting_type == SYSTEM:
            return SYSTEM_DEFAULTS
        hard, soft = (
            tuple(one.read() for one in args.default_constraints if one.when_unsatisfiable == action)
            for action in (HARD, SOFT)
        )
        return cls(hard, soft)


SYSTEM_DEFAULTS = Defaults(
    soft=(SpreadConstraint(HOSTNAME, 3, NOTHING), SpreadConstraint(ZONE, 5, NOTHING)),
    lenient=True,
)
