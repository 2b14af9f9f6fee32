"""Our hints are those of kube-scheduler's plugins: the same word on each event of thousands of generated changes.

The seeds are fixed. The plugins are asked as the queue asks them, whatever they would have said of the pod before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from scheduler_plugins.hints.interest import Hint
from tests.differential import hint_cases, hints
from tests.differential.answers import FrameworkAnswer
from tests.differential.framework import Framework

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

SEEDS = (21, 22, 23, 24)
CASES_EACH = 1500
SAID_OFTEN = 5
BEHIND_A_GATE = "spec.hostNetwork: Forbidden: when `hostUsers` is false"
# Registered without a function of their own, or with one that looks at nothing; a new CSIDriver is no event.
NEVER_ASKED = frozenset({"DynamicResources", "GangScheduling"})
ALWAYS_ALIKE = frozenset(
    {
        ("DefaultPreemption", "AssignedPodDelete"),
        ("InterPodAffinity", "TargetPodUpdatePodLabel"),
        ("NodeDeclaredFeatures", "NodeAdd"),
        ("NodeDeclaredFeatures", "NodeUpdateNodeDeclaredFeature"),
        ("NodeName", "NodeAdd"),
        ("NodePorts", "NodeAdd"),
        ("NodeResourcesFit", "TargetPodUpdatePodScaleDown"),
        ("NodeVolumeLimits", "storage.k8s.io/CSINodeAdd"),
        ("SchedulingGates", "TargetPodUpdatePodSchedulingGatesEliminated"),
        ("TaintToleration", "TargetPodUpdatePodToleration"),
        ("VolumeBinding", "NodeAdd"),
        ("VolumeBinding", "NodeUpdateNodeLabel"),
        ("VolumeBinding", "PersistentVolumeAdd"),
        ("VolumeBinding", "PersistentVolumeUpdate"),
        ("VolumeBinding", "storage.k8s.io/CSINodeAdd"),
        ("VolumeBinding", "storage.k8s.io/CSIStorageCapacityAdd"),
        ("VolumeBinding", "storage.k8s.io/StorageClassAdd"),
        ("VolumeRestrictions", "NodeAdd"),
        ("VolumeZone", "NodeAdd"),
        ("VolumeZone", "NodeUpdateNodeLabel"),
        ("VolumeZone", "PersistentVolumeAdd"),
    }
)


@pytest.fixture(scope="module")
def judged(framework: Framework) -> list[tuple[str, FrameworkAnswer, list[str]]]:
    """Each case by name, with what kube-scheduler's plugins said and where ours differed."""

    def each() -> Iterator[tuple[str, FrameworkAnswer, list[str]]]:
        for seed in SEEDS:
            cases = list(hint_cases.cases(seed, CASES_EACH))
            for case, answer in zip(cases, framework.judge_all(cases), strict=True):
                yield case["id"], answer, list(map(str, hints.differences(case, answer)))

    return list(each())


def test_hints_agree(judged: list[tuple[str, FrameworkAnswer, list[str]]]) -> None:
    assert len(judged) == len(SEEDS) * CASES_EACH
    assert [(case, different) for case, _, different in judged if different] == []


def test_both_words_of_every_hint_are_heard(judged: list[tuple[str, FrameworkAnswer, list[str]]]) -> None:
    """A hint that looks at something has said often that a change may help, and often that it cannot."""
    said: Counter[tuple[str, str, str]] = Counter()
    for _, answer, _ in judged:
        said.update((name, one.event, hint) for one in answer.heard for name, hint in one.hints.items())
    asked = {(name, event) for name, event, _ in said if name not in NEVER_ASKED}

    seldom = {
        pair for pair in asked - ALWAYS_ALIKE if min(said[*pair, one] for one in ("Queue", "QueueSkip")) < SAID_OFTEN
    }
    assert seldom == set()
    assert {pair for pair in ALWAYS_ALIKE if len([one for one in said if one[:2] == pair]) != 1} == set()


def test_changes_can_occur_in_a_cluster(judged: list[tuple[str, FrameworkAnswer, list[str]]]) -> None:
    """Few pods would be refused by the API server for more than a gate that is off, and each case could be judged."""
    refused = [[one for one in answer.refused if not one.endswith(BEHIND_A_GATE)] for _, answer, _ in judged]
    assert sum(map(bool, refused)) < len(judged) // 50
    assert [answer.error for _, answer, _ in judged if answer.error] == []


def test_an_error_of_a_hint_is_heard_as_one(judged: list[tuple[str, FrameworkAnswer, list[str]]]) -> None:
    assert any(hint == Hint.ERROR for _, answer, _ in judged for one in answer.heard for hint in one.hints.values())
