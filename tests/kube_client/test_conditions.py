import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from cluster_model import objects
from kube_client import conditions
from kube_client.errors import ApiError
from kube_client.timing import Timing
from tests.kube_client.builders import PODS, pod, pod_json
from tests.kube_client.fake_api import MemoryClient, Naps
from tests.kube_client.store import Json, Store, Target

TIMING = Timing(sleep=Naps().sleep, utc_now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def _set(
    seen: objects.Pod, old: list[Json], failures: Sequence[Exception | None] | None = None, uid: str = "u1"
) -> Any:
    store = Store()
    store.create(Target.of(PODS), {**pod_json("p", uid=uid), "status": {"conditions": old}})
    client = MemoryClient(store, TIMING, failures or [])
    sent = asyncio.run(conditions.set_unscheduled(client, seen, "Unschedulable", "0/3 nodes"))
    return sent, store.get(Target.of(f"{PODS}/p"))["status"]["conditions"]


def _condition(**fields: Any) -> objects.PodCondition:
    return objects.PodCondition(**{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", **fields})


def test_a_first_condition_has_all_fields_of_kube_schedulers() -> None:
    sent, found = _set(pod("p"), [])
    words = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    assert sent is True
    assert found == [{**words, "observedGeneration": 3, "lastTransitionTime": "2026-01-02T03:04:05Z"}]


def test_other_words_under_the_same_status_keep_the_time_of_transition() -> None:
    old = {"type": "PodScheduled", "status": "False", "message": "0/2 nodes", "lastTransitionTime": "T"}
    sent, (found,) = _set(pod("p", conditions=(_condition(message="0/2 nodes"),)), [old])
    assert (sent, found["message"], found["lastTransitionTime"]) == (True, "0/3 nodes", "T")


def test_a_changed_status_sets_the_time_of_transition() -> None:
    old = {"type": "PodScheduled", "status": "Unknown", "lastTransitionTime": "T"}
    _, (found,) = _set(pod("p", conditions=(_condition(status="Unknown"),)), [old])
    assert found["lastTransitionTime"] == "2026-01-02T03:04:05Z"


def test_the_same_condition_is_not_sent() -> None:
    sent, _ = _set(pod("p", conditions=(_condition(message="0/3 nodes"),)), [], [AssertionError("no call expected")])
    assert sent is False


def test_other_conditions_stay() -> None:
    _, found = _set(pod("p"), [{"type": "Ready", "status": "False"}])
    assert [condition["type"] for condition in found] == ["Ready", "PodScheduled"]


def test_a_pod_created_anew_under_the_name_is_left_alone() -> None:
    assert _set(pod("p"), [], uid="u2") == (False, [])


def test_a_vanished_pod_is_no_error() -> None:
    assert _set(pod("p"), [], [ApiError(404, "NotFound", "")])[0] is False


def test_a_write_that_met_other_writers_is_sent_again() -> None:
    sent, found = _set(pod("p"), [], [ApiError(409, "Conflict", "the object has been modified")] * 2)
    assert (sent, len(found)) == (True, 1)


def test_a_failed_call_is_an_error() -> None:
    with pytest.raises(ApiError, match="403"):
        _set(pod("p"), [], [ApiError(403, "Forbidden", "")])


@pytest.mark.parametrize("uid", ["u1", "another"])
def test_a_nomination_is_written_and_taken_back_on_that_very_pod(uid: str) -> None:
    store = Store()
    store.create(Target.of(PODS), {**pod_json("p", uid=uid), "status": {"phase": "Pending"}})
    client = MemoryClient(store, TIMING, [])

    def now() -> Any:
        return store.get(Target.of(f"{PODS}/p"))["status"].get("nominatedNodeName")

    mine = uid == "u1"
    assert asyncio.run(conditions.nominate(client, pod("p"), "n")) is mine
    assert now() == ("n" if mine else None)
    assert asyncio.run(conditions.clear_nomination(client, pod("p"))) is mine
    assert not now()
