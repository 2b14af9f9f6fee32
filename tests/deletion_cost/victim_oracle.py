"""Runs the Go program that asks the ReplicaSet controller's own comparison. Knows nothing of our order."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from tests.control_plane import build
from tests.deletion_cost.victim_cases import Document

SOURCES = build.HERE / "victims"


class Answer(msgspec.Struct, frozen=True):
    """UIDs as the controller sorted them, and for each those that its comparison puts behind it."""

    order: tuple[str, ...]
    less: tuple[frozenset[str], ...]

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Each pair of which the first is deleted first."""
        return frozenset((uid, other) for uid, behind in zip(self.order, self.less, strict=True) for other in behind)

    def decided(self) -> Decided | None:
        """The one order that the comparison allows with ties by UID; None where it goes round in circles."""
        pairs, uids = self.pairs, self.order
        ties = {(a, b) for a in uids for b in uids if a < b and not {(a, b), (b, a)} & pairs}
        wins = {uid: sum((uid, other) in pairs | ties for other in uids) for uid in uids}
        if sorted(wins.values()) != list(range(len(uids))):
            return None
        return Decided(tuple(sorted(uids, key=lambda uid: -wins[uid])), bool(ties))


@dataclass(frozen=True, slots=True)
class Decided:
    """An order that does not hang on the way of sorting."""

    order: tuple[str, ...]
    has_ties: bool


def answers(cases: Iterable[Document]) -> list[Answer]:
    """Ask for all cases in one run of the program."""
    given = "".join(json.dumps(one) + "\n" for one in cases).encode()
    binary = build.program("victims", SOURCES)
    done = subprocess.run([binary], input=given, stdout=subprocess.PIPE, check=True)
    return [msgspec.json.decode(line, type=Answer) for line in done.stdout.splitlines()]
