"""Both schedulers say the same of thousands of clusters: verdicts, reasons, scores, totals, sentences, nodes.

The seeds are fixed.
"""

from __future__ import annotations

import re

import pytest

from scheduler_plugins import explain, registry
from tests.differential import generate, profiles
from tests.differential.__main__ import main
from tests.differential.answers import FrameworkAnswer
from tests.differential.documents import Document, pod
from tests.differential.framework import Framework
from tests.differential.run import compared, shrunk

# A machine that has built nothing yet compiles for many minutes.
pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

# What an API server refuses unless a gate that is off is on; the plugin reads it all the same.
BEHIND_A_GATE = "spec.hostNetwork: Forbidden: when `hostUsers` is false"
SEEDS = (11, 12, 13)
CASES_EACH = 1000
CASES_A_SUBJECT = 90


@pytest.mark.parametrize("seed", SEEDS)
def test_schedulers_agree(framework: Framework, seed: int) -> None:
    """Each subject alone, three together, and within the default profile."""
    _agree(framework, list(generate.cases(seed, CASES_EACH, tuple(generate.SUBJECTS))))


@pytest.mark.parametrize("subject", generate.SUBJECTS)
def test_cases_can_occur_in_a_cluster(framework: Framework, subject: str) -> None:
    """The framework judges each, and the API server takes every pod: what differs cannot be explained away."""
    answers = list(framework.judge_all(generate.cases(5, CASES_A_SUBJECT, (subject,))))

    assert [answer.error for answer in answers if answer.error] == []
    refused = [problem for answer in answers for problem in answer.refused]
    assert [problem for problem in refused if not problem.endswith(BEHIND_A_GATE)] == []


@pytest.fixture(scope="module")
def answers(framework: Framework) -> list[FrameworkAnswer]:
    return list(framework.judge_all(generate.cases(3, 3000, tuple(generate.SUBJECTS))))


def test_about_half_of_the_pods_fit(answers: list[FrameworkAnswer]) -> None:
    assert len(answers) // 4 < sum(bool(answer.node) for answer in answers) < len(answers) * 3 // 4


def test_every_plugin_rejects_some_node_and_tells_nodes_apart(answers: list[FrameworkAnswer]) -> None:
    """NodeName leaves nodes out before it is asked about one: the framework speaks then."""
    scorers = {name for name, weight in profiles.WEIGHTS.items() if weight}
    filters = {name for name in profiles.WEIGHTS if name in registry.FILTERS}

    rejecting = {status.plugin for answer in answers for status in answer.rejected.values()}
    telling = {name for answer in answers for name in answer.scores if len(set(answer.normalised(name).values())) > 1}

    assert rejecting >= (filters - {"NodeName"}) | {""}
    assert telling == scorers


@pytest.mark.parametrize(
    "text",
    [
        "node(s) didn't satisfy plugin(s) [NodeName]",
        "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously",
        "pod affinity terms conflict",
        "node(s) didn't match scheduler-enforced node affinity",
        "node(s) didn't match pod topology spread constraints",
        "node(s) didn't match pod topology spread constraints (missing required label)",
        "node(s) didn't match pod affinity rules",
        "node(s) didn't match pod anti-affinity rules",
        "node(s) didn't satisfy existing pods anti-affinity rules",
        "node(s) had no available disk",
        "access mode already in-use by another pod",
        "node(s) exceed max volume count",
        "CSI driver is not installed on the node",
        "pod has unbound immediate PersistentVolumeClaims",
        "waiting for ephemeral volume controller to create the persistentvolumeclaim",
        "node(s) didn't find available persistent volumes to bind",
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) did not have enough free storage",
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        "bound to non-existent persistentvolume",
        "is being deleted",
        "was not created for pod",
        "PersistentVolumeClaim had no pv name and storageClass name",
        "preempting 1 victims",
        "running PreScore plugin",
    ],
)
def test_cases_reach_every_text(answers: list[FrameworkAnswer], text: str) -> None:
    assert any(text in answer.message for answer in answers)


def test_counts_of_two_digits_come_first(answers: list[FrameworkAnswer]) -> None:
    """Entries of a sentence are sorted as strings, which shows where there are ten nodes or more."""
    assert any(re.search(r" 1\d \D+, [2-9] ", answer.message) for answer in answers)


def test_cluster_without_nodes_says_so(framework: Framework) -> None:
    _agree(framework, [{"id": "empty", "nodes": [], "pods": [], "pod": pod("p"), "config": None}])


def test_program_prints_each_difference_and_counts_last(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code says whether there is one; the case is there to be tried again, as small as it gets."""
    monkeypatch.setattr(explain, "sentence", lambda _: "another sentence")
    code = main(["--seed", "1", "--cases", "3", "--plugins", "NodePorts"])

    lines = capsys.readouterr().out.splitlines()
    assert (code, lines[-1]) == (1, "cases=3 differences=3")
    assert [line for line in lines if line.startswith("case ")] == ["case 1/0", "case 1/1", "case 1/2"]


def test_program_says_so_when_nothing_differs(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--seed", "1", "--cases", "6", "--plugins", "TaintToleration,NodePorts"])

    assert (code, capsys.readouterr().out) == (0, "cases=6 differences=0\n")


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["--pairs", "--plugins", "NodeName,NodePorts,VolumeZone", "--cases", "4"], 12),
        (["--preemption", "--cases", "5"], 5),
        (["--only", "7"], 1),
    ],
)
def test_program_tries_pairs_and_preemption_and_single_cases(
    capsys: pytest.CaptureFixture[str], arguments: list[str], count: int
) -> None:
    code = main(arguments)

    assert (code, capsys.readouterr().out) == (0, f"cases={count} differences=0\n")


def _agree(framework: Framework, cases: list[Document]) -> None:
    found = [one for one in compared(framework, cases) if one]
    if found:
        smallest = shrunk(framework, found[0])
        said = "\n".join(map(str, smallest.differences))
        pytest.fail(f"{len(found)} of {len(cases)} cases differ, first {found[0].case['id']}:\n{said}\n{smallest.case}")
