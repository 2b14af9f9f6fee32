"""The brakes: rate, rest, expiry, refinements, refusals; and that only the newest value of a pod is written."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deletion_cost.budget import Budget, Limits
from deletion_cost.plan import Urgency, Wanted

OPEN = Limits(1000, 1000, 1000, 0, 90)


def budget(**limits: Any) -> Budget:
    return Budget(replace(OPEN, **limits))


def offer(to: Budget, now: float, **values: int | None) -> None:
    to.offer("rs", [Wanted(uid, value) for uid, value in values.items()], now, {})


def taken(of: Budget, now: float) -> dict[str, int | None]:
    return {one.uid: one.value for _, one in of.take(now)}


def test_only_the_newest_value_is_written() -> None:
    found = budget()
    offer(found, 0, a=1, b=2)
    offer(found, 1, a=3)
    assert taken(found, 2) == {"a": 3}
    assert found.skipped.superseded == 2


def test_another_group_is_not_touched_by_a_plan() -> None:
    found = budget()
    offer(found, 0, a=1)
    found.offer("other", [Wanted("b", 2)], 0, {})
    found.offer("other", [], 1, {})
    assert taken(found, 1) == {"a": 1}


def test_the_rate_holds_over_any_time() -> None:
    found = budget(writes_per_second=5, burst=10)
    offer(found, 0, **{f"p{number}": 1 for number in range(100)})
    assert len(found.take(0)) == 10
    assert [len(found.take(second)) for second in (0.1, 1, 2, 10)] == [0, 5, 5, 10]


def test_the_most_urgent_go_first() -> None:
    found = budget(burst=1)
    refine, due, protect = (Wanted(one.name, 1, one) for one in (Urgency.REFINE, Urgency.DUE, Urgency.PROTECT))
    found.offer("rs", [refine, due, protect], 0, {})
    assert [taken(found, second) for second in range(3)] == [{"PROTECT": 1}, {"DUE": 1}, {"REFINE": 1}]


def test_refinements_have_a_small_budget_of_their_own() -> None:
    found = budget(refinements_per_second=0.2)
    found.offer("rs", [Wanted(f"p{number}", 1, Urgency.REFINE) for number in range(9)], 0, {})
    assert len(found.take(0)) == 6
    assert [len(found.take(second)) for second in (1, 5, 10)] == [0, 1, 1]
    offer(found, 11, urgent=1)
    assert taken(found, 11) == {"urgent": 1}


def test_a_pod_rests_between_two_writes() -> None:
    found = budget(min_interval_seconds=30)
    offer(found, 0, a=1)
    assert taken(found, 0) == {"a": 1}
    offer(found, 10, a=2)
    assert (taken(found, 29), taken(found, 30)) == ({}, {"a": 2})


def test_a_value_that_no_plan_confirms_expires() -> None:
    found = budget()
    found.offer("rs", [Wanted("a", 1), Wanted("b", 1)], 0, {"a": 200, "b": 200})
    found.offer("rs", [Wanted("a", 1)], 100, {"a": 200})
    found.offer("other", [Wanted("c", 1)], 100, {"c": 200})
    assert taken(found, 191) == {}
    assert (len(found), found.skipped.expired) == (0, 2)


def test_how_long_the_budget_lets_a_value_wait_is_known() -> None:
    """Neither the time before its moment counts, nor its pod's rest, nor a refinement's."""
    found = budget(burst=1, writes_per_second=0.001, min_interval_seconds=30)
    offer(found, 0, a=1)
    found.take(0)
    found.offer("rs", [Wanted("a", 2), Wanted("c", 1, Urgency.REFINE)], 1, {"a": 5})
    assert [found.longest_wait_seconds(now) for now in (1, 30, 100)] == [0, 0, 70]
    found.offer("rs", [Wanted("a", 3), Wanted("b", 1)], 100, {"b": 60})
    assert found.longest_wait_seconds(180) == 150
    found.clear()
    assert found.longest_wait_seconds(180) == 0


def test_a_delay_of_a_first_value_is_kept_when_it_is_wanted_again() -> None:
    found = budget()
    found.offer("rs", [Wanted("a", 1)], 0, {"a": 60})
    found.offer("rs", [Wanted("a", 2)], 30, {"a": 60})
    assert (taken(found, 59), taken(found, 60)) == ({}, {"a": 2})


def test_a_refusal_pauses_everything_and_halves_the_rate_for_a_while() -> None:
    found = budget(writes_per_second=8, burst=8)
    found.take(0)
    found.refused(0, 5)
    offer(found, 0, **{f"p{number}": 1 for number in range(200)})
    assert len(found.take(4.9)) == 0
    assert len(found.take(5)) == 8
    assert len(found.take(6)) == 4
    assert [len(found.take(second)) for second in (35, 36)] == [8, 8]


def test_what_could_not_be_written_waits_unless_a_newer_value_is_there() -> None:
    found = budget()
    offer(found, 0, a=1, b=1)
    refused = found.take(0)
    offer(found, 1, a=2)
    for group, one in refused:
        found.put_back(group, one, 1, 5)
    assert taken(found, 1) == {"a": 2}
    assert taken(found, 6) == {"b": 1}


def test_a_value_that_needed_no_write_costs_nothing() -> None:
    found = budget(burst=1, writes_per_second=0.01)
    offer(found, 0, a=1)
    found.take(0)
    found.unspent(refining=False)
    offer(found, 0, b=1)
    assert taken(found, 0) == {"b": 1}


STEPS = st.lists(
    st.tuples(st.floats(0, 20), st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 5))), max_size=40
)


@given(STEPS)
def test_no_brake_is_ever_exceeded(steps: list[tuple[float, dict[str, int]]]) -> None:
    """Whatever is offered and whenever it is asked."""
    found = budget(writes_per_second=0.5, burst=2, min_interval_seconds=10)
    now, writes, last = 0.0, 0, dict[str, float]()
    for after, values in steps:
        now += after
        offer(found, now, **values)
        for uid, value in taken(found, now).items():
            assert value == values[uid]
            assert now - last.get(uid, -10) >= 10
            last[uid] = now
            writes += 1
        assert writes <= 2 + 0.5 * now + 1e-6
