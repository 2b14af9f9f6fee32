"""Appends one dated entry, with the machine and the versions it was measured with, to RESULTS.md. Measures nothing."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
_HEAD = (
    "# Results\n\nWhat the programs of this folder measured, newest last. Each entry names its machine and versions.\n"
)


def append(title: str, line: str, versions: Mapping[str, str], results: Path = RESULTS) -> None:
    """Append an entry: what was measured, its output, and on what; `versions` are those beside Python's."""
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    named = ", ".join(
        f"{name} {version}" for name, version in {"Python": platform.python_version(), **versions}.items()
    )
    head = "" if results.exists() else _HEAD
    with results.open("a", encoding="utf-8") as out:
        out.write(f"{head}\n## {when}: {title}\n\n- {machine()}\n- {named}\n\n```\n{line}\n```\n")


def machine() -> str:
    """Say what the numbers were measured on: cores that this process may use, processor, memory, kernel."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {_processor()}, {gib:.0f} GiB, {platform.system()} {platform.release()}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
