"""Sums read at any position, in any order, are what a plain sum over the changes before it gives."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import journal
from cluster_model.journal import Journal

KINDS = st.integers(0, 12)
SLOTS = 40
CHANGES = st.lists(st.tuples(KINDS, st.integers(0, SLOTS - 1), st.sampled_from((1, 1, -1))), max_size=120)


@dataclass(frozen=True)
class Divisible:
    """Kinds that a number divides count under "all" with their own size, even ones also under "even"."""

    by: int
    hooked: bool

    def hooks(self) -> Iterable[tuple[Hashable, ...]]:
        return [(self.by,), tuple(range(1, 8))] if self.hooked else []

    def weigh(self, kind: int) -> Iterator[tuple[Hashable, int]]:
        if kind % self.by == 0:
            yield "all", kind
            if kind % 2 == 0:
                yield "even", 1


def divisors(kind: int) -> list[int]:
    return [by for by in range(1, 8) if kind % by == 0]


QUESTIONS = st.builds(Divisible, st.integers(1, 7), st.booleans())


def expected(changes: list[tuple[int, int, int]], question: Divisible) -> dict[Hashable, Counter[int]]:
    found: dict[Hashable, Counter[int]] = {}
    for kind, slot, amount in changes:
        for name, weight in question.weigh(kind):
            found.setdefault(name, Counter())[slot] += weight * amount
    return found


def check(kept: Journal[int], changes: list[tuple[int, int, int]], question: Divisible, position: int) -> None:
    sums = kept.sums(question, position, SLOTS)
    wanted = expected(changes[:position], question)
    assert set(wanted) <= set(sums)
    for name, cells in sums.items():
        assert [int(cells[slot]) for slot in range(SLOTS)] == [wanted.get(name, Counter())[at] for at in range(SLOTS)]


@given(changes=CHANGES, data=st.data())
def test_sums_at_any_position_are_those_of_the_changes_before_it(
    changes: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    kept = Journal(divisors)
    for index, change in enumerate(changes):
        kept.append(*change)
        if index % 9 == 0:
            check(kept, changes, data.draw(QUESTIONS), data.draw(st.integers(0, index + 1)))
    for _ in range(4):
        check(kept, changes, data.draw(QUESTIONS), data.draw(st.integers(0, len(changes))))


@given(changes=CHANGES, question=QUESTIONS)
def test_a_journal_written_anew_says_the_same(changes: list[tuple[int, int, int]], question: Divisible) -> None:
    kept = Journal(divisors)
    for change in changes:
        kept.append(*change)
    repeated = (journal.LEAST_LENGTH + 4 * len(changes)) // 2 + 1
    for amount in (1, -1) * repeated:
        kept.append(5, 3, amount)
    short = kept.shortened()
    assert len(short) <= len(changes)
    check(short, changes, question, 0)
    for name, cells in short.sums(question, len(short), SLOTS).items():
        wanted = expected(changes, question).get(name, Counter())
        assert cells[:SLOTS].tolist() == [wanted[slot] for slot in range(SLOTS)]


def test_a_short_journal_is_kept() -> None:
    kept = Journal(divisors)
    kept.append(1, 0, 1)
    assert kept.shortened() is kept


def test_only_the_questions_asked_last_are_remembered() -> None:
    kept = Journal(divisors)
    kept.append(6, 0, 1)
    for by in range(1, journal.MOST_QUESTIONS + 10):
        kept.sums(Divisible(by, hooked=False), 1, 1)
    assert len(kept._sums) == journal.MOST_QUESTIONS
    assert kept.sums(Divisible(1, hooked=False), 1, 1)["all"].tolist()[0] == 6


def test_sums_grow_with_the_slots() -> None:
    kept = Journal(divisors)
    kept.append(4, 1, 1)
    assert np.count_nonzero(kept.sums(Divisible(1, hooked=True), 1, 2)["even"]) == 1
    kept.append(4, 77, 1)
    cells = kept.sums(Divisible(1, hooked=True), 2, 78)["even"]
    assert (cells[1], cells[77], int(cells.sum())) == (1, 1, 2)
