"""Which pods should have which cost: small cases, and what holds for any workload over time."""

import random

from hypothesis import given
from hypothesis import strategies as st

from deletion_cost import bands, plan
from deletion_cost.plan import Candidate, Count, Urgency, Wanted

COUNTS = st.integers(0, 12)
LOADS = st.lists(st.none() | st.integers(0, 1000), min_size=1, max_size=20)


def pods(*points: int | None, **current: int) -> list[Candidate]:
    """Candidates p0, p1, …; `current` are their costs by name."""
    return [
        Candidate(f"p{number}", current.get(f"p{number}"), load, load or 0, load or 0, bool(load))
        for number, load in enumerate(points)
    ]


def marks(candidates: list[Candidate], count: int) -> dict[str, int | None]:
    return {one.uid: one.value for one in plan.victims(candidates, Count(count), 10)}


def applied(candidates: list[Candidate], wanted: dict[str, int | None]) -> list[Candidate]:
    return pods(
        *(one.points for one in candidates),
        **{one.uid: value for one in candidates if (value := wanted.get(one.uid, one.current)) is not None},
    )


def settled(candidates: list[Candidate], count: int) -> list[Candidate]:
    """Plan and write until nothing is wanted any more."""
    for _ in range(20):
        wanted = marks(candidates, count)
        if not wanted:
            return candidates
        candidates = applied(candidates, wanted)
    raise AssertionError("never settles")


def test_the_lowest_are_marked_and_nothing_else_is_written() -> None:
    assert marks(pods(50, 0, 5, 200), 2) == {"p1": -49, "p2": bands.mark(5)}


def test_pods_of_like_load_are_taken_as_the_controller_would() -> None:
    assert marks(pods(0, 0, 0), 1) == {"p0": -49}


def test_of_pods_of_like_load_the_one_that_is_usually_idle_goes_first() -> None:
    often = Candidate("often", None, 0, usual=30)
    assert marks([often, Candidate("never", None, 0)], 1) == {"never": -49}


def test_a_mark_stays_while_the_pod_lies_in_no_higher_band_than_the_last_victim() -> None:
    assert marks(pods(20, 25, 30, 35, p0=-28, p2=-26), 2) == {}


def test_a_marked_pod_that_rises_above_is_replaced_and_that_is_urgent() -> None:
    wanted = {one.uid: one for one in plan.victims(pods(40, 0, 0, p0=-49, p1=-49), Count(2), 10)}
    assert wanted == {"p0": Wanted("p0", None, Urgency.PROTECT), "p2": Wanted("p2", -49, Urgency.DUE)}


def test_what_is_only_better_is_a_refinement_and_never_leaves_too_few() -> None:
    (better,) = plan.victims(pods(90, 10, p0=-19), Count(1), 10)
    assert better == Wanted("p1", bands.mark(10), Urgency.REFINE)
    (surplus,) = plan.victims(pods(90, 10, p0=-19, p1=bands.mark(10)), Count(1), 10)
    assert surplus == Wanted("p0", None, Urgency.REFINE)


def test_a_pod_without_work_takes_the_place_of_one_with_work() -> None:
    """Though the difference is small, and as a refinement where the last victim has work anyway."""
    assert marks(pods(5, 5, 0, p0=-37, p1=-37), 2) == {"p2": -49}


def test_pods_of_which_nothing_is_known_are_left_as_they_are() -> None:
    assert marks(pods(None, None, 9, p0=-49), 1) == {"p2": bands.mark(9)}


def test_with_cold_pods_fewer_are_needed_but_marks_that_are_there_stay() -> None:
    """So that a scale-up takes no mark away which it would need again a minute later."""
    assert list(plan.victims(pods(0, 0, 0), Count(2, cold=1), 10)) == [Wanted("p0", -49)]
    assert list(plan.victims(pods(0, 0, 0, p0=-49, p1=-49), Count(2, cold=9), 10)) == []


def test_a_first_value_is_no_mark_whatever_it_is() -> None:
    first = Candidate("p0", -7, 0, ours=False)
    assert list(plan.victims([first, Candidate("p1", None, 0)], Count(1), 10))[-1] == Wanted("p0", -49)
    assert list(plan.victims([first], Count(0), 10)) == [Wanted("p0", None)]


def test_no_victims_no_marks() -> None:
    assert marks(pods(0, 0, p0=-49), 0) == {"p0": None}


def test_what_a_warm_pod_still_carries_goes() -> None:
    assert marks(pods(0, 60, 60, p1=-50, p2=145), 1) == {"p0": -49, "p1": None, "p2": None}
    assert list(plan.without_load(pods(None, None, p0=-50))) == [Wanted("p0", None)]


@given(LOADS, COUNTS, st.randoms(use_true_random=False))
def test_after_any_change_the_marked_lie_in_no_higher_band_than_the_last_victim(
    loads: list[int | None], count: int, chance: random.Random
) -> None:
    """However the marks were before: after one plan without its refinements they are right."""
    before = settled(pods(*loads), count)
    redrawn = [load if load is None or chance.random() < 0.5 else chance.randint(0, 1000) for load in loads]
    now = pods(*redrawn, **{one.uid: one.current for one in before if one.current is not None})
    must = {one.uid: one.value for one in plan.victims(now, Count(count), 10) if one.urgency != Urgency.REFINE}
    marked = [one for one in applied(now, must) if one.marked and one.points is not None]
    known = sorted(load for load in redrawn if load is not None)
    assert len(marked) >= min(count, len(known))
    if known and count:
        last = bands.of(known[min(count, len(known)) - 1])
        assert all(bands.NAMES.index(bands.of(one.points)) <= bands.NAMES.index(last) for one in marked)


@given(LOADS, COUNTS)
def test_plans_come_to_rest_with_as_many_marks_as_wanted(loads: list[int | None], count: int) -> None:
    marked = [one for one in settled(pods(*loads), count) if one.current is not None]
    assert len(marked) == min(count, sum(load is not None for load in loads))
    assert all(bands.of(one.current) == "victim" for one in marked)


@given(LOADS, COUNTS)
def test_at_rest_no_pod_with_work_is_marked_while_one_without_is_not(loads: list[int | None], count: int) -> None:
    found = [one for one in settled(pods(*loads), count) if one.points is not None]
    assert not (any(one.marked and one.busy for one in found) and any(not one.marked and not one.busy for one in found))


def test_every_pod_gets_its_cost() -> None:
    wanted = {one.uid: one for one in plan.everyone(pods(0, 5, 145, p0=-50), 10, 5)}
    assert {uid: one.value for uid, one in wanted.items()} == {"p0": None, "p1": 5, "p2": 145}
    assert wanted["p2"].urgency == Urgency.PROTECT


def test_small_changes_are_not_written_but_work_that_begins_or_ends_is() -> None:
    assert list(plan.everyone(pods(64, 230, p0=60, p1=260), 10, 5)) == []
    learned = Candidate("p0", 12, 4)
    assert [one.value for one in plan.everyone([learned], 10, 5)] == [4]
    assert [one.value for one in plan.everyone(pods(5, p0=4), 10, 5)] == [5]


@given(LOADS, st.lists(st.none() | st.integers(-100, 1000), min_size=20, max_size=20), COUNTS)
def test_only_values_of_our_bands_are_ever_wanted(loads: list[int | None], costs: list[int | None], count: int) -> None:
    current = {f"p{number}": cost for number, cost in enumerate(costs) if cost is not None}
    found = [*plan.victims(pods(*loads, **current), Count(count), 10), *plan.everyone(pods(*loads, **current), 10, 5)]
    assert all(one.value is None or -100 <= one.value <= 1000 for one in found)


@given(st.lists(st.tuples(st.integers(0, 4) | st.integers(5, 1000), st.integers(-100, 1000)), min_size=2, max_size=20))
def test_with_every_cost_written_no_pod_with_work_ranks_below_one_without(pairs: list[tuple[int, int]]) -> None:
    """Whatever they carried before, and although small differences are not written."""
    before = [Candidate(f"p{at}", cost, load, load, load, load >= 5) for at, (load, cost) in enumerate(pairs)]
    wanted = {one.uid: one.value for one in plan.everyone(before, 10, 5)}
    after = {one.uid: wanted.get(one.uid, one.current) or 0 for one in before}
    idle = max((after[one.uid] for one in before if not one.busy), default=-1000)
    assert all(after[one.uid] >= idle for one in before if one.busy)


def test_a_new_cold_pod_keeps_what_it_has_and_one_that_is_cold_again_becomes_cold() -> None:
    assert list(plan.cold("p", None, again=False, cost=-50)) == []
    assert list(plan.cold("p", -80, again=True, cost=-50)) == []
    assert list(plan.cold("p", -20, again=True, cost=-50)) == [Wanted("p", -50)]
