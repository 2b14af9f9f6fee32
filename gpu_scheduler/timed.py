"""A profile whose plugins' time is taken: the same plugins, for the attempts that are sampled."""

import dataclasses
from collections.abc import Callable
from typing import Any

from gpu_scheduler.point_metrics import ERROR, SUCCESS, UNRESOLVABLE, UNSCHEDULABLE, PointMetrics
from scheduler_plugins.framework import Filter, Profile, ReasonSet, Scorer

Clock = Callable[[], float]


class Timing:
    """Notes each call of a plugin."""

    def __init__(self, metrics: PointMetrics, now: Clock) -> None:
        self._metrics = metrics
        self._now = now

    def profile(self, found: Profile) -> Profile:
        """Return the profile in the form that is timed."""
        filters = tuple(self._filter(one) for one in found.filters)
        return dataclasses.replace(found, filters=filters, scorers=tuple(self._scorer(one) for one in found.scorers))

    def _filter(self, found: Filter) -> Filter:
        before = ("PreFilter", found.name)
        return dataclasses.replace(
            found,
            run=found.run and self._call(found.run, "Filter", found.name),
            refuse=found.refuse and self._call(found.refuse, *before, status=_refused),
            narrow=found.narrow and self._call(found.narrow, *before),
        )

    def _scorer(self, found: Scorer) -> Scorer:
        normalise = found.normalise and self._call(found.normalise, "ScoreExtensionNormalize", found.name)
        return dataclasses.replace(found, run=self._call(found.run, "Score", found.name), normalise=normalise)

    def _call(
        self, run: Callable[..., Any], point: str, plugin: str, status: Callable[[Any], str] = lambda _: SUCCESS
    ) -> Callable[..., Any]:
        metrics, now = self._metrics, self._now

        def timed(*args: Any) -> Any:
            started = now()
            said = ERROR
            try:
                found = run(*args)
                said = status(found)
            finally:
                metrics.plugin(plugin, point, said, now() - started)
            return found

        return timed


def _refused(reasons: ReasonSet) -> str:
    if not reasons:
        return SUCCESS
    return UNSCHEDULABLE if all(reason.preemption_may_help for reason in reasons) else UNRESOLVABLE
