"""Our order of deletion is the one of `controller.ActivePodsWithRanks`, linked from Kubernetes itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import msgspec
import pytest

from deletion_cost import standings, victims
from deletion_cost.pod_objects import Pod, ReplicaSet
from deletion_cost.victims import Standing
from tests.deletion_cost import victim_cases, victim_oracle
from tests.deletion_cost.victim_cases import Document
from tests.deletion_cost.victim_oracle import Answer

# A machine that has built nothing yet compiles for many minutes.
pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

BATCH = 1000


class Ours:
    """One case as our code reads it."""

    def __init__(self, case: Document) -> None:
        pods = msgspec.convert(case["pods"], list[Pod])
        sets = msgspec.convert(case["replicaSets"], list[ReplicaSet])
        target = next(one for one in sets if one.metadata.uid == case["replicaSet"])
        self._now: int = case["nowNanoseconds"]
        self._related = [standings.read(pod) for pod in standings.Relations(pods, sets).related(target)]
        self._owned = [
            standings.read(pod)
            for pod in pods
            if (owner := standings.controller(pod.metadata)) and owner.uid == target.metadata.uid
        ]

    def order(self, pods: list[Standing] | None = None) -> tuple[str, ...]:
        """UIDs as we would see them go."""
        return tuple(
            one.uid for one in victims.in_order(self._owned if pods is None else pods, self._related, self._now)
        )

    def without(self, blank: dict[str, Any]) -> tuple[str, ...]:
        """The order if what `blank` names were the same for all pods."""
        return self.order([replace(one, **blank) for one in self._owned])

    def uncrowded(self) -> tuple[str, ...]:
        """The order if no pod stood beside another."""
        return tuple(one.uid for one in victims.in_order(self._owned, (), self._now))

    def pairs(self, answer: Answer) -> frozenset[tuple[str, str]]:
        """Each pair in our order, but for those where the controller's comparison is silent and we go by UID."""
        active = [one for one in self._owned if one.is_active]
        found = {self.order(list(pair)) for pair in combinations(active, 2)}
        silent = {(a, b) for a, b in found if a < b and not {(a, b), (b, a)} & answer.pairs}
        return frozenset((a, b) for a, b in found - silent)


@pytest.mark.parametrize("first", range(0, 10_000, BATCH))
def test_10000_cases_are_ordered_as_the_controller_orders_them(first: int) -> None:
    """Every pair in every case, and the whole order wherever the comparison allows one only."""
    cases = [victim_cases.case(seed) for seed in range(first, first + BATCH)]

    wrong = [
        first + number
        for number, (case, answer) in enumerate(zip(cases, victim_oracle.answers(cases), strict=True))
        if not agrees(Ours(case), answer)
    ]

    assert wrong == []


def agrees(ours: Ours, answer: Answer) -> bool:
    """Compare pairs, then orders."""
    decided = answer.decided()
    same = ours.pairs(answer) == answer.pairs and sorted(ours.order()) == sorted(answer.order)
    if decided is None:
        return same
    return same and ours.order() == decided.order and (decided.has_ties or ours.order() == answer.order)


def test_cases_hold_plain_orders_ties_and_circles() -> None:
    answers = victim_oracle.answers(map(victim_cases.case, range(2000)))

    kinds = Counter(
        "circle" if (found := answer.decided()) is None else "ties" if found.has_ties else "plain" for answer in answers
    )

    assert kinds["plain"] > 1000
    assert kinds["ties"] > 100
    assert kinds["circle"] >= 5


@pytest.mark.parametrize(
    "blank",
    [
        {"node": "n"},
        {"phase": "Running"},
        {"is_ready": False},
        {"cost": 0},
        {"ready_since": None},
        {"restarts": 0},
        {"sidecar_restarts": 0},
        {"created": None},
        {"is_terminating": False},
    ],
    ids=lambda blank: next(iter(blank)),
)
def test_cases_reach_every_key(blank: dict[str, Any]) -> None:
    """Without it, many of the orders would be others."""
    cases = [Ours(victim_cases.case(seed)) for seed in range(1000)]

    assert sum(one.order() != one.without(blank) for one in cases) > 30


def test_cases_reach_the_crowding_of_nodes() -> None:
    cases = [Ours(victim_cases.case(seed)) for seed in range(1000)]

    assert sum(one.order() != one.uncrowded() for one in cases) > 30
