"""A ledger is a dict that can be looked at as it was at any moment."""

from hypothesis import given
from hypothesis import strategies as st

from cluster_model.ledger import Ledger, View

changes = st.lists(st.tuples(st.integers(0, 400), st.none() | st.integers()), max_size=60)


@given(st.lists(changes, max_size=20))
def test_every_view_stays_what_the_dict_was(rounds: list[list[tuple[int, int | None]]]) -> None:
    ledger: Ledger[int, int] = Ledger()
    plain: dict[int, int] = {}
    seen: list[tuple[View[int, int], dict[int, int]]] = []
    for one in rounds:
        for key, value in one:
            if value is None:
                ledger.drop(key)
                plain.pop(key, None)
            else:
                ledger.put(key, value)
                plain[key] = value
            assert ledger.get(key) == plain.get(key)
        seen.append((ledger.frozen(), dict(plain)))
    assert all(dict(view) == expected and len(view) == len(expected) for view, expected in seen)
    assert all(
        (view.get(key), key in view) == (expected.get(key), key in expected)
        for view, expected in seen
        for key in range(0, 400, 37)
    )


def test_many_changes_are_folded_and_nothing_is_lost() -> None:
    ledger: Ledger[int, int] = Ledger()
    views = []
    for number in range(2000):
        ledger.put(number, number)
        views.append(ledger.frozen())

    assert [len(view) for view in views] == list(range(1, 2001))
    assert dict(views[700]) == {number: number for number in range(701)}


def test_view_is_the_same_until_something_changes() -> None:
    ledger: Ledger[str, int] = Ledger()
    ledger.put("a", 1)
    before = ledger.frozen()
    ledger.drop("b")

    assert ledger.frozen() is before
    ledger.put("a", 2)
    assert (before["a"], ledger.frozen()["a"]) == (1, 2)
