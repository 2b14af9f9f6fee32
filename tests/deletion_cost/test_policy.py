"""What a pod template may wish, and what is said of what it may not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deletion_cost import policy
from deletion_cost.policy import KEYS, PREFIX, Policy

ALL = frozenset({"none", "endpoint", "prometheus", "metrics"})


def read(**wishes: str) -> policy.Reading:
    return policy.read({PREFIX + key: text for key, text in wishes.items()}, Policy(), ALL)


def test_nothing_wished_is_the_default() -> None:
    assert policy.read({"other/key": "1"}, Policy(mode="all"), ALL) == policy.Reading(Policy(mode="all"))


def test_every_field_has_its_annotation() -> None:
    wishes = {"mode": "all", "source": "endpoint", "load": "connections", "victims": "7"}
    found = read(**wishes, warmup="1m30s", port="http", path="/load?pod=1", query="up")
    assert found.policy == Policy("all", "endpoint", "connections", "7", 90, "http", "/load?pod=1", "up")
    assert len(KEYS) == len(Policy.__slots__)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("mode", "All"),
        ("source", "datadog"),
        ("load", ""),
        ("victims", "120%"),
        ("victims", "-1"),
        ("victims", "1.5"),
        ("victims", "٣"),
        ("warmup", "-1s"),
        ("warmup", "soon"),
        ("warmup", "99999h"),
        ("port", "0"),
        ("port", "65536"),
        ("port", "Web"),
        ("path", "load"),
        ("path", "/a b"),
        ("query", "  "),
        ("cost", "5"),
    ],
)
def test_a_wrong_wish_is_told_and_the_default_holds(key: str, text: str) -> None:
    found = read(**{"mode": "all", key: text})
    assert found.policy == Policy()
    (problem,) = found.problems
    assert str(problem).startswith(f"spec.template.metadata.annotations[{PREFIX}{key}]: Invalid value: ")


def test_a_switch_that_is_neither_on_nor_off_is_told() -> None:
    (problem,) = policy.read({"scheduling.gpu/deletion-cost": "yes"}, Policy(), ALL).problems
    assert str(problem).endswith('Invalid value: "yes": must be on or off')


def test_a_query_or_a_port_says_which_source_is_meant() -> None:
    assert read(query="up").policy.source == "prometheus"
    assert policy.read({f"{PREFIX}port": "80"}, Policy(source="none"), ALL).policy.source == "endpoint"


def test_a_source_that_nobody_configured_cannot_be_chosen() -> None:
    found = policy.read({f"{PREFIX}query": "up"}, Policy(), ALL - {"prometheus"})
    assert "is not configured in this cluster" in str(found.problems[0])


def test_prometheus_needs_a_query() -> None:
    assert "must be set where the source is prometheus" in str(read(source="prometheus").problems[0])


@pytest.mark.parametrize(
    ("victims", "replicas", "wanted"),
    [("20%", 100, 20), ("20%", 1, 1), ("20%", 0, 0), ("0%", 9, 0), ("3", 2, 2), ("3", 9, 3)],
)
def test_victims_are_a_share_rounded_up_or_a_number(victims: str, replicas: int, wanted: int) -> None:
    assert Policy(victims=victims).victims_of(replicas) == wanted


@given(st.dictionaries(st.sampled_from([*KEYS, "scheduling.gpu/deletion-cost"]), st.text(max_size=20)))
def test_any_text_leads_to_a_policy_that_can_be_used(annotations: dict[str, str]) -> None:
    found = policy.read(annotations, Policy(), ALL)
    assert found.policy.victims_of(10) in range(11)
    assert policy.problems(found.policy, ALL) == []
