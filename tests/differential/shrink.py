"""Makes a case smaller as long as it stays interesting: lists are thinned by halves, then fields are left out."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from tests.differential.documents import Document

Interesting: TypeAlias = Callable[[Document], bool]
Path: TypeAlias = tuple[str | int, ...]

KEPT = frozenset({("id",), ("pod",)})
THINNED = ("enabled", "pluginConfig")  # lists of a configuration
MOST_TRIES = 3000


def shrink(case: Document, interesting: Interesting, most_tries: int = MOST_TRIES) -> Document:
    """Return the smallest case found; leaving any one part out of it makes it uninteresting, unless tries ran out."""
    tries = 0

    def still(smaller: Document) -> bool:
        nonlocal tries
        tries += 1
        return interesting(smaller)

    smallest, again = case, True
    while again and tries < most_tries:
        again = False
        for smaller in _attempts(smallest):
            if tries >= most_tries:
                break
            if still(smaller):
                smallest, again = smaller, True
                break
    return smallest


def _attempts(case: Document) -> Iterator[Document]:
    """Yield smaller cases, those that lose most first."""
    paths = list(_paths(case, ()))
    lists = [path for path in paths if isinstance(_at(case, path), list) and not _fixed((*path, 0))]
    for path in lists:
        for start, stop in _chunks(len(_at(case, path))):
            yield _without_items(case, path, start, stop)
    for path in paths:
        if isinstance(path[-1], str) and not _fixed(path):
            yield _without(case, path)


def _fixed(path: Path) -> bool:
    """Say what must stay: the frame of a configuration means the same to both sides only as it was written."""
    if path[0] != "config" or len(path) == 1:
        return path in KEPT
    return "args" not in path[:-1] and not (path[-2] in THINNED and isinstance(path[-1], int))


def _chunks(length: int) -> Iterator[tuple[int, int]]:
    """Yield what to leave out of a list: halves, quarters, then single items."""
    size = length // 2
    while size:
        yield from ((start, min(start + size, length)) for start in range(0, length, size))
        size //= 2
    if length == 1:
        yield 0, 1


def _paths(found: Any, at: Path) -> Iterator[Path]:
    """Yield the paths of all parts, outer ones first."""
    parts: Sequence[tuple[str | int, Any]] = ()
    if isinstance(found, dict):
        parts = tuple(found.items())
    elif isinstance(found, list):
        parts = tuple(enumerate(found))
    yield from ((*at, key) for key, _ in parts)
    for key, part in parts:
        yield from _paths(part, (*at, key))


def _at(case: Any, path: Path) -> Any:
    for step in path:
        case = case[step]
    return case


def _without(case: Document, path: Path) -> Document:
    smaller = copy.deepcopy(case)
    del _at(smaller, path[:-1])[path[-1]]
    return smaller


def _without_items(case: Document, path: Path, start: int, stop: int) -> Document:
    smaller = copy.deepcopy(case)
    del _at(smaller, path)[start:stop]
    return smaller
