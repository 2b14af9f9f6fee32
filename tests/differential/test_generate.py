"""A case is what its seed, its number and its subjects say, and nothing else."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.differential import generate, profiles
from tests.differential.documents import config, default_config


def test_same_seed_writes_the_same_cases() -> None:
    """A case stands for itself: it can be written again without those before it."""
    listed = list(generate.cases(7, 60))

    assert [generate.case(7, number) for number in range(60)] == listed
    assert listed != list(generate.cases(8, 60))


def test_cases_are_plain_json_with_ids_of_their_own() -> None:
    cases = list(generate.cases(7, 60))

    assert json.loads(json.dumps(cases)) == cases
    assert len({case["id"] for case in cases}) == 60


@pytest.mark.parametrize("subject", generate.SUBJECTS)
def test_subject_stands_alone_in_every_third_case(subject: str) -> None:
    """With its own plugins configured and no other."""
    names = _configured(generate.case(7, 0, (subject,)))

    assert names == {"PrioritySort", "DefaultBinder", *generate.SUBJECTS[subject].plugins}


def test_parts_take_turns() -> None:
    """Every third case has the default profile; every subject gets its turn alone."""
    cases = [generate.case(7, number) for number in range(3 * len(generate.SUBJECTS))]
    alone = Counter(frozenset(_configured(case)) for case in cases[0::3])

    assert all(len(_configured(case)) == 0 for case in cases[2::3])
    assert sum(alone.values()) == len(generate.SUBJECTS)


def test_our_profile_is_that_of_the_configuration() -> None:
    """Plugins, weights and args are the same; without a list of plugins there are all that both have."""
    written = config([("TaintToleration", 7), ("NodePorts", 0)])
    default = profiles.ours(default_config({"NodeResourcesFit": {"ignoredResources": ["example.com/nic"]}}))

    chosen = profiles.ours(written)
    assert [(one.name, one.weight) for one in chosen.scorers] == [("TaintToleration", 7)]
    assert [one.name for one in chosen.filters][1:] == ["TaintToleration", "NodePorts"]
    assert [(one.name, one.weight) for one in default.scorers] == [item for item in profiles.WEIGHTS.items() if item[1]]


def test_every_plugin_of_both_is_compared() -> None:
    """A plugin that the registry gains must get its cases here."""
    assert list(profiles.missing()) == []
    assert {plugin for one in generate.SUBJECTS.values() for plugin in one.plugins} == set(profiles.WEIGHTS)


def _configured(case: dict[str, object]) -> set[str]:
    found = case["config"]
    if not isinstance(found, dict):
        return set()
    enabled = found["profiles"][0].get("plugins", {}).get("multiPoint", {}).get("enabled", ())
    return {entry["name"] for entry in enabled}
