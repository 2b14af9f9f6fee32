"""Each alert parses, fires when it should and not when it should not, and says what to do."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.control_plane.prometheus import promtool
from tests.docs import metrics_reference
from tests.monitoring import dashboard, rules
from tests.monitoring.rules import ROOT, Json

NAMES = [alert["alert"] for alert in rules.alerts()]
KNOWN = {"alert", "expr", "for", "labels", "annotations", "keep_firing_for"}  # what Prometheus 2.42 reads

each_alert = pytest.mark.parametrize("alert", rules.alerts(), ids=NAMES)


def test_rules_parse(tmp_path: Path) -> None:
    """promtool reads them all."""
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", rules.write(tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(NAMES)} rules found" in done.stdout


@pytest.mark.parametrize("file", rules.TESTS, ids=lambda file: file.stem)
def test_alerts_fire_when_they_should(file: Path, tmp_path: Path) -> None:
    """The unit tests beside this file, run by promtool."""
    rules.write(tmp_path)
    shutil.copy(file, tmp_path)
    done = promtool("test", "rules", tmp_path / file.name)

    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_has_a_case_that_fires_and_one_that_does_not() -> None:
    """An alert that never fires, or always does, would pass with one of the two alone."""
    fires = {case["alertname"] for case in rules.cases() if case.get("exp_alerts")}
    silent = {case["alertname"] for case in rules.cases() if not case.get("exp_alerts")}

    assert set(NAMES) == fires == silent


def test_names_are_used_once() -> None:
    """Alertmanager routes by them."""
    assert len(set(NAMES)) == len(NAMES)


@each_alert
def test_alert_is_complete(alert: Json) -> None:
    """Severity for routing, a summary and a description for whoever is woken, and a page on what to do."""
    assert set(alert) <= KNOWN
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    assert set(alert["annotations"]) == {"summary", "description", "runbook"}
    assert alert["annotations"]["runbook"] == f"docs/alerts.md#{alert['alert'].lower()}"


@each_alert
def test_alert_has_its_page(alert: Json) -> None:
    """A heading of its own with what it means, what it costs, how to look and what to do."""
    page = (ROOT / "docs" / "alerts.md").read_text()
    found = re.search(rf"^### {alert['alert']}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)

    assert found, "no heading"
    assert re.findall(r"^- \*\*(\w+)\*\*:", found[1], re.MULTILINE) == ["Means", "Costs", "Look", "Do"]


def test_every_series_is_one_that_is_exposed() -> None:
    """What rules and dashboard ask for is what the processes have; the rest is the API server's, or Prometheus' own."""
    text = " ".join([*(rule["expr"] for rule in rules.alerts()), *(query for _, query in dashboard.targets())])
    named = {name.removesuffix("_bucket") for name in re.findall(r"\b([a-z_]+)\{", text)}

    assert "gpu_scheduler_deletion_cost_writes_total" in named
    assert {name for name in named if not name.startswith("apiserver_")} - {"up"} <= metrics_reference.names()
