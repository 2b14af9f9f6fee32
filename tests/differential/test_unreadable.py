"""Selectors that an API server refuses, tried offline: kube-scheduler's own words and verdict, and ours."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_plugins import explain
from scheduler_plugins.framework import PluginError
from tests.differential import compare
from tests.differential.affinity import PREFERRED, REQUIRED
from tests.differential.documents import ZONE, Document, node, pod, requirement
from tests.differential.framework import Framework

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

SELECTORS: dict[str, Document] = {
    "operator": {"matchExpressions": [requirement("app", "Near", "web")]},
    "no operator": {"matchExpressions": [requirement("app", "")]},
    "no values": {"matchExpressions": [requirement("app", "In")]},
    "values": {"matchExpressions": [requirement("app", "Exists", "x", 'y"<&>')]},
    "key": {"matchExpressions": [requirement("a b", "Exists")]},
    "empty key": {"matchExpressions": [requirement("", "DoesNotExist")]},
    "long key": {"matchExpressions": [requirement("k" * 64, "Exists")]},
    "slashes": {"matchExpressions": [requirement("a/b/c", "Exists")]},
    "empty prefix": {"matchExpressions": [requirement("/b", "Exists")]},
    "prefix": {"matchExpressions": [requirement("Über_/b", "Exists")]},
    "long prefix": {"matchExpressions": [requirement("p" * 254 + "/b", "Exists")]},
    "value": {"matchExpressions": [requirement("app", "NotIn", "ok", "not ok")]},
    "long value": {"matchLabels": {"app": "v" * 64}},
    "control": {"matchLabels": {"app": "a\tb"}},
    "two": {"matchExpressions": [requirement("a b", "In", "-", "-")]},
}


def spread(selector: Document, action: str = "DoNotSchedule") -> Document:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": action, "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


def affinity(selector: Document, kind: str = "podAffinity", field: str = "labelSelector") -> Document:
    term = {"topologyKey": ZONE, field: selector}
    return {"affinity": {kind: {REQUIRED: [term], PREFERRED: [{"weight": 1, "podAffinityTerm": term}]}}}


def case(spec: Document) -> Document:
    nodes = [node(name, labels={ZONE: name}) for name in ("n1", "n2")]
    return {"id": "unreadable", "nodes": nodes, "pods": [], "pod": pod("p", **spec), "config": None}


def said(found: Document, answer: Any) -> tuple[str, str]:
    """What we say, and as what."""
    try:
        return explain.sentence(compare.ours(found, answer)), "Unschedulable"
    except PluginError as error:
        return str(error), "SchedulerError"


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize(
    "spec",
    [
        spread,
        lambda selector: spread(selector, "ScheduleAnyway"),
        affinity,
        lambda selector: affinity(selector, "podAntiAffinity"),
        lambda selector: affinity(selector, field="namespaceSelector"),
    ],
    ids=["hard", "soft", "near", "apart", "namespace"],
)
def test_it_is_told_in_the_same_words(framework: Framework, spec: Any, name: str) -> None:
    found = case(spec(SELECTORS[name]))
    answer = framework.judge(found)

    assert answer.error == ""
    assert answer.refused
    # A rejection in PreFilter leaves the PostFilter plugins without their state.
    theirs = answer.message.removesuffix(" not found")
    assert said(found, answer) == (theirs, answer.reason)
