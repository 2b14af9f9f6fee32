"""Shrinking finds the part of a case that matters, whatever stands around it."""

from __future__ import annotations

from typing import Any

from tests.differential import generate
from tests.differential.documents import Document, config
from tests.differential.shrink import shrink


def test_only_what_matters_is_left() -> None:
    """One item of a long list and one field deep inside of it."""
    items = [{"name": f"n{number}", "spec": {"taints": [1, 2, 3], "other": number}} for number in range(50)]
    case: Document = {"id": "c", "pod": {"a": 1}, "nodes": items, "config": None}

    def interesting(found: Document) -> bool:
        return any(3 in node.get("spec", {}).get("taints", ()) and node.get("name") == "n37" for node in _nodes(found))

    assert shrink(case, interesting) == {
        "id": "c",
        "pod": {},
        "nodes": [{"name": "n37", "spec": {"taints": [3]}}],
    }


def test_case_that_needs_two_distant_items_keeps_both() -> None:
    case: Document = {"id": "c", "pod": {}, "nodes": list(range(40))}

    smallest = shrink(case, lambda found: {3, 37} <= set(_nodes(found)))

    assert smallest["nodes"] == [3, 37]


def test_number_of_tries_is_bounded() -> None:
    """A case whose every part is tried in vain comes back as it was."""
    case, tries = generate.case(1, 2), iter(range(100))

    assert shrink(case, lambda _: next(tries) < 0, most_tries=17) is case
    assert next(tries) == 17


def test_frame_of_a_configuration_stays() -> None:
    """Plugins and args may go one by one; which plugins are disabled may not."""
    frame = config([("NodeName", 0), ("NodePorts", 0)], {"NodeAffinity": {"addedAffinity": {}}})
    smallest = shrink({"id": "c", "pod": {}, "config": frame}, lambda found: bool(found.get("config")))

    assert smallest["config"] == {**config([], {}), "profiles": [_emptied(config([])["profiles"][0])]}


def test_original_stays_as_it_was() -> None:
    case: Document = {"id": "c", "pod": {"a": {"b": [1, 2]}}, "nodes": []}

    shrink(case, lambda _: True)

    assert case == {"id": "c", "pod": {"a": {"b": [1, 2]}}, "nodes": []}


def _emptied(profile: Document) -> Document:
    plugins = {"multiPoint": {**profile["plugins"]["multiPoint"], "enabled": []}}
    return {**profile, "plugins": plugins}


def _nodes(found: Document) -> list[Any]:
    nodes: list[Any] = found.get("nodes", [])
    return nodes
