"""When a pod is warm, on the controller's own clock."""

from hypothesis import given
from hypothesis import strategies as st

from deletion_cost.warmth import Terms, Warmth

TERMS = Terms(warmup_seconds=60, longest_seconds=600)


def new(ready: bool = False, marked_cold: bool = True) -> Warmth:
    return Warmth.first_seen(0, ready, 0, marked_cold)


def test_a_new_pod_is_warm_after_a_minute_of_being_ready() -> None:
    pod = new()
    assert not pod.warm_up(500, TERMS)
    pod.see(500, True, 0)
    assert (pod.warm_up(559, TERMS), pod.warm_up(560, TERMS), pod.cold) == (False, True, False)


def test_a_ready_pod_without_the_mark_was_warm_before_we_came() -> None:
    assert (new(True, False).cold, new(True, True).cold, new(False, False).cold) == (False, True, True)


def test_a_restart_makes_a_warm_pod_cold_though_it_was_ready_all_the_time() -> None:
    pod = new(True, False)
    assert not pod.see(10, True, 0)
    assert pod.see(20, True, 1)
    assert (pod.cold, pod.again, pod.due(TERMS)) == (True, True, 80)


def test_a_gap_makes_a_pod_cold_and_the_time_begins_anew() -> None:
    pod = new(True, False)
    pod.see(10, False, 0)
    assert (pod.cold, pod.again, pod.due(TERMS)) == (True, True, None)
    pod.see(40, True, 0)
    assert pod.due(TERMS) == 100


def test_a_first_gap_of_a_cold_pod_is_no_reason_to_write_that_it_is_cold() -> None:
    pod = new(True, True)
    pod.see(10, False, 0)
    assert (pod.cold, pod.again) == (True, False)


def test_a_pod_that_is_interrupted_again_and_again_is_warm_in_the_end() -> None:
    pod = new()
    for second in range(0, 700, 50):
        pod.see(second, True, second)
        warm = pod.warm_up(second + 25, TERMS)
        if warm:
            break
        pod.see(second + 40, False, second)
    assert second == 600


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans(), st.integers(0, 3)), max_size=30))
def test_only_time_spent_ready_without_a_break_warms(steps: list[tuple[float, bool, int]]) -> None:
    """A slow twin: it remembers since when nothing has happened."""
    pod, now, since, restarts = new(), 0.0, None, 0
    for after, ready, more in steps:
        now += after
        pod.see(now, ready, restarts + more)
        since = None if not ready else now if more or since is None else since
        restarts += more
        if pod.warm_up(now, Terms(60, 10**9)):
            assert since is not None
            assert now - since >= 60
        elif pod.cold:
            assert since is None or now - since < 60
