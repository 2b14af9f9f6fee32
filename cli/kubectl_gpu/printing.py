"""Prints as kubectl does: columns three blanks apart, ages as it shortens them, JSON and YAML in its indents. Pure."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

_GAP = "   "
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def table(header: Sequence[str], lines: Sequence[Sequence[str]], with_header: bool) -> str:
    """Align columns; the last one is not padded."""
    shown = [list(header), *map(list, lines)] if with_header else [*map(list, lines)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    aligned = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in shown)
    return "".join(_GAP.join(cells).rstrip() + "\n" for cells in aligned)


def as_json(document: Any) -> str:
    """Write as kubectl's -o json."""
    return json.dumps(document, indent=4, ensure_ascii=False) + "\n"


def as_yaml(document: Any) -> str:
    """Write as kubectl's -o yaml."""
    import yaml  # where it is asked for: it would double the time of a start

    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))


def moment(seconds: int) -> str:
    """Write a time as the API server does."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def age(seconds: float) -> str:
    """Shorten a duration as kubectl's AGE columns do: the larger it is, the fewer units."""
    if seconds < 0:
        return "<invalid>" if seconds < -1 else "0s"
    whole = int(seconds)
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    return _two(whole, _YEAR, "y", _DAY, "d") if whole < 8 * _YEAR else f"{whole // _YEAR}y"


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_name}" + (f"{rest}{small_name}" if rest else "")
