"""Packages of users as pip leaves them: a module and the metadata that announces it, in a directory of their own."""

import re
from collections.abc import Mapping
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "plugins.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def install(site: Path, module: str, source: str, announced: Mapping[str, str]) -> Path:
    """Lay a package down; `announced` are its entry points, name -> value. Return the directory."""
    site.mkdir(exist_ok=True)
    (site / f"{module}.py").write_text(source, encoding="utf-8")
    metadata = site / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in announced.items())
    (metadata / "entry_points.txt").write_text(f"[gpu_scheduler.plugins]\n{lines}")
    return site


def documented(language: str) -> str:
    """The first block of that language in the documentation of plugins."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return next(found[2] for found in BLOCK.finditer(text) if found[1] == language)
