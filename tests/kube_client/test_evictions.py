"""A victim is marked, then deleted; one that is gone already is no failure, another of its name is left alone."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from kube_client import conditions, evictions
from kube_client.errors import ApiError
from tests.kube_client.builders import PODS, pod, pod_json
from tests.kube_client.fake_api import MemoryClient
from tests.kube_client.store import Store, Target
from tests.kube_client.test_conditions import TIMING

MARK = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "s: preempting to accommodate a higher priority pod",
    "observedGeneration": 3,
    "lastTransitionTime": "2026-01-02T03:04:05Z",
}


def _client(uid: str = "u1", failures: Sequence[Exception | None] = ()) -> MemoryClient:
    store = Store()
    store.create(Target.of(PODS), {**pod_json("p", uid=uid), "status": {"nominatedNodeName": "n1"}})
    return MemoryClient(store, TIMING, list(failures))


def _status(client: MemoryClient) -> Any:
    return client.store.get(Target.of(f"{PODS}/p"))["status"]


def test_victim_is_marked_before_it_is_deleted() -> None:
    client = _client(failures=[None, ApiError(500, "InternalError", "no")])
    with pytest.raises(ApiError):
        asyncio.run(evictions.evict(client, pod("p"), "s", lambda: True))
    assert _status(client)["conditions"] == [MARK]


def test_victim_is_deleted() -> None:
    client = _client()
    assert asyncio.run(evictions.evict(client, pod("p"), "s", lambda: True)) is True
    assert client.store.objects == {}


def test_nothing_more_is_written_once_another_may_decide() -> None:
    client, leading = _client(), [True, False]
    with pytest.raises(evictions.Fenced):
        asyncio.run(evictions.evict(client, pod("p"), "s", lambda: leading.pop(0)))
    assert _status(client)["conditions"] == [MARK]


@pytest.mark.parametrize("status", [404, 409])
def test_victim_that_is_gone_is_no_failure(status: int) -> None:
    client = _client(failures=[None, ApiError(status, "Gone", "not there")])
    assert asyncio.run(evictions.evict(client, pod("p"), "s", lambda: True)) is False


@pytest.mark.parametrize(("nominated", "expected"), [("n2", "n2"), ("", None), (None, "n1")])
def test_nomination_goes_with_the_condition(nominated: str | None, expected: str | None) -> None:
    client = _client()
    asyncio.run(
        conditions.set_unscheduled(client, pod("p", nominated_node_name="n1"), "Unschedulable", "no", nominated)
    )
    assert _status(client).get("nominatedNodeName") == expected


def test_nomination_is_taken_back() -> None:
    client = _client()
    assert asyncio.run(conditions.clear_nomination(client, pod("p"))) is True
    assert _status(client)["nominatedNodeName"] is None
