"""Whose a cost is, by managedFields as the API server writes them."""

from typing import Any

import msgspec
import pytest

from cluster_model.deletion_cost import ANNOTATION
from deletion_cost.ownership import Ownership, holder
from deletion_cost.pod_objects import Meta

OURS = "gpu-scheduler-deletion-cost"


def meta(version: int, cost: str | None, *writers: str) -> Meta:
    fields: dict[str, Any] = {
        "f:metadata": {"f:annotations": {".": {}, f"f:{ANNOTATION}": {}}, "f:labels": {"f:app": {}}}
    }
    other = {"manager": "kubelet", "subresource": "status", "fieldsV1": {"f:status": {"f:phase": {}}}}
    found: dict[str, Any] = {"resourceVersion": str(version), "managedFields": [other]}
    found["managedFields"] += [{"manager": writer, "operation": "Update", "fieldsV1": fields} for writer in writers]
    found["annotations"] = {} if cost is None else {ANNOTATION: cost}
    return msgspec.convert(found, Meta)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (meta(1, None), "nobody"),
        (meta(1, "-50"), "initial"),
        (meta(1, "7", "kube-controller-manager"), "template"),
        (meta(1, "7", OURS), "ours"),
        (meta(1, "7", "deletion-cost-reporter"), "reporter"),
        (meta(1, "7", "karpenter"), "foreign"),
        (meta(1, "7", OURS, "argocd-controller"), "foreign"),
    ],
)
def test_the_holder_is_who_wrote_the_value(found: Meta, wanted: str) -> None:
    assert holder(found) == wanted


def test_our_own_echo_is_nobody_elses() -> None:
    state = Ownership()
    state.see(meta(1, "-50"), judging=True)
    state.sending(-49)
    assert state.see(meta(2, "-49", OURS), judging=True) is None
    state.sending(None)
    assert state.see(meta(3, None), judging=True) is None
    assert (state.value, state.holder, state.stood_down) == (None, "nobody", None)


def test_a_key_that_vanished_without_us_was_taken_by_another() -> None:
    state = Ownership()
    state.see(meta(1, "-49", OURS), judging=True)
    assert state.see(meta(2, None), judging=True) == "vanished"
    assert state.see(meta(3, None), judging=True) is None


def test_a_first_value_may_go_without_meaning_anything() -> None:
    state = Ownership()
    state.see(meta(1, "-50"), judging=True)
    assert state.see(meta(2, None), judging=True) is None


def test_older_news_than_known_changes_nothing() -> None:
    """The watch may tell a state from before our write after the answer to it."""
    state = Ownership()
    state.see(meta(9, "-49", OURS), judging=True)
    assert state.see(meta(8, "700", "kubectl-annotate"), judging=True) is None
    assert state.value == -49


def test_a_standby_judges_nobody_and_begins_with_what_is_there() -> None:
    state = Ownership()
    state.see(meta(1, "-49", OURS), judging=False)
    assert state.see(meta(2, None), judging=False) is None
    state.begin()
    assert state.stood_down is None
    state.see(meta(3, "5", "karpenter"), judging=False)
    state.begin()
    assert state.stood_down == "foreign"


def test_a_value_of_the_template_stays_unless_we_are_asked_in() -> None:
    mine, asked = Ownership(), Ownership(yields_to_template=False)
    template = meta(1, "100", "kube-controller-manager")
    assert (mine.see(template, judging=True), asked.see(template, judging=True)) == ("template", None)
