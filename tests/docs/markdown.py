"""Tables and lists as Markdown, no line longer than the house allows. Knows nothing of what they say."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 150
BELOW = "see below"
BELOW_IN_SHORT = "…"  # where even that is too long


def code(value: object) -> str:
    """Show a value as code; nothing stays nothing."""
    return f"`{value}`" if str(value) else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lay out a table; where a row is too long its last cell moves below the table, under the row's first."""
    lines, below = [_line(heads), _line(["---"] * len(heads))], []
    for row in rows:
        line = _line(row)
        if len(line) > WIDTH:
            line = _line([*row[:-1], BELOW])
            line = line if len(line) <= WIDTH else _line([*row[:-1], BELOW_IN_SHORT])
            below += bullet(f"{row[0]}: {row[-1]}")
        lines.append(line)
    return [*lines, "", *below, ""] if below else [*lines, ""]


def bullet(text: str) -> list[str]:
    """Wrap one item of a list."""
    return textwrap.wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False)


def paragraph(text: str) -> list[str]:
    """Wrap one paragraph."""
    return [*textwrap.wrap(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False), ""]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
