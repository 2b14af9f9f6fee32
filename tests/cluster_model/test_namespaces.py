"""Namespaces are found by label as they are now, and an older view stays as it was."""

from cluster_model.controller_objects import Namespace
from cluster_model.label_selectors import NOTHING, Selector, exactly
from cluster_model.namespaces import NamespaceTable
from tests.oracle_labels import named

TEAM_A = Selector(exactly({"team": "a"}))


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=named(name, "", labels))


def test_namespaces_are_found_by_label() -> None:
    table = NamespaceTable()
    for one in (namespace("x", team="a"), namespace("y", team="b"), namespace("z", team="a")):
        assert table.set(one) is True
    assert table.frozen().matching(TEAM_A) == {"x", "z"}
    assert table.frozen().matching(NOTHING) == frozenset()
    assert table.frozen().labels_of("y") == {"team": "b"}
    assert table.frozen().labels_of("unknown") == {}


def test_a_change_is_seen_and_an_older_view_keeps_what_it_said() -> None:
    table = NamespaceTable()
    table.set(namespace("x", team="a"))
    before = table.frozen()
    assert table.set(namespace("x", team="b")) is True
    assert before.matching(TEAM_A) == {"x"}
    assert table.frozen().matching(TEAM_A) == frozenset()


def test_what_changes_nothing_is_no_news() -> None:
    table = NamespaceTable()
    table.set(namespace("x", team="a"))
    before = table.frozen()
    assert table.set(namespace("x", team="a")) is False
    assert table.remove("y") is False
    assert table.frozen() is before
    assert table.remove("x") is True
    assert table.frozen().matching(TEAM_A) == frozenset()
