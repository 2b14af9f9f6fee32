"""kube-scheduler itself, on a real control plane, does what we decide: pods placed, the first event, one of our best.

The seed is fixed; `python -m tests.differential --real` tries others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from scheduler_plugins import explain
from tests.differential import generate, real
from tests.differential.documents import ZONE, Document, config, node, pod
from tests.differential.real import Tally
from tests.differential.stage import Outcome, Refused, Stage

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

SEED, CASES, PREEMPTIONS = 21, 300, 40
MOST_REFUSED = CASES // 10


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Stage() as running:
        yield running


@pytest.fixture(scope="module")
def tally(stage: Stage) -> Tally:
    return real.compared(stage, real.cases(SEED, itertools.count(), tuple(generate.SUBJECTS)), CASES, shrunk=1)


def test_kube_scheduler_does_what_we_decide(tally: Tally) -> None:
    """Each subject alone, three together, and within the default profile."""
    said = [f"{one.case['id']}: {'; '.join(map(str, one.differences))}\n{one.case}" for one in tally.found]

    assert tally.cases == CASES
    assert not said, f"{len(said)} of {CASES} differ, first {said[0]}"


def test_pods_are_placed_and_are_not(tally: Tally) -> None:
    assert CASES // 3 < tally.placed < CASES * 2 // 3


def test_the_api_server_takes_nearly_all_cases(tally: Tally) -> None:
    assert tally.refused.total() < MOST_REFUSED, tally.refused


def test_kube_scheduler_makes_room_as_we_say(stage: Stage) -> None:
    """The first event says on which node, and how many go; where nothing tells nodes apart, any of them."""
    tally = real.compared(stage, real.preemptions(SEED, itertools.count()), PREEMPTIONS, shrunk=1)

    said = [f"{one.case['id']}: {'; '.join(map(str, one.differences))}\n{one.case}" for one in tally.found]
    assert (tally.cases, said) == (PREEMPTIONS, [])


def test_a_difference_is_found_made_small_and_repeated_first(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pod that matters stays, with its node; the rest goes."""
    monkeypatch.setattr(explain, "sentence", lambda _: "another sentence")
    nodes = [node(f"small-{number}", {"cpu": "1"}, {ZONE: "a"}) for number in range(3)]
    case: Document = {"id": "t/1", "nodes": nodes, "pods": [], "pod": pod("big", {"cpu": "2"}), "config": None}

    tally = real.compared(stage, [case], 1, shrunk=1)

    [found] = tally.found
    assert (tally.cases, tally.repeated, found.kind) == (1, 1, "text")
    assert str(found.differences[0]).startswith("text: kube-scheduler ")
    assert len(found.case.get("nodes", ())) <= 1


def test_what_the_api_server_refuses_is_counted_and_leaves_nothing(stage: Stage) -> None:
    """The objects made before are gone: the same names can be used again at once."""
    wrong = {"id": "t/2", "nodes": [node("n"), node("not a name")], "pods": [], "pod": pod("p"), "config": None}
    right = {**wrong, "id": "t/3", "nodes": [node("n")]}

    tally = real.compared(stage, [wrong, right], 2)

    assert (tally.cases, tally.placed, tally.refused.total(), tally.found) == (1, 1, 1, [])


def test_a_pod_waits_until_all_is_there_whatever_its_profile_lists(stage: Stage) -> None:
    """Without the default plugins nothing but what we add would hold it back."""
    case: Document = {"id": "t/4", "nodes": [node("m")], "pods": [], "pod": pod("p"), "config": config([])}
    stage.employ([real.profile(case)])

    scene = stage.set_up(case, real.name(case))
    let_go, outcome = stage.place(scene)
    stage.clear(scene)

    assert (let_go["spec"].get("nodeName"), outcome) == (None, Outcome(node="m"))


def test_a_case_that_cannot_be_set_up_says_why(stage: Stage) -> None:
    case: Document = {"nodes": [node("x", taints=[{"key": "", "effect": "NoSchedule"}])], "pod": pod("p")}

    with pytest.raises(Refused, match='nodes: Node "x" is invalid'):
        stage.set_up(case, "anybody")
