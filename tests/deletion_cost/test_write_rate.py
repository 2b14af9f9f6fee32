"""How much is written for 5,000 pods whose loads change, and that the right ones are marked in the end: simulated.

The benchmark measures the same with all parts on a control plane; this holds plan and budget to it in a second.
"""

import random
from collections.abc import Callable

import pytest

from deletion_cost import bands, load, plan
from deletion_cost.budget import Budget, Limits
from deletion_cost.config import Config
from deletion_cost.plan import Candidate, Count
from deletion_cost.readings import Formula, Reading
from deletion_cost.sample import Sample

WORKLOADS, PODS, VICTIMS = 50, 100, 20
PERIOD, CHANGING, STILL = 30.0, 360.0, 60.0
STEP, POLLED_AT = 0.5, 20.0  # seconds; a poll comes so long after loads were drawn
CONFIG = Config()
FORMULA = Formula(CONFIG.load, "requests", CONFIG.missing.hold_polls)

Draw = Callable[[random.Random, int], int]  # the chance and the workload's number -> active requests


class Simulation:
    """All pods with their loads and costs, and the budget with its defaults but for the limit on all writes."""

    def __init__(self, draw: Draw) -> None:
        self.chance, self._draw = random.Random(7), draw
        self.requests = [[draw(self.chance, number) for _ in range(PODS)] for number in range(WORKLOADS)]
        self.costs: list[list[int | None]] = [[None] * PODS for _ in range(WORKLOADS)]
        self._readings = [[Reading() for _ in range(PODS)] for _ in range(WORKLOADS)]
        settings = CONFIG.budget
        interval, expiry = settings.min_interval_seconds, settings.expiry_seconds
        self._budget = Budget(Limits(50, 50, settings.refinements_per_second, interval, expiry))
        self.writes = 0

    def redraw(self) -> None:
        """Draw 5 % of all loads anew."""
        for place in self.chance.sample(range(WORKLOADS * PODS), WORKLOADS * PODS // 20):
            number, pod = divmod(place, PODS)
            self.requests[number][pod] = self._draw(self.chance, number)

    def poll(self, now: float, first: bool) -> None:
        for number in range(WORKLOADS):
            found = plan.victims(self._candidates(number, now), Count(VICTIMS), CONFIG.budget.min_change)
            wanted = {one.uid: one for one in found}
            spread = CONFIG.budget.spread_seconds if first else 0.0
            delays = {uid: spread * self.chance.random() for uid in wanted}
            self._budget.offer(str(number), wanted.values(), now, delays)

    def write(self, now: float) -> None:
        for group, one in self._budget.take(now):
            self.costs[int(group)][int(one.uid)] = one.value
            self.writes += 1

    def wrong(self) -> int:
        """Count those of the next victims that lie in a higher band than the last one should."""
        return sum(self._wrong(number) for number in range(WORKLOADS))

    def _candidates(self, number: int, now: float) -> list[Candidate]:
        candidates = []
        for pod, reading in enumerate(self._readings[number]):
            reading.take(Sample(active_requests=self.requests[number][pod]), now, FORMULA)
            assert reading.load is not None
            points, busy, cost = reading.load.points, reading.load.busy, self.costs[number][pod]
            candidates.append(Candidate(str(pod), cost, points, int(reading.usual), reading.peak, busy))
        return candidates

    def _wrong(self, number: int) -> int:
        points = [
            load.of(Sample(active_requests=one), True, "requests", CONFIG.load).points for one in self.requests[number]
        ]
        rank = [bands.NAMES.index(bands.of(one)) for one in points]
        gone = sorted(range(PODS), key=lambda pod: (self.costs[number][pod] or 0, -rank[pod]))[:VICTIMS]
        last = rank[sorted(range(PODS), key=points.__getitem__)[VICTIMS - 1]]
        return sum(rank[pod] > last for pod in gone)


def idle_or(share: float, most: int) -> Draw:
    return lambda chance, _: 0 if chance.random() < share else chance.randint(1, most)


LOADS: dict[str, Draw] = {
    "all alike": lambda chance, _: chance.randint(0, 20),
    "wide": lambda chance, _: chance.randint(0, 200),
    "across a band": lambda chance, _: chance.randint(0, 40),
    "three bands": lambda chance, _: chance.choice([0, 10, 50]),
    "few busy": lambda chance, _: int(chance.expovariate(0.1)),
    "a tenth idle": idle_or(0.1, 40),
    "as many idle as victims": idle_or(0.2, 40),
    "half idle": idle_or(0.5, 40),
    "from none idle to most": lambda chance, number: idle_or(0.6 * number / (WORKLOADS - 1), 60)(chance, number),
}


@pytest.mark.parametrize("draw", LOADS.values(), ids=LOADS)
def test_at_most_five_writes_a_second_and_the_right_pods_marked_in_the_end(draw: Draw) -> None:
    """Over six minutes with the first marks among them; then everything stands still for one."""
    simulated, during = Simulation(draw), 0
    for step in range(int((CHANGING + STILL) / STEP)):
        now = step * STEP
        if now % PERIOD == 0 and 0 < now < CHANGING:
            simulated.redraw()
        if now % PERIOD == POLLED_AT:
            simulated.poll(now, first=now == POLLED_AT)
        simulated.write(now)
        during = simulated.writes if now < CHANGING else during
    assert during / CHANGING <= 5
    assert simulated.wrong() == 0
