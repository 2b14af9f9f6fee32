"""Runs many cases through both schedulers and shrinks those that differ. Prints nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tests.differential.answers import FrameworkAnswer
from tests.differential.compare import Difference, differences
from tests.differential.documents import Document
from tests.differential.framework import Case, Framework
from tests.differential.shrink import shrink

Judge: TypeAlias = Callable[[Case, FrameworkAnswer], tuple[Difference, ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """A case that was decided differently, and how; shrunk if that was asked for."""

    case: Document
    differences: tuple[Difference, ...]

    @property
    def kind(self) -> str:
        """What differs first, without the name of the node."""
        return self.differences[0].what.partition(" of n")[0]


def compared(framework: Framework, cases: Iterable[Document], judge: Judge = differences) -> Iterator[Found | None]:
    """Yield for each case how it differs, or None. Cases are sent ahead, from a thread of their own."""
    sent: deque[Document] = deque()

    def remembered() -> Iterator[Document]:
        for case in cases:
            sent.append(case)
            yield case

    for answer in framework.judge_all(remembered()):
        case = sent.popleft()
        different = judge(case, answer)
        yield Found(case, different) if different else None


def shrunk(framework: Framework, found: Found, judge: Judge = differences) -> Found:
    """Make the case as small as it can be and still differ in the same way, and be one that a cluster can have."""

    def interesting(case: Document) -> bool:
        now = _judged(framework, case, judge)
        return now is not None and now.kind == found.kind

    smallest = shrink(found.case, interesting)
    return _judged(framework, smallest, judge) or found


def _judged(framework: Framework, case: Document, judge: Judge) -> Found | None:
    answer = framework.judge(case)
    if answer.error or answer.refused:
        return None
    different = judge(case, answer)
    return Found(case, different) if different else None
