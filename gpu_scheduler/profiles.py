"""Turns configured profiles into the plugins that decide. The names and args of plugins are the registry's."""

from collections.abc import Iterable

from cluster_model.verdict import BadRequest, Problem
from gpu_scheduler.config import ProfileConfig
from gpu_scheduler.plugin_sets import Known
from scheduler_plugins import registry
from scheduler_plugins.framework import Profile

KNOWN = Known(
    filters=frozenset(registry.FILTERS),
    scorers=frozenset(name for name, _ in registry.SCORERS),
    defaults=registry.DEFAULTS,
)


def build(configured: Iterable[ProfileConfig]) -> dict[str, Profile]:
    """Bind every profile's plugins, by scheduler name; raise BadRequest with every problem of their args."""
    built: dict[str, Profile] = {}
    problems: list[Problem] = []
    for found in configured:
        try:
            built[found.scheduler_name] = registry.profile(
                found.scheduler_name, found.filters, found.scorers, found.args, found.args_paths
            )
        except BadRequest as refused:
            problems.extend(refused.problems)
    if problems:
        raise BadRequest(*problems)
    return built
