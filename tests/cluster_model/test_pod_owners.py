"""The selector that Services and a controller give a pod is kube-scheduler's; a change touches its namespace only."""

from typing import Any

import pytest
from hypothesis import given

from cluster_model import objects
from cluster_model.controller_objects import ReplicaSet, ReplicationController, Service
from cluster_model.label_selectors import EVERYTHING
from cluster_model.pod_owners import Owner, OwnerTable
from tests import build, generate_terms
from tests.generate import drawn
from tests.oracle_labels import AROUND, by_map, by_selector, named, selector_matches
from tests.oracle_spread import owner_selector

WEB = {"app": "web"}


def table(*owners: Owner) -> OwnerTable:
    found = OwnerTable()
    for owner in owners:
        found.set(owner)
    return found


def controlled(kind: str, name: str, version: str = "apps/v1", **labels: str) -> objects.Pod:
    reference = objects.OwnerReference(api_version=version, kind=kind, name=name, controller=True)
    return build.raw_pod(meta={"labels": labels, "owner_references": (reference,)})


@given(meta=drawn(generate_terms.meta), other=drawn(generate_terms.meta))
def test_the_selector_matches_what_the_plain_twins_matches(meta: dict[str, Any], other: dict[str, Any]) -> None:
    pod = build.raw_pod(meta=meta)
    found = table(*AROUND.services, *AROUND.controllers).frozen().selector(pod)
    expected = owner_selector(pod, AROUND)
    assert found.matches(other["labels"]) == selector_matches(expected, other["labels"])
    assert found.is_empty == (not expected.match_expressions)


@pytest.mark.parametrize("owner", [*AROUND.services, *AROUND.controllers])
def test_an_owner_that_goes_leaves_nothing_behind(owner: Owner) -> None:
    owners = table(owner)
    owners.remove(owner)
    assert owners.frozen().by_namespace == {}
    assert owners.remove(owner) is False


def test_only_a_change_of_the_selector_is_news() -> None:
    service = Service(metadata=named("web"), spec=by_map(WEB))
    owners = table(service)
    before = owners.frozen()
    assert owners.set(Service(metadata=named("web", "default", {"new": "label"}), spec=by_map(WEB))) is False
    assert owners.frozen() is before
    assert owners.set(Service(metadata=named("web"), spec=by_map({"app": "db"}))) is True
    assert before.selector(build.raw_pod(meta={"labels": WEB})).matches(WEB)
    assert owners.frozen().selector(build.raw_pod(meta={"labels": WEB})) == EVERYTHING


def test_a_change_keeps_what_was_worked_out_of_other_namespaces() -> None:
    owners = table(*AROUND.services)
    before = owners.frozen().by_namespace["other"]
    owners.set(ReplicaSet(metadata=named("new"), spec=by_selector(WEB)))
    assert owners.frozen().by_namespace["other"] is before


def test_a_replication_controllers_labels_replace_those_of_services() -> None:
    """As kube-scheduler merges them; a ReplicaSet's conditions are added."""
    owners = table(
        Service(metadata=named("web"), spec=by_map(WEB)),
        ReplicationController(metadata=named("rc"), spec=by_map({"app": "old"})),
        ReplicaSet(metadata=named("rs"), spec=by_selector({"app": "old"})),
    ).frozen()
    assert owners.selector(controlled("ReplicationController", "rc", "v1", app="web")).matches({"app": "old"})
    assert not owners.selector(controlled("ReplicaSet", "rs", app="web")).matches({"app": "old"})


def test_an_owner_of_another_group_or_without_control_selects_nothing() -> None:
    owners = table(ReplicaSet(metadata=named("rs"), spec=by_selector(WEB))).frozen()
    assert owners.selector(controlled("ReplicaSet", "rs", "extensions/v1beta1", app="web")) == EVERYTHING
    loose = objects.OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="rs")
    assert owners.selector(build.raw_pod(meta={"labels": WEB, "owner_references": (loose,)})) == EVERYTHING
