"""The args of NodeResourcesFit and NodeResourcesBalancedAllocation, and the rules they must keep."""

from collections.abc import Iterator

from cluster_model import gpu_names
from cluster_model.verdict import Problem
from scheduler_plugins.plugin_args import Args

LEAST, MOST, RATIO = STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
MAX_WEIGHT = 100
MAX_UTILIZATION = 100
MAX_SHAPE_SCORE = 10


class Resource(Args, frozen=True):
    """A resource that counts in a score, and how much."""

    name: str = ""
    weight: int = 0


class ShapePoint(Args, frozen=True):
    """What a share of the node in use is worth, from 0 to 10."""

    utilization: int = 0
    score: int = 0


class Ratio(Args, frozen=True):
    """The broken line of RequestedToCapacityRatio."""

    shape: tuple[ShapePoint, ...] = ()

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what is wrong with the line."""
        if not self.shape:
            yield Problem(f"{path}.shape", "", "at least one point must be specified")
        before = -1
        for index, point in enumerate(self.shape):
            at = f"{path}.shape[{index}]"
            if not 0 <= point.utilization <= MAX_UTILIZATION:
                yield Problem(f"{at}.utilization", point.utilization, f"not in valid range [0, {MAX_UTILIZATION}]")
            if not 0 <= point.score <= MAX_SHAPE_SCORE:
                yield Problem(f"{at}.score", point.score, f"not in valid range [0, {MAX_SHAPE_SCORE}]")
            if point.utilization <= before:
                yield Problem(f"{at}.utilization", point.utilization, "values must be sorted in increasing order")
            before = point.utilization


class ScoringStrategy(Args, frozen=True):
    """How NodeResourcesFit scores."""

    type: str = LEAST
    resources: tuple[Resource, ...] = ()
    requested_to_capacity_ratio: Ratio | None = None

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what is wrong with the strategy."""
        if self.type not in STRATEGIES:
            yield Problem(f"{path}.type", self.type, f"must be one of: {', '.join(STRATEGIES)}")
        yield from _problems_of_weights(self.resources, f"{path}.resources")
        ratio, at = self.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
        if self.type == RATIO and ratio is None:
            yield Problem(at, "", f"must be specified when type is {RATIO}")
        elif self.type != RATIO and ratio is not None:
            yield Problem(at, "", f"must be nil when type is not {RATIO}")
        elif ratio is not None:
            yield from ratio.problems(at)


class FitArgs(Args, frozen=True):
    """Which extended resources are left out of the filter, and how nodes are scored."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what is wrong with the args."""
        for index, group in enumerate(self.ignored_resource_groups):
            if "/" in group:
                at = f"{path}.ignoredResourceGroups[{index}]"
                yield Problem(at, group, "resource group name can't contain '/'")
        yield from self.scoring_strategy.problems(f"{path}.scoringStrategy")

    def ignores(self, resource: str) -> bool:
        """Say whether the filter leaves an extended resource out."""
        if not self.ignored_resources and not self.ignored_resource_groups:
            return False
        named = resource in self.ignored_resources or resource.partition("/")[0] in self.ignored_resource_groups
        return named and gpu_names.is_extended(resource)


class BalancedArgs(Args, frozen=True):
    """Which resources should fill evenly."""

    resources: tuple[Resource, ...] = ()

    def problems(self, path: str) -> Iterator[Problem]:
        """Yield what is wrong with the args."""
        for index, resource in enumerate(self.resources):
            if resource.weight not in (0, 1):
                yield Problem(f"{path}.resources[{index}].weight", resource.weight, "must be 1")


def weights(resources: tuple[Resource, ...]) -> dict[str, int]:
    """Return the resources with their weights; none means cpu and memory alike."""
    return {resource.name: resource.weight or 1 for resource in resources} or {"cpu": 1, "memory": 1}


def _problems_of_weights(resources: tuple[Resource, ...], path: str) -> Iterator[Problem]:
    for index, resource in enumerate(resources):
        if not 0 <= resource.weight <= MAX_WEIGHT:
            rule = f"resource weight of {resource.weight} not in valid range (0, {MAX_WEIGHT}]"
            yield Problem(f"{path}[{index}].weight", resource.weight, rule)
