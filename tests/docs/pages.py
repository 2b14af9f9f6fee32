"""The Markdown files of this repository, and what stands in them: links, code, commands. Judges nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Not ours: virtual environments and caches, which nobody commits.
SKIPPED = frozenset({"node_modules", "build"})

_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# At the start of a line, of a code span, or after a pipe: elsewhere the word is a namespace or an object's name.
_COMMAND = re.compile(r"(?:^|\| |bin/)gpu-scheduler (\S.*)")
_MAKE = re.compile(r"\bmake ([a-z][a-z-]*)")


@dataclass(frozen=True, slots=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def links(self) -> list[str]:
        """Targets of links to other files, without their anchors; code holds none."""
        prose = _SPAN.sub("", _FENCE.sub("", self.text))
        targets = (target.partition("#")[0] for target in _LINK.findall(prose) if "://" not in target)
        return [target for target in targets if target]

    def code(self) -> Iterator[str]:
        """Every line of a fenced block and every code span; a line that goes on with a backslash is one."""
        for block in _FENCE.findall(self.text):
            yield from re.sub(r"\\\n\s*", "", block).splitlines()[1:-1]
        yield from _SPAN.findall(_FENCE.sub("", self.text))

    def commands(self) -> list[list[str]]:
        """The words after `gpu-scheduler` of each command, up to a comment or a pipe."""
        found = (_COMMAND.search(line.strip()) for line in self.code())
        return [re.split(r" #| \||[;&<]", match[1])[0].split() for match in found if match]

    def targets(self) -> list[str]:
        """The make targets that are named in code."""
        return [target for line in self.code() for target in _MAKE.findall(line)]


def all_pages() -> list[Page]:
    """Every Markdown file but those under hidden folders."""
    found = sorted(ROOT.rglob("*.md"))
    return [Page(path) for path in found if not _is_skipped(path.relative_to(ROOT))]


def _is_skipped(path: Path) -> bool:
    return any(part.startswith(".") or part in SKIPPED or part.endswith(".egg-info") for part in path.parts)
