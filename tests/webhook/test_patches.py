"""Patches of few operations, and their trial."""

from typing import Any

import pytest

from tests.webhook.build import pod
from webhook import patches

KEY = "example.com/a~b"


@pytest.mark.parametrize("annotations", [None, {}, {"other": "x"}])
def test_annotation_is_added_whatever_is_there(annotations: dict[str, Any] | None) -> None:
    body = pod(annotations)

    applied = patches.apply(patches.annotation(body, KEY, "v"), body)

    assert applied["metadata"]["annotations"] == {**(annotations or {}), KEY: "v"}


def test_map_is_added_only_where_it_is_absent() -> None:
    assert patches.annotation(pod({}), KEY, "v")[0]["path"] == "/metadata/annotations/example.com~1a~0b"
    assert patches.annotation(pod(None), KEY, "v")[0]["path"] == "/metadata/annotations"


def test_annotation_that_is_there_is_kept() -> None:
    assert patches.annotation(pod({KEY: ""}), KEY, "v") == ()


def test_object_itself_is_not_changed() -> None:
    body = pod({"other": "x"})
    before = repr(body)

    patches.apply(patches.annotation(body, KEY, "v") + patches.scheduler_name(body, "mine"), body)

    assert repr(body) == before


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/spec/schedulerName", "value": "other"},
        {"op": "add", "path": "/nowhere/x", "value": 1},
        {"op": "add", "path": "/kind/x", "value": 1},
        {"op": "add", "path": "no-slash", "value": 1},
        {"op": "fly", "path": "/x", "value": 1},
        {"op": "add", "path": "/spec/containers/9", "value": 1},
        {"op": "add", "path": "/spec/containers/x", "value": 1},
    ],
)
def test_patch_that_the_api_server_would_refuse_is_found_before(operation: dict[str, Any]) -> None:
    with pytest.raises(patches.DoesNotApply):
        patches.apply((operation,), pod())
