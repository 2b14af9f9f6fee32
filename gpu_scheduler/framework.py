"""One profile as it runs: its decisions and its plugins around them, timed. Keeps no books, talks to nobody."""

from collections.abc import Callable

from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from gpu_scheduler.entrance import Entrance
from gpu_scheduler.extension_points import PostFiltered
from gpu_scheduler.hooks import Hooks
from gpu_scheduler.placement import Placement
from gpu_scheduler.point_metrics import ERROR, SAMPLED, SUCCESS, UNSCHEDULABLE, Measures, ProfilePoints
from gpu_scheduler.timed import Timing
from scheduler_plugins import nominated
from scheduler_plugins.framework import Decision, PluginError, Profile
from scheduler_plugins.reuse import Memory


class Framework:
    """Decides for the pods of one scheduler name, and gives each placement its plugins."""

    def __init__(self, profile: Profile, hooks: Hooks, entrance: Entrance, measures: Measures) -> None:
        self.profile = profile
        self.hooks = hooks
        self._entrance = entrance
        self._draw = measures.draw
        self._now = measures.now
        self._points = ProfilePoints(measures.metrics, profile.scheduler_name, measures.now)
        self._evaluations = measures.metrics.evaluations(profile)
        self._memory = Memory(profile)
        self._timed = Timing(measures.metrics, measures.now).profile(profile)
        self._sampled = False
        self._judged_at: float | None = None

    def decide(self, pending: PendingPod, state: ClusterState) -> Decision:
        """Decide for a pod; raise PluginError where a plugin cannot say."""
        if self._entrance.faults:
            self._entrance.check(pending.pod.metadata.uid)
        self._sampled = self._draw() < SAMPLED
        profile = self._timed if self._sampled else self.profile
        started, self._judged_at = self._now(), None
        try:
            held = nominated.judge(pending, state, profile)
            decision = self._memory.decide(pending, state.snapshot(), held, self._mark, profile)
        except PluginError:
            self._note_failure(started)
            raise
        self._note(decision, started)
        return decision

    def place(self, pending: PendingPod, node: str) -> Placement:
        """Begin with what comes after the decision."""
        return Placement(pending, node, self.hooks, self._points, self._sampled)

    def post_filter(self, decision: Decision, state: ClusterState) -> PostFiltered:
        """Look for help for a pod that fits nowhere: the first that finds a node, else what all have said."""
        if not self.hooks.post_filters or not len(decision.snapshot):
            return PostFiltered(clears=state.nominations.take_back(decision.pod.pod))
        said: list[PostFiltered] = []
        with self._points.span("PostFilter") as span:
            span.status = UNSCHEDULABLE
            for step in self.hooks.post_filters:
                found = self._helped(step.name, step.run, decision)
                if found is None:
                    continue
                if found.nominated:
                    span.status = SUCCESS
                    state.nominations.set(decision.pod, found.nominated)
                    return found
                said.append(found)
                if found.final:
                    break
        message = ", ".join(one.message for one in said if one.message)
        return PostFiltered(message, clears=any(one.clears for one in said))

    def _helped(
        self, name: str, run: Callable[[Decision], PostFiltered | None], decision: Decision
    ) -> PostFiltered | None:
        if not self._sampled:
            return run(decision)
        with self._points.plugin(name, "PostFilter"):
            return run(decision)

    def _mark(self) -> None:
        self._judged_at = self._now()

    def _note(self, decision: Decision, started: float) -> None:
        judged = self._judged_at or started
        self._points.filtered.observe(judged - started)
        if decision.best is not None:
            self._points.scored.observe(self._now() - judged)
        self._evaluations.count(decision)

    def _note_failure(self, started: float) -> None:
        judged = self._judged_at
        point, began = ("Filter", started) if judged is None else ("Score", judged)
        self._points.note(point, ERROR, self._now() - began)
