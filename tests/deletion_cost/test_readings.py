"""What is known of a pod over time: what holds, what counts as served, and what is usual."""

from dataclasses import replace

from deletion_cost.load import IDLE, Load, Weights
from deletion_cost.readings import Formula, Reading
from deletion_cost.sample import Sample

FORMULA = Formula(Weights(), "requests", hold_polls=3)


def told(*samples: Sample, every: float = 30) -> Reading:
    reading = Reading()
    for number, sample in enumerate(samples):
        reading.take(sample, number * every, FORMULA)
    return reading


def requests(*counts: float) -> list[Sample]:
    return [Sample(active_requests=count) for count in counts]


def test_the_last_load_holds_for_three_polls_and_then_the_pod_is_idle() -> None:
    reading = told(*requests(10))
    assert [reading.miss(FORMULA) for _ in range(3)] == [False] * 3
    assert reading.load == Load(50, True)
    assert reading.miss(FORMULA)
    assert reading.load == IDLE
    assert not reading.miss(FORMULA)


def test_a_pod_that_never_told_anything_is_neither_busy_nor_idle_for_three_polls() -> None:
    reading = Reading()
    for _ in range(3):
        reading.miss(FORMULA)
    assert reading.load is None


def test_an_answer_ends_the_count_of_misses() -> None:
    reading = told(*requests(10))
    for _ in range(3):
        reading.miss(FORMULA)
    reading.take(Sample(active_requests=2), 200, FORMULA)
    assert not reading.miss(FORMULA)
    assert reading.load == Load(10, True)


def served(count: float | None, requests: float = 0) -> Sample:
    return Sample(active_requests=requests, cache_hit_rate=1, served=count)


def test_a_counter_that_moves_tells_that_requests_are_served() -> None:
    assert told(served(7)).load == IDLE
    assert told(served(7), served(8)).load == Load(3, False)
    assert told(served(7), served(2)).load == Load(3, False)


def test_what_was_served_counts_for_a_minute() -> None:
    assert told(served(None, 1), served(None), served(None)).load == Load(3, False)
    assert told(served(None, 1), served(None), served(None), served(None)).load == IDLE


def test_the_peak_is_of_three_samples_and_ends_with_the_work() -> None:
    assert told(*requests(10, 4, 2)).peak == 50
    assert told(*requests(10, 4, 2, 3)).peak == 20
    assert told(*requests(10, 4, 0)).peak == 0


def test_how_many_samples_a_fall_takes_is_a_setting() -> None:
    reading, quick = Reading(), replace(FORMULA, fall_polls=1)
    for number, sample in enumerate(requests(10, 4)):
        reading.take(sample, number, quick)
    assert reading.peak == 20


def test_the_usual_load_follows_slowly() -> None:
    assert told(*requests(8)).usual == 40
    assert told(*requests(8, 0)).usual == 30
