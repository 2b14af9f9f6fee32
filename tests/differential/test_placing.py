"""Our side of a real case: the profile is that of the configuration, and what differs is seen."""

from __future__ import annotations

import pytest

from scheduler_plugins.framework import Profile
from tests.differential import generate, profiles, real
from tests.differential.documents import Document, config, default_config
from tests.differential.placing import Expected, differences, read_profile
from tests.differential.stage import Outcome


def named(profile: Profile) -> tuple[list[str], list[tuple[str, int]]]:
    return [one.name for one in profile.filters], [(one.name, one.weight) for one in profile.scorers]


@pytest.mark.parametrize("number", range(60))
def test_a_configuration_is_read_as_the_framework_level_reads_it(number: int) -> None:
    """The same plugins in the same order with the same weights, though one is read from text and merged."""
    case = generate.case(5, number)

    assert named(read_profile(real.profile(case))) == named(profiles.ours(case["config"]))


def test_default_profile_makes_room_and_one_of_listed_plugins_does_not() -> None:
    listed: Document = {"id": "1/0", "config": config([("TaintToleration", 3)])}
    default: Document = {"id": "1/1", "config": default_config({})}

    assert read_profile(real.profile(default)).preemption is not None
    assert read_profile(real.profile(listed)).preemption is None


@pytest.mark.parametrize(
    ("outcome", "expected", "what"),
    [
        (Outcome(node="a"), Expected(nodes=frozenset("ab")), []),
        (Outcome(node="c"), Expected(nodes=frozenset("ab")), ["node"]),
        (Outcome(node="a"), Expected(texts=frozenset("t")), ["placed"]),
        (Outcome(text="t"), Expected(nodes=frozenset("a")), ["placed"]),
        (Outcome(text="t"), Expected(texts=frozenset("tu")), []),
        (Outcome(text="v"), Expected(texts=frozenset("tu")), ["text"]),
    ],
)
def test_each_kind_of_difference_is_seen(outcome: Outcome, expected: Expected, what: list[str]) -> None:
    assert [one.what for one in differences(outcome, expected)] == what
