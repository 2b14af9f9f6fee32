"""Both schedulers make room in the same way: candidates, victims, budgets overrun, the node, and what they say of it.

All nodes are tried, each pod has a start time of its own, and kube-scheduler starts with the first node, so that only
nodes that nothing tells apart leave a choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.differential import preempting, preemption_cases
from tests.differential.answers import FrameworkAnswer
from tests.differential.documents import Document
from tests.differential.framework import Framework

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

SITUATIONS = 700


@dataclass(frozen=True)
class Judged:
    case: Document
    answer: FrameworkAnswer


@pytest.fixture(scope="module")
def judged(framework: Framework) -> list[Judged]:
    cases = list(preemption_cases.cases(1, SITUATIONS))
    return [Judged(case, answer) for case, answer in zip(cases, framework.judge_all(cases), strict=True)]


def test_schedulers_preempt_alike(judged: list[Judged]) -> None:
    found = [(one.case, preempting.differences(one.answer)) for one in judged]
    different = [(case, differences) for case, differences in found if differences]

    said = [f"{case['id']}: {'; '.join(map(str, differences))}\n{case}" for case, differences in different]
    assert not different, f"{len(said)} of {len(judged)} differ, first {said[0]}"


def test_situations_reach_every_outcome(judged: list[Judged]) -> None:
    """At least 300 pods get room, a third of them with a choice of nodes; budgets are overrun; others get none."""
    tried = [one.answer.post_filter for one in judged if one.answer.post_filter is not None]

    assert sum(bool(found.nominated) for found in tried) >= 300
    assert sum(len(found.candidates) > 1 for found in tried) >= 100
    assert sum(any(one.pdb_violations for one in found.candidates.values()) for found in tried) >= 50
    assert sum(found.clears for found in tried) >= 50


@pytest.mark.parametrize(
    "said",
    [
        "not eligible due to preemptionPolicy=Never.",
        "not eligible due to a terminating pod on the nominated node.",
        "No preemption victims found for incoming pod",
        "Preemption is not helpful for scheduling",
        "Insufficient nvidia.com/gpu",
        "node(s) didn't have free ports for the requested pod ports",
        "preempting 3 victims",
    ],
)
def test_situations_reach_every_text(judged: list[Judged], said: str) -> None:
    assert any(said in one.answer.post_filter.suffix for one in judged if one.answer.post_filter is not None)
