"""Pods that are alike in what a hint says it reads get the same answer, whatever else they are: they share it."""

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import msgspec
import pytest

from cluster_model import objects
from cluster_model.label_selectors import Selector, exactly
from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from scheduler_plugins import registry
from scheduler_plugins.hints.interest import Hint, Interest
from scheduler_plugins.hints.table import HINTS
from scheduler_plugins.spread_args import Args, DefaultConstraint
from tests.differential import hint_cases, hints
from tests.differential.documents import Document

CASES = 150
SEED = 4
HARD = DefaultConstraint(topology_key="topology.kubernetes.io/zone", when_unsatisfiable="DoNotSchedule", max_skew=1)


@pytest.fixture(scope="module")
def cases() -> list[Document]:
    return list(hint_cases.cases(SEED, CASES))


def by_labels(pod: objects.Pod) -> Selector:
    """What owns a pod goes by its labels."""
    return Selector(exactly(pod.metadata.labels))


def changes(cases: list[Document]) -> Iterator[tuple[str, Any, Any]]:
    for case in cases:
        change, kind = case["change"], case["change"]["kind"]
        yield kind, *(hints.read(kind, msgspec.Raw(msgspec.json.encode(change.get(key)))) for key in ("old", "new"))


def interests(plugin: str) -> tuple[Interest, ...]:
    args: Any = registry.PLUGINS[plugin].args()
    if plugin == "PodTopologySpread":
        args = Args(default_constraints=(HARD,), defaulting_type="List")
    return HINTS[plugin](args, by_labels)


@pytest.mark.parametrize("plugin", HINTS)
def test_pods_alike_in_what_a_hint_reads_get_one_answer(plugin: str, cases: list[Document]) -> None:
    pods = [PendingPod.read(msgspec.convert(case["pod"], objects.Pod)) for case in cases]
    for kind, old, new in changes(cases):
        if kind == "TargetPod":
            continue  # it is put to the pod itself alone
        for event in [Event(name) for name in hints.events(kind, old, new) if name in set(Event)]:
            for interest in interests(plugin):
                answers: dict[Hashable, set[Hint]] = defaultdict(set)
                for pod in pods if event in interest.judges else ():
                    answers[interest.reads(pod)].add(interest.judges[event](pod, old, new))
                assert [found for found in answers.values() if len(found) > 1] == []


def test_a_hint_that_concerns_nobody_would_have_skipped_everybody(cases: list[Document]) -> None:
    pods = [PendingPod.read(msgspec.convert(case["pod"], objects.Pod)) for case in cases]
    for plugin in HINTS:
        for interest in interests(plugin):
            for kind, old, new in changes(cases):
                if interest.concerns is None or kind != "AssignedPod" or new is not None or interest.concerns(old, new):
                    continue
                assert {interest.judges[Event.ASSIGNED_POD_DELETE](pod, old, None) for pod in pods} == {Hint.SKIP}
