"""The comparison sees every kind of difference: an answer changed in one place differs in that place and no other."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.differential.answers import FrameworkAnswer, PostFilter, Score, Status
from tests.differential.compare import differences
from tests.differential.documents import Document, node, pod
from tests.differential.framework import Framework

# A machine that has built nothing yet compiles for many minutes.
pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

TAINT = {"key": "dedicated", "effect": "NoSchedule"}
FITS: Document = {
    "id": "fits",
    "nodes": [node("n1"), node("n2", {"cpu": "4"}), node("n3", taints=[TAINT])],
    "pod": pod("p", {"cpu": "1"}),
}
FITS_NOWHERE: Document = {"id": "nowhere", "nodes": [node("n1", {"cpu": "1"})], "pod": pod("p", {"cpu": "2"})}


def changed(answer: FrameworkAnswer, **parts: Any) -> FrameworkAnswer:
    return msgspec.structs.replace(answer, **parts)


def what(case: Document, answer: FrameworkAnswer) -> list[str]:
    return [one.what for one in differences(case, answer)]


def test_true_answers_do_not_differ(framework: Framework) -> None:
    assert [what(case, framework.judge(case)) for case in (FITS, FITS_NOWHERE)] == [[], []]


@pytest.mark.parametrize(
    ("status", "seen"),
    [
        (None, "verdict of n3"),
        ({"plugin": "NodeName"}, "plugin of n3"),
        ({"code": "Unschedulable"}, "code of n3"),
        ({"reasons": ("another",)}, "reasons of n3"),
        ({"reasons": ()}, "reasons of n3"),
    ],
)
def test_verdict_of_a_node(framework: Framework, status: dict[str, Any] | None, seen: str) -> None:
    answer = framework.judge(FITS)
    rejected = {"n3": msgspec.structs.replace(answer.rejected["n3"], **status)} if status is not None else {}

    assert what(FITS, changed(answer, rejected=rejected)) == [seen]


def test_node_that_only_they_reject(framework: Framework) -> None:
    answer = framework.judge(FITS)
    more = {**answer.rejected, "n2": Status(code="Unschedulable", plugin="NodePorts", reasons=("taken",))}

    assert what(FITS, changed(answer, rejected=more)) == ["verdict of n2"]


def test_score_of_a_plugin(framework: Framework) -> None:
    """Also one that skips the pod on one side only, though a skip and zeros add up to the same."""
    answer = framework.judge(FITS)
    fit = {
        name: Score(raw=one.raw, normalised=one.normalised + 1)
        for name, one in answer.scores["NodeResourcesFit"].items()
    }
    other = {**answer.scores, "NodeResourcesFit": fit}
    zeros = {**answer.scores, "NodeAffinity": {"n1": Score(), "n2": Score()}}

    assert what(FITS, changed(answer, scores=other)) == ["scores of NodeResourcesFit"]
    assert what(FITS, changed(answer, scores=zeros)) == [
        "raw scores of NodeAffinity",
        "scores of NodeAffinity",
    ]


def test_score_before_it_is_normalised(framework: Framework) -> None:
    answer = framework.judge(FITS)
    taints = {
        name: Score(raw=one.raw + 1, normalised=one.normalised)
        for name, one in answer.scores["TaintToleration"].items()
    }

    assert what(FITS, changed(answer, scores={**answer.scores, "TaintToleration": taints})) == [
        "raw scores of TaintToleration"
    ]


def test_total_of_a_node(framework: Framework) -> None:
    answer = framework.judge(FITS)
    totals = {name: total + 1 for name, total in answer.totals.items()}

    assert what(FITS, changed(answer, totals=totals)) == ["totals"]


def test_scores_of_plugins_that_we_lack_are_taken_off_the_total(framework: Framework) -> None:
    """Only those: the scheduler's own sum is compared with ours, not built again."""
    answer = framework.judge(FITS)
    scores = {**answer.scores, "Foreign": {"n1": Score(normalised=7), "n2": Score(normalised=7)}}
    totals = {name: total + 21 for name, total in answer.totals.items()}
    weights = {**answer.weights, "Foreign": 3}

    assert what(FITS, changed(answer, scores=scores, totals=totals, weights=weights)) == []
    assert what(FITS, changed(answer, scores=scores, weights=weights)) == ["totals"]


def test_node_chosen(framework: Framework) -> None:
    answer = framework.judge(FITS)

    assert what(FITS, changed(answer, node="n2")) == ["node"]
    assert what(FITS, changed(answer, node="")) == ["node"]


def test_sentence(framework: Framework) -> None:
    """What PostFilter added is taken off, and nothing else."""
    answer = framework.judge(FITS_NOWHERE)
    assert answer.post_filter is not None
    other = msgspec.structs.replace(answer.post_filter, reasons=("preemption: something else",))

    assert what(FITS_NOWHERE, changed(answer, post_filter=None)) == ["sentence"]
    assert what(FITS_NOWHERE, changed(answer, post_filter=other)) == ["sentence"]
    assert what(FITS_NOWHERE, changed(answer, message="0/1 nodes are available.", post_filter=PostFilter())) == [
        "sentence"
    ]


def test_errors(framework: Framework) -> None:
    """Of the scheduler, of its scores, and of the case itself."""
    answer = framework.judge(FITS)

    assert "error" in what(FITS, changed(answer, reason="SchedulerError", message="running Score plugins"))
    assert what(FITS, changed(answer, score_error="running PreScore plugin")) == ["error"]
    assert what(FITS, changed(answer, error="cannot read the case")) == ["case"]
