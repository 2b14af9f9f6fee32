"""Which changes of a node are news: those that could cure a rejection, and never a heartbeat."""

from typing import Any

import pytest

from cluster_model.verdict import Event
from tests import build
from tests.build import node, taint


@pytest.mark.parametrize(
    ("change", "event"),
    [
        ({"gpus": 4}, Event.NODE_ALLOCATABLE),
        ({"allocatable": {"cpu": "65"}}, Event.NODE_ALLOCATABLE),
        ({"labels": {"zone": "b"}}, Event.NODE_LABEL),
        ({"taints": (taint("nvidia.com/gpu=present:NoSchedule"),)}, Event.NODE_TAINT),
        ({"conditions": {"Ready": "False"}}, Event.NODE_CONDITION),
        ({"annotations": {"gpu.nvidia.com/utilization": "0.5"}}, Event.NODE_ANNOTATION),
        ({"features": ("VolumeBindMountOptions",)}, Event.NODE_FEATURE),
    ],
)
def test_a_change_is_named_by_its_kind(change: dict[str, Any], event: Event) -> None:
    state = build.state(node("a", conditions={"Ready": "True"}))

    assert state.set_node(node("a", **{"conditions": {"Ready": "True"}, **change})) == {event}


def test_several_changes_are_all_named() -> None:
    state = build.state(node("a"))

    assert state.set_node(node("a", gpus=4, labels={"zone": "b"})) == {Event.NODE_ALLOCATABLE, Event.NODE_LABEL}


def test_an_uncordoned_node_is_news_as_taints_are_and_a_cordoned_one_is_none() -> None:
    state = build.state(node("a"))

    assert state.set_node(node("a", unschedulable=True)) == set()
    assert state.set_node(node("a")) == {Event.NODE_TAINT}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"allocatable": {"cpu": "64000m"}},
        {"images": {"example.com/app:1": 1}},
        {"annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
    ],
)
def test_heartbeats_other_spellings_and_foreign_annotations_are_no_news(change: dict[str, Any]) -> None:
    state = build.state(node("a"))

    assert state.set_node(node("a", **change)) == set()
