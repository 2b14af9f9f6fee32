"""Decides many cases on a real cluster, one after the other, and says where kube-scheduler did something else.

Each case has a profile of its own in one running kube-scheduler. Prints nothing.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.differential import generate, placing, preemption_cases
from tests.differential.documents import Document
from tests.differential.run import Found
from tests.differential.shrink import shrink
from tests.differential.stage import SETTLE_SECONDS, Outcome, Refused, Stage

PROFILES_AT_ONCE = 100
PATIENT_SECONDS = 2.0
MOST_TRIES = 200
CONFLICT = "Operation cannot be fulfilled"


@dataclass(slots=True)
class Tally:
    """How the cases went."""

    cases: int = 0  # decided by both
    placed: int = 0
    repeated: int = 0  # decided again, after a longer wait for kube-scheduler to see the objects
    refused: Counter[str] = field(default_factory=Counter)  # what the API server says of cases that cannot occur
    found: list[Found] = field(default_factory=list)


def cases(seed: int, numbers: Iterable[int], subjects: Sequence[str]) -> Iterator[Document]:
    """Write cases whose nodes have names of their own, so that nothing left of one stands in the way of the next."""
    return (generate.case(seed, number, subjects, f"s{seed}-{number}-") for number in numbers)


def preemptions(seed: int, numbers: Iterable[int]) -> Iterator[Document]:
    """Write situations in which a pod gets room only if others go, with names of nodes as above."""
    return (preemption_cases.case(seed, number, f"p{seed}-{number}-") for number in numbers)


def compared(stage: Stage, cases: Iterable[Document], count: int, shrunk: int = 0) -> Tally:
    """Decide until so many cases were decided; make the first of those that differ small."""
    tally, source = Tally(), iter(cases)
    while tally.cases < count and (batch := list(itertools.islice(source, PROFILES_AT_ONCE))):
        stage.employ(profile(case) for case in batch)
        for case in batch:
            if tally.cases < count:
                _compare(stage, case, tally, shrunk)
    return tally


def _compare(stage: Stage, case: Document, tally: Tally, shrunk: int) -> None:
    try:
        found, outcome = _decided(stage, case, SETTLE_SECONDS)
        if found is not None:
            # It may not have seen all objects yet.
            tally.repeated += 1
            found, outcome = _decided(stage, case, PATIENT_SECONDS)
    except Refused as refused:
        tally.refused[str(refused)] += 1
        return
    tally.cases += 1
    tally.placed += bool(outcome.node)
    if found is not None:
        small = len(tally.found) < shrunk
        tally.found.append(_smallest(stage, found) if small else found)


def _decided(stage: Stage, case: Document, settle_seconds: float) -> tuple[Found | None, Outcome]:
    scene = stage.set_up(case, name(case))
    try:
        state = placing.read(stage.api, scene.pod["metadata"]["uid"])
        let_go, outcome = stage.place(scene, settle_seconds)
    finally:
        stage.clear(scene)
    if CONFLICT in outcome.text:
        raise Refused(outcome.text)  # of its own write, after it had chosen a node: no verdict on the pod
    wanted = placing.expected(state, let_go, placing.read_profile(profile(case)))
    different = placing.differences(outcome, wanted)
    return (Found(case, different) if different else None), outcome


def _smallest(stage: Stage, found: Found) -> Found:
    """Make a case small that differs in the same way under the same profile."""

    def interesting(case: Document) -> bool:
        now = _again(stage, case, found.case)
        return now is not None and now.kind == found.kind

    smallest = shrink(found.case, interesting, MOST_TRIES)
    return _again(stage, smallest, found.case) or found


def _again(stage: Stage, case: Document, original: Document) -> Found | None:
    if case.get("config") != original.get("config"):
        return None  # nobody runs that profile
    try:
        return _decided(stage, case, SETTLE_SECONDS)[0]
    except (Refused, KeyError):
        return None


def profile(case: Document) -> Document:
    """Write the case's profile under a name of its own, with what holds a pod back."""
    config = case.get("config")
    found = copy.deepcopy(config["profiles"][0]) if config else {}
    if "plugins" in found:
        found["plugins"]["multiPoint"]["enabled"].append({"name": "SchedulingGates"})
    return found | {"schedulerName": name(case)}


def name(case: Document) -> str:
    """Name the case's profile."""
    return f"case-{case['id'].replace('/', '-')}"
