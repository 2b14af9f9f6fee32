"""The block of counts: what it adds up to equals a plain list of what happened, at any time."""

from __future__ import annotations

import math
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from deletion_cost import process_counts
from deletion_cost.process_counts import ACTIVE, CONNECTIONS, Counts, Totals

WINDOW = 60.0
STEP = WINDOW / 12
happenings = st.lists(
    st.tuples(
        st.floats(0, 400), st.sampled_from(["answered", "hit", "miss"]), st.floats(0, 3600, allow_subnormal=False)
    ),
    max_size=60,
)


def block(window: float = WINDOW, since: float = 0.0) -> Counts:
    return Counts(process_counts.private_cells(), window, since)


@given(happenings, st.floats(0, 500))
def test_window_holds_what_happened_in_it(happened: list[tuple[float, str, float]], wait: float) -> None:
    """Each bucket that began less than a window ago counts whole; nothing older does."""
    counts, done = block(), sorted(happened)
    for at, what, seconds in done:
        counts.answered(at, seconds) if what == "answered" else counts.looked_up(at, what == "hit")
    now = (done[-1][0] if done else 0.0) + wait

    totals = process_counts.totals(counts.cells, now)

    kept = [
        (what, seconds) for at, what, seconds in done if int(now * 1e6) // 5_000_000 - int(at * 1e6) // 5_000_000 < 12
    ]
    assert totals.answered == sum(what == "answered" for what, _ in kept)
    assert (totals.hits, totals.misses) == tuple(sum(what == name for what, _ in kept) for name in ("hit", "miss"))
    assert totals.micros == sum(round(seconds * 1e6) for what, seconds in kept if what == "answered")
    assert totals.served == sum(what == "answered" for _, what, _ in done)


@given(happenings, st.floats(0, 500))
def test_no_reading_is_anything_but_a_finite_number(happened: list[tuple[float, str, float]], wait: float) -> None:
    counts, now = block(), 0.0
    for now, what, seconds in sorted(happened):
        counts.answered(now, seconds) if what == "answered" else counts.looked_up(now, what == "hit")

    sample = process_counts.totals(counts.cells, now + wait).sample()

    told = [number for number in (sample.mean_response_ms, sample.cache_hit_rate) if number is not None]
    assert all(math.isfinite(number) and number >= 0 for number in told)
    assert sample.cache_hit_rate is None or sample.cache_hit_rate <= 1


def test_mean_and_hit_rate_are_those_of_the_window() -> None:
    counts = block()
    for seconds in (0.1, 0.2, 0.6):
        counts.answered(100.0, seconds)
    for is_hit in (True, True, True, False):
        counts.looked_up(100.0, is_hit)

    now, later = (process_counts.totals(counts.cells, 100.0 + wait).sample() for wait in (0, WINDOW))

    assert (now.mean_response_ms, now.cache_hit_rate, now.served) == (300.0, 0.75, 3)
    assert (later.mean_response_ms, later.cache_hit_rate, later.served) == (None, None, 3)


def test_served_counts_no_longer_than_the_window() -> None:
    counts = block()
    counts.answered(STEP - 0.001, 1.0)
    assert process_counts.totals(counts.cells, WINDOW - 0.001).answered == 1
    assert process_counts.totals(counts.cells, WINDOW).answered == 0


def test_a_clock_that_runs_backwards_or_a_day_long_response_breaks_nothing() -> None:
    counts = block()
    counts.answered(10.0, -5.0)
    counts.answered(10.0, 1e30)
    assert process_counts.totals(counts.cells, 10.0).micros == 86_400_000_000


def test_a_bucket_that_is_begun_anew_is_left_out() -> None:
    """What another process sees between emptying and renaming a bucket."""
    counts = block()
    counts.answered(10.0, 1.0)
    at = counts._bucket(10.0)
    counts.cells[at] = process_counts._VACANT
    assert process_counts.totals(counts.cells, 10.0).answered == 0


class Racing:
    """A block in which its process goes on just after a reader has taken a bucket."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def __getitem__(self, key: int | slice) -> int | memoryview:
        if isinstance(key, int):
            return int(self._counts.cells[key])
        taken = memoryview(bytes(self._counts.cells[key])).cast("q")
        if taken[0] == 10 // STEP:
            self._counts.answered(10.0 + WINDOW, 1.0)
        return taken


def test_a_bucket_that_changes_hands_while_it_is_read_is_left_out() -> None:
    counts = block()
    counts.answered(10.0, 1.0)
    assert process_counts.totals(cast(memoryview, Racing(counts)), 10.0).answered == 0


def test_gauges_are_never_negative() -> None:
    counts = block()
    counts.add(ACTIVE, -1)
    counts.add(CONNECTIONS, -1)
    totals = process_counts.totals(counts.cells, 0.0)
    assert (totals.active, totals.connections) == (0, 0)


def test_what_ended_processes_had_served_is_added() -> None:
    counts = block(since=12.5)
    counts.inherit(40)
    counts.answered(20.0, 0.1)
    assert process_counts.served(counts.cells) == 41
    assert process_counts.since(counts.cells) == 12.5


@given(st.lists(st.tuples(*[st.integers(0, 1000)] * 7), max_size=5))
def test_totals_add_up_field_by_field(parts: list[tuple[int, ...]]) -> None:
    total = Totals()
    for part in parts:
        total = total.plus(Totals(*part))
    assert [getattr(total, name) for name in Totals.__slots__] == [sum(part[i] for part in parts) for i in range(7)]
