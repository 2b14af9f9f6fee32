"""Both schedulers say the same of thousands of clusters: verdicts, reasons, scores, totals, sentences, nodes.

The seeds are fixed.
"""

from __future__ import annotations

import pytest

from scheduler_plugins import explain
from tests.differential import generate
from tests.differential.__main__ import main
from tests.differential.documents import Document
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


def test_cases_reach_every_verdict(framework: Framework) -> None:
    """Pods that fit and pods that do not, and each plugin rejects some node and tells scores apart."""
    answers = list(framework.judge_all(generate.cases(3, 600, tuple(generate.SUBJECTS))))

    fitting = sum(bool(answer.node) for answer in answers)
    assert 150 < fitting < 450
    rejecting = {status.plugin for answer in answers for status in answer.rejected.values()}
    assert rejecting >= {"PodTopologySpread", "InterPodAffinity"}
    assert rejecting >= {"NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", ""}
    telling = {name for answer in answers for name in answer.scores if len(set(answer.normalised(name).values())) > 1}
    assert telling >= {"PodTopologySpread", "InterPodAffinity"}
    assert telling >= {"TaintToleration", "NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation"}


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


def _agree(framework: Framework, cases: list[Document]) -> None:
    found = [one for one in compared(framework, cases) if one]
    if found:
        smallest = shrunk(framework, found[0])
        said = "\n".join(map(str, smallest.differences))
        pytest.fail(f"{len(found)} of {len(cases)} cases differ, first {found[0].case['id']}:\n{said}\n{smallest.case}")
