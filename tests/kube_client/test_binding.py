import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from kube_client import binding
from kube_client.binding import AlreadyBound, Bound, Failed, Gone, Outcome
from kube_client.errors import ApiError
from kube_client.timing import Timing
from tests.kube_client.builders import PODS, pod, pod_json
from tests.kube_client.fake_api import FakeApi, Fault, MemoryClient, Naps, connected, hurried
from tests.kube_client.store import Refusal, Store, Target

LOST = ApiError(0, "ServerDisconnectedError", "reset")
REFUSED = ApiError(0, "ClientConnectorError", "refused", sent=False)


def _bind(folder: Path, api: FakeApi) -> Outcome:
    async def main() -> Outcome:
        async with connected(folder, api, hurried(Naps())) as (_, client):
            return await binding.bind(client, pod("p"), "n1")

    return asyncio.run(main())


def _with_pod(*faults: Fault, **metadata: str) -> FakeApi:
    api = FakeApi(faults=list(faults))
    api.put(PODS, pod_json("p", **{"uid": "u1", **metadata}))
    return api


def _node(api: FakeApi) -> str:
    return str(api.store.get(Target.of(f"{PODS}/p"))["spec"].get("nodeName", ""))


def test_one_call_binds(tmp_path: Path) -> None:
    api = _with_pod()
    assert _bind(tmp_path, api) == Bound()
    assert (_node(api), len(api.calls)) == ("n1", 1)


@pytest.mark.parametrize(("node", "outcome"), [("n1", Bound()), ("n2", AlreadyBound("n2"))])
def test_a_pod_that_is_bound_already_says_where(tmp_path: Path, node: str, outcome: Outcome) -> None:
    api = _with_pod()
    api.update(f"{PODS}/p", lambda thing: {**thing, "spec": {"nodeName": node}})
    assert _bind(tmp_path, api) == outcome


def test_a_pod_created_anew_under_the_name_is_not_bound(tmp_path: Path) -> None:
    api = _with_pod(uid="u2")
    assert _bind(tmp_path, api) == Gone()
    assert _node(api) == ""


def test_a_deleted_and_a_dying_pod_are_gone(tmp_path: Path) -> None:
    assert _bind(tmp_path, FakeApi()) == Gone()
    assert _bind(tmp_path, _with_pod(deletionTimestamp="2026-01-01T00:00:00Z")) == Gone()


def test_a_gated_pod_fails_for_certain(tmp_path: Path) -> None:
    api = _with_pod()
    api.update(f"{PODS}/p", lambda thing: {**thing, "spec": {"schedulingGates": [{"name": "g"}]}})
    outcome = _bind(tmp_path, api)
    assert isinstance(outcome, Failed)
    assert outcome.certain
    assert outcome.error.is_conflict


def test_a_lost_answer_is_looked_up_and_nothing_is_sent_again(tmp_path: Path) -> None:
    api = _with_pod(Fault("POST", "/binding", drop_after=True))
    assert _bind(tmp_path, api) == Bound()
    assert [method for method, _, _ in api.calls] == ["POST", "GET"]


def test_a_call_that_never_arrived_is_sent_again_once_the_pod_was_seen_unbound(tmp_path: Path) -> None:
    api = _with_pod(Fault("POST", "/binding", drop_before=True), Fault("POST", "/binding", refusal=Refusal(500, "")))
    assert _bind(tmp_path, api) == Bound()
    assert [method for method, _, _ in api.calls] == ["POST", "GET", "POST", "GET", "POST"]


def test_a_lost_answer_while_another_scheduler_was_first_says_where(tmp_path: Path) -> None:
    api = _with_pod(Fault("POST", "/binding", drop_before=True))
    api.update(f"{PODS}/p", lambda thing: {**thing, "spec": {"nodeName": "n2"}})
    assert _bind(tmp_path, api) == AlreadyBound("n2")


def test_throttling_waits_and_goes_on(tmp_path: Path) -> None:
    api = _with_pod(Fault("POST", "/binding", refusal=Refusal(429, "TooManyRequests"), retry_after="1"))
    assert _bind(tmp_path, api) == Bound()


def test_a_forbidden_call_fails_for_certain_without_a_look(tmp_path: Path) -> None:
    api = _with_pod(Fault("POST", "/binding", refusal=Refusal(403, "Forbidden", "no")))
    outcome = _bind(tmp_path, api)
    assert isinstance(outcome, Failed)
    assert (outcome.certain, len(api.calls)) == (True, 1)


def _bind_in_memory(failures: Sequence[Exception | None]) -> Outcome:
    store = Store()
    store.create(Target.of(PODS), pod_json("p", uid="u1"))
    client = MemoryClient(store, Timing(sleep=Naps().sleep), failures)
    return asyncio.run(binding.bind(client, pod("p"), "n1"))


def test_a_server_that_is_lost_for_good_leaves_the_outcome_open() -> None:
    outcome = _bind_in_memory([LOST] * 100)
    assert outcome == Failed(LOST, certain=False)


def test_doubt_from_one_attempt_is_not_forgotten_by_the_next() -> None:
    outcome = _bind_in_memory([LOST] + [REFUSED] * 100)
    assert outcome == Failed(REFUSED, certain=False)


def test_a_server_that_was_never_reached_cannot_have_bound() -> None:
    outcome = _bind_in_memory([REFUSED] * 100)
    assert outcome == Failed(REFUSED, certain=True)
