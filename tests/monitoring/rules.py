"""The alerting rules as the component has them, written as Prometheus itself and promtool read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
COMPONENT = ROOT / "manifests" / "components" / "monitoring"
TESTS = sorted(Path(__file__).parent.glob("*_test.yaml"))


def groups() -> list[Json]:
    """The groups of every PrometheusRule."""
    documents = [one for file in sorted(COMPONENT.glob("*-rules.yaml")) for one in yaml.safe_load_all(file.read_text())]
    return [group for document in documents for group in document["spec"]["groups"]]


def alerts() -> list[Json]:
    """Every alert."""
    return [rule for group in groups() for rule in group["rules"]]


def write(folder: Path) -> Path:
    """Write the rules as a file of Prometheus'; the unit tests name it rules.yaml."""
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": groups()}, sort_keys=False))
    return path


def cases() -> list[Json]:
    """Every expectation of the unit tests."""
    loaded = [yaml.safe_load(file.read_text()) for file in TESTS]
    return [case for file in loaded for test in file["tests"] for case in test["alert_rule_test"]]
