"""Writes docs/configuration.md from the code. `python -m tests.docs.generate`, or `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.docs import (
    command_reference,
    deletion_cost_reference,
    metrics_reference,
    scheduler_reference,
    webhook_reference,
)
from tests.docs.markdown import paragraph

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def page() -> str:
    """The whole page as text."""
    lines = [
        "# Configuration",
        "",
        *paragraph(
            "Written by `make docs` from the code; a change made here is lost. "
            "What it means in practice: [operations](operations.md), [users](users.md)."
        ),
        *scheduler_reference.fields(),
        *scheduler_reference.plugins(),
        *scheduler_reference.args(),
        *scheduler_reference.reasons(),
        *webhook_reference.fields(),
        *webhook_reference.annotation_table(),
        *webhook_reference.models(),
        *webhook_reference.labels(),
        *deletion_cost_reference.fields(),
        *deletion_cost_reference.annotation_table(),
        *metrics_reference.section(),
        *command_reference.section(),
        *command_reference.kubectl_section(),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
