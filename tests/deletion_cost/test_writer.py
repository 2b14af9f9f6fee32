"""What becomes of a write that the API server refuses, loses or overtakes, and what is sent at all."""

import asyncio
import json
from collections.abc import Iterable

import pytest

from cluster_model.deletion_cost import ANNOTATION
from deletion_cost.budget import Budget, Limits
from deletion_cost.metrics import Metrics
from deletion_cost.plan import Wanted
from deletion_cost.writer import Writer
from kube_client.client import DEFAULTS, MERGE_PATCH, Body, Options
from kube_client.errors import ApiError
from kube_client.timing import Timing
from tests.deletion_cost.build import NAMESPACE, Cluster, pod
from tests.kube_client.fake_api import MemoryClient
from tests.kube_client.store import Store, Target

WANTED = Wanted("uid-a", -49)


class Recording(MemoryClient):
    """Remembers what was sent, and may take its time."""

    slow_seconds = 0.0

    async def request(self, method: str, path: str, body: Body = None, options: Options = DEFAULTS) -> bytes:
        self.sent = (method, path, body, options)
        await asyncio.sleep(self.slow_seconds)
        return await super().request(method, path, body, options)


class Stage:
    """A writer with one pod "a" in the store and in the fleet."""

    def __init__(self, failures: Iterable[Exception | None] = (), leads: bool = True) -> None:
        self.cluster, store = Cluster(), Store()
        meta = {"name": "a", "namespace": NAMESPACE, "uid": "uid-a", "annotations": {}}
        store.create(Target.of(f"/api/v1/namespaces/{NAMESPACE}/pods"), {"metadata": meta, "spec": {}, "status": {}})
        self.cluster.add(pod("a"))
        self.client = Recording(store, Timing(monotonic=lambda: self.cluster.now), failures)
        self.budget, self.metrics = Budget(Limits(100, 100, 100, 0, 90)), Metrics()
        self.writer = Writer(self.client, self.cluster.fleet, self.budget, self.metrics, lambda: leads)

    def write(self, wanted: Wanted = WANTED) -> None:
        asyncio.run(self.writer.write("uid-web", wanted))

    def waiting(self, after: float) -> list[Wanted]:
        return [one for _, one in self.budget.take(self.cluster.now + after)]

    def count(self, result: str) -> float | None:
        return self.metrics.registry.get_sample_value("gpu_scheduler_deletion_cost_writes_total", {"result": result})


def test_one_key_of_one_pod_is_patched_in_our_name() -> None:
    stage = Stage()
    stage.write()
    method, path, body, options = stage.client.sent
    assert (method, path) == ("PATCH", f"/api/v1/namespaces/{NAMESPACE}/pods/a")
    assert body == {"metadata": {"uid": "uid-a", "annotations": {ANNOTATION: "-49"}}}
    assert (options.content_type, dict(options.params)) == (
        MERGE_PATCH,
        {"fieldManager": "gpu-scheduler-deletion-cost"},
    )
    assert stage.count("written") == 1


def test_a_removal_is_a_null() -> None:
    stage = Stage()
    stage.cluster.add(pod("a", -49))
    stage.write(Wanted("uid-a", None))
    assert json.loads(json.dumps(stage.client.sent[2]))["metadata"]["annotations"] == {ANNOTATION: None}


@pytest.mark.parametrize(
    ("status", "result"), [(404, "gone"), (409, "conflict"), (422, "invalid"), (400, "invalid"), (403, "forbidden")]
)
def test_what_can_never_be_written_is_dropped(status: int, result: str) -> None:
    stage = Stage([ApiError(status, "Refused", "no")])
    stage.write()
    assert stage.count(result) == 1
    assert stage.waiting(1000) == []


def test_a_throttled_write_waits_as_long_as_it_is_told_and_everything_with_it() -> None:
    stage = Stage([ApiError(429, "TooManyRequests", "later", 7)])
    stage.write()
    stage.budget.offer("other", [Wanted("uid-b", 1)], stage.cluster.now, {})
    assert stage.waiting(6.9) == []
    assert {one.uid for one in stage.waiting(7)} == {"uid-a", "uid-b"}


NO_RIGHT = 'pods "a" is forbidden: User "x" cannot patch resource "pods" in API group "" in the namespace "ns"'
DENIED = 'pods "a" is forbidden: ValidatingAdmissionPolicy "frozen" with binding "frozen" denied request: no'


def passing(stage: Stage, *uids: str) -> set[str]:
    """What may be written half a second later if a plan wishes it again."""
    stage.budget.offer("uid-web", [Wanted(uid, -49) for uid in uids], stage.cluster.now, {})
    return {one.uid for one in stage.waiting(0.5)}


@pytest.mark.parametrize("error", [ApiError(403, "Forbidden", NO_RIGHT), ApiError(401, "Unauthorized", "no")])
def test_without_the_right_nothing_is_tried_for_a_while(error: ApiError) -> None:
    stage = Stage([error])
    stage.write()
    assert passing(stage, "uid-a", "uid-b") == set()


def test_a_policy_that_denies_changes_of_one_pod_holds_up_no_other() -> None:
    stage = Stage([ApiError(403, "Forbidden", DENIED)])
    stage.write()
    assert passing(stage, "uid-a", "uid-b") == {"uid-b"}
    stage.cluster.now += 299
    assert passing(stage, "uid-a") == set()
    stage.cluster.now += 1
    assert passing(stage, "uid-a") == {"uid-a"}


@pytest.mark.parametrize("error", [ApiError(500, "InternalError", "no"), ApiError(0, "TimeoutError", "no answer")])
def test_a_lost_write_is_tried_again_but_a_newer_value_goes_first(error: ApiError) -> None:
    stage = Stage([error])
    stage.write()
    assert stage.waiting(4.9) == []
    stage.budget.offer("uid-web", [Wanted("uid-a", 7)], stage.cluster.now, {})
    assert stage.waiting(5) == [Wanted("uid-a", 7)]


def test_a_lost_removal_that_was_done_is_not_taken_for_anothers() -> None:
    """The answer never came; the watch then tells that the key is gone."""
    stage = Stage([ApiError(0, "TimeoutError", "no answer")])
    stage.cluster.add(pod("a", -49))
    stage.write(Wanted("uid-a", None))
    stage.cluster.add(pod("a"))
    assert stage.cluster.told.stood_down == []


def unsent(stage: Stage, **why: int) -> None:
    stage.write()
    assert not hasattr(stage.client, "sent")
    assert {name: getattr(stage.writer.suppressed, name) for name in why} == why


def test_an_equal_value_is_not_sent() -> None:
    stage = Stage()
    stage.cluster.add(pod("a", -49))
    unsent(stage, equal=1)


def test_nothing_is_sent_for_a_pod_that_is_gone_or_anothers() -> None:
    stage = Stage()
    stage.cluster.add(pod("a", 7, writer="karpenter"))
    unsent(stage, stood_down=1)
    stage.cluster.remove("a")
    unsent(stage, gone=1)


def test_nothing_is_sent_once_the_lease_is_lost() -> None:
    unsent(Stage(leads=False), not_leading=1)


def test_what_is_in_flight_ends_when_the_writer_is_stopped() -> None:
    stage = Stage()
    stage.client.slow_seconds = 0.05

    async def run() -> None:
        stage.budget.offer("uid-web", [WANTED], stage.cluster.now, {})
        task = asyncio.create_task(stage.writer.run())
        while not hasattr(stage.client, "sent"):
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(run())
    assert stage.count("written") == 1


def test_a_pod_has_one_write_on_its_way() -> None:
    """A second value waits for the answer to the first, and is then to be written."""
    stage = Stage()
    stage.client.slow_seconds = 0.05

    async def both() -> None:
        await asyncio.gather(*(stage.writer.write("uid-web", Wanted("uid-a", value)) for value in (-49, -30)))

    asyncio.run(both())
    assert stage.count("written") == 1
    assert json.loads(json.dumps(stage.client.sent[2]))["metadata"]["annotations"] == {ANNOTATION: "-49"}
    assert stage.waiting(1) == [Wanted("uid-a", -30)]
