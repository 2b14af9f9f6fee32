"""What is known of one pod's load over time: its last sample, how long that holds, and how it usually is. Pure."""

from dataclasses import dataclass

from deletion_cost import bands, load
from deletion_cost.load import Load, Measure, Weights
from deletion_cost.sample import Sample

SMOOTHING = 0.25  # the share of the newest sample in the usual load


@dataclass(frozen=True, slots=True)
class Formula:
    """How samples of one workload become loads."""

    weights: Weights
    measure: Measure
    hold_polls: int
    fall_polls: int = 3  # a load counts as fallen after so many lower samples


@dataclass(slots=True)
class Reading:
    """One pod's loads. `load` is None until something is known: no data means neither busy nor idle at once."""

    load: Load | None = None
    usual: float = 0.0
    peak: int = 0
    misses: int = 0
    _recent: tuple[int, ...] = ()
    _served: float | None = None
    _served_at: float | None = None

    def take(self, sample: Sample, now: float, formula: Formula) -> None:
        """Take what the pod has told."""
        self._note_served(sample, now)
        within = formula.weights.served_within_seconds
        recently = self._served_at is not None and now - self._served_at <= within
        found = load.of(sample, recently, formula.measure, formula.weights)
        first = self.load is None or self.misses > formula.hold_polls
        flips = self.load is None or self.load.busy != found.busy
        self._recent = (found.points,) if flips else (*self._recent, found.points)[-formula.fall_polls :]
        self.usual = found.points if first else self.usual + SMOOTHING * (found.points - self.usual)
        self.load, self.peak, self.misses = found, max(self._recent), 0

    def miss(self, formula: Formula) -> bool:
        """Note that the pod has told nothing; after a few times it counts as idle. Tell whether it just began to."""
        self.misses += 1
        if self.misses != formula.hold_polls + 1:
            return False
        # Of idle pods it is the last to be chosen: of the others it is known that nothing is lost with them.
        self.load, self.usual, self.peak, self._recent = load.IDLE, bands.CAP, 0, ()
        return True

    def _note_served(self, sample: Sample, now: float) -> None:
        """Remember when requests were last served: work at hand, or a counter that moved."""
        moved = sample.served is not None and self._served is not None and sample.served != self._served
        if moved or (sample.active_requests or 0) > 0:
            self._served_at = now
        if sample.served is not None:
            self._served = sample.served
