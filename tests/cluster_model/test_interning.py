"""Interned columns and growable columns: what is put is what is read, whatever is removed between."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.columns import Column
from cluster_model.interning import Interned, Interner
from tests.unhurried import UNHURRIED

steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 5)),
        st.tuples(st.just("put"), st.integers(0, 5)),
        st.tuples(st.just("remove"), st.integers(0, 5)),
        st.tuples(st.just("read"), st.integers(0, 5)),
    ),
    max_size=80,
)


@UNHURRIED
@given(steps=steps)
def test_both_kinds_of_column_follow_a_plain_list(steps: list[tuple[str, int]]) -> None:
    interner: Interner[int] = Interner()
    column, plain = Column(np.int64), list[int]()
    for step, value in steps:
        row = value % len(plain) if plain else 0
        if step == "append":
            interner.append(value)
            column.append(value)
            plain.append(value)
        elif step == "put" and plain:
            assert interner.put(row, value) == column.put(row, value) == (plain[row] != value)
            plain[row] = value
        elif step == "remove" and plain:
            interner.remove(row)
            column.remove(row)
            last = plain.pop()
            plain[row : row + 1] = [last] if row < len(plain) else []
        found = interner.frozen()
        assert [found.at(row) for row in range(len(plain))] == column.frozen().tolist() == plain


def test_a_predicate_runs_once_per_distinct_value() -> None:
    seen: list[str] = []

    def is_a(value: str) -> bool:
        seen.append(value)
        return value == "a"

    mask = Interned.of(["a", "b"] * 500).where(is_a)

    assert (mask.tolist(), seen) == ([True, False] * 500, ["a", "b"])


def test_values_that_no_row_holds_are_forgotten_in_time() -> None:
    interner: Interner[int] = Interner()
    interner.append(0)
    for value in range(1000):
        interner.put(0, value)
        interner.frozen()

    assert len(interner.frozen().values) < 100
    assert interner.frozen().at(0) == 999


def test_wanted_values_that_do_not_occur_match_nothing() -> None:
    assert Interned.of(["a", "b"]).among(["c", "b"]).tolist() == [False, True]


def test_an_empty_column_answers_too() -> None:
    empty: Interned[str] = Interned.of([])

    assert empty.where(lambda _: True).tolist() == empty.among(["a"]).tolist() == []


def test_a_frozen_column_is_the_same_object_until_something_changes() -> None:
    column = Column(np.int64, 2)
    before = column.frozen()
    column.put(0, 0)
    column.add(1, 0)
    assert column.frozen() is before

    column.add(1, 5)

    assert (before.tolist(), column.frozen().tolist()) == ([0, 0], [0, 5])
