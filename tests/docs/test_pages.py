"""What the documentation names exists: files, make targets, verbs, options, metrics, reasons, alerts' metrics."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from cli.kubectl_gpu import main as kubectl_gpu
from deletion_cost import announcements, report
from tests.docs import command_reference, metrics_reference, scheduler_reference
from tests.docs.pages import ROOT, Page, all_pages

PAGES = all_pages()
VERBS = {command.split()[0] for command in command_reference.commands().options}
METRIC = re.compile(r"\b(?:scheduler|gpu_scheduler|gpu_scheduler_webhook|leader_election)_[a-z_]+\b(?![./(])")
PACKAGES = {path.parent.name for path in ROOT.glob("*/__init__.py")}
OWN_PATH = re.compile(r"(?:[a-z_]+/)+[\w.-]*")
PLACEHOLDER = "NNNN"
# Only the benchmarks write it, so a checkout may be older than the first measurement.
MEASURED = ROOT / "benchmarks" / "RESULTS.md"
TOP = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@each_page
def test_links_lead_to_files(page: Page) -> None:
    assert [link for link in page.links() if not _exists(page.path.parent / link)] == []


@each_page
def test_paths_in_code_exist(page: Page) -> None:
    found = (line.strip() for line in page.code())
    paths = [path for path in found if OWN_PATH.fullmatch(path) and path.partition("/")[0] in TOP]
    assert [path for path in paths if PLACEHOLDER not in path and not _exists(ROOT / path)] == []


@each_page
def test_make_targets_exist(page: Page) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(page.targets()) <= targets


@each_page
def test_verbs_exist(page: Page) -> None:
    assert {words[0] for words in page.commands()} <= VERBS | {"VERB"}


def test_verbs_of_the_kubectl_plugin_exist_and_are_shown() -> None:
    shown = {verb for page in PAGES for line in page.code() for verb in re.findall(r"\bkubectl gpu ([a-z-]+)", line)}
    assert shown == set(kubectl_gpu.VERBS)


def test_every_reason_of_a_cost_is_explained() -> None:
    """As `kubectl gpu cost` prints them, up to the first name or number in them."""
    text = Page(ROOT / "docs" / "deletion-cost.md").text
    source = inspect.getsource(report._reason) + inspect.getsource(report._foreign)
    reasons = {found.partition("{")[0].strip(" ,:") for found in re.findall(r'f?"([a-z][a-z]+ [^"]+)"', source)}
    assert len(reasons) >= 11
    assert [reason for reason in reasons if f"`{reason}" not in text] == []


@each_page
def test_options_exist(page: Page) -> None:
    assert [words for words in page.commands() if not _options(words) <= _known(words)] == []


def test_metrics_exist() -> None:
    named = {name for page in PAGES for line in page.code() for name in METRIC.findall(line)} - PACKAGES
    assert "scheduler_pending_pods" in named
    assert named <= metrics_reference.names()


def test_every_metric_is_explained_to_operators() -> None:
    text = Page(ROOT / "docs" / "operations.md").text
    families = [*metrics_reference.scheduler(), *metrics_reference.webhook()]
    assert [name for name in map(metrics_reference.name, families) if f"`{name}`" not in text] == []


def test_every_metric_and_event_of_the_deletion_cost_is_explained() -> None:
    text = Page(ROOT / "docs" / "deletion-cost.md").text
    reasons = re.findall(r'"(DeletionCost[A-Z]\w+)"', inspect.getsource(announcements))
    assert len(reasons) >= 6
    wanted = [*map(metrics_reference.name, metrics_reference.controller()), *reasons]
    assert [name for name in wanted if f"`{name}`" not in text] == []


def test_every_reason_is_explained_to_operators() -> None:
    text = Page(ROOT / "docs" / "operations.md").text
    assert [reason.text for _, reason in scheduler_reference.reasons_found() if reason.text not in text] == []


def test_decision_records_are_numbered_in_order() -> None:
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert names
    assert [name[:4] for name in names] == [f"{number:04}" for number in range(1, len(names) + 1)]


def _exists(path: Path) -> bool:
    return path.exists() or path.resolve() == MEASURED


def _options(words: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in words if word.startswith("--")}


def _known(words: list[str]) -> set[str]:
    """The options of the verb and of all its sub-commands."""
    options = command_reference.commands().options
    found = (option.names for command, listed in options.items() if command.split()[0] == words[0] for option in listed)
    return {name for names in found for name in names} | {"--help"}
