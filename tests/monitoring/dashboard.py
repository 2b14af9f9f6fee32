"""The dashboard as the component has it, and its queries as Grafana would send them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.monitoring.rules import COMPONENT

Json = dict[str, Any]
FILE = COMPONENT / "deletion-cost-dashboard.json"
VARIABLES = {"$job": ".+", "$namespace": ".*", "$workload": ".*", "$__rate_interval": "1m", "$__range": "1h"}


def load() -> Json:
    """The whole dashboard."""
    found: Json = json.loads(FILE.read_text())
    return found


def panels() -> list[Json]:
    """Every panel that shows something."""
    return [panel for panel in load()["panels"] if panel["type"] != "row"]


def targets() -> Iterator[tuple[str, str]]:
    """Every query with its panel's title."""
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def filled(expression: str) -> str:
    """The query with Grafana's variables filled in, "All" chosen everywhere."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def variables() -> dict[str, Json]:
    """The variables by name."""
    return {variable["name"]: variable for variable in load()["templating"]["list"]}
