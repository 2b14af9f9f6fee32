"""Where the generators' choices come from, and the few forms of choice."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Pick: TypeAlias = Callable[[Sequence[Any]], Any]


class Source:
    """Choices, by hypothesis or by a seeded random."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick

    def of(self, values: Sequence[T]) -> T:
        chosen: T = self.pick(values)
        return chosen

    def seldom(self, times: int = 4) -> bool:
        return bool(self.pick((False,) * (times - 1) + (True,)))

    def several(self, make: Callable[[], T], most: int) -> tuple[T, ...]:
        return tuple(make() for _ in range(self.of(range(most + 1))))

    def some(self, values: Sequence[T]) -> list[T]:
        return [value for value in values if self.pick((False, True))]
