"""The client against the real API server: where the fake one could be wrong, this is the judge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from cluster_model import objects
from kube_client import binding, conditions, event_bodies
from kube_client.binding import AlreadyBound, Bound, Failed, Gone
from kube_client.changes import Added, Deleted, Modified, Synced
from kube_client.client import Client
from kube_client.errors import ApiError
from kube_client.event_bodies import failed_scheduling, scheduled
from kube_client.events import Recorder
from kube_client.lease import LeaderElector, LeaseName
from kube_client.lease_record import Terms
from kube_client.listing import Resource
from kube_client.watch import Reflector
from tests.control_plane.api import Json
from tests.control_plane.cluster import ControlPlane
from tests.kube_client.relay import Relay, relay

pytestmark = pytest.mark.control_plane

T = TypeVar("T")
FAST = Terms(timedelta(seconds=3), timedelta(seconds=2), timedelta(seconds=0.3))


def run(plane: ControlPlane, test: Callable[[Client], Awaitable[T]]) -> T:
    async def main() -> T:
        async with Client.connect(plane.kubeconfig, "test") as client:
            return await test(client)

    return asyncio.run(main())


def create(plane: ControlPlane, namespace: str, name: str, **spec: Any) -> objects.Pod:
    containers = [{"name": "c", "image": "registry.example/app:1"}]
    document = {"metadata": {"name": name}, "spec": {"schedulerName": "nobody", "containers": containers, **spec}}
    made = plane.api.post(f"/api/v1/namespaces/{namespace}/pods", document)
    meta = made["metadata"]
    seen = objects.ObjectMeta(
        name=name,
        namespace=namespace,
        uid=meta["uid"],
        resource_version=meta["resourceVersion"],
        generation=meta["generation"],
    )
    return objects.Pod(metadata=seen)


def get(plane: ControlPlane, pod: objects.Pod) -> Json:
    return plane.api.get(f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}")


def test_a_pod_is_bound_once(control_plane: ControlPlane, namespace: str) -> None:
    pod = create(control_plane, namespace, "p")

    async def test(client: Client) -> list[binding.Outcome]:
        return [await binding.bind(client, pod, node) for node in ("k-n1", "k-n1", "k-n2")]

    assert run(control_plane, test) == [Bound(), Bound(), AlreadyBound("k-n1")]
    assert get(control_plane, pod)["spec"]["nodeName"] == "k-n1"


def test_another_uid_a_vanished_and_a_gated_pod_are_not_bound(control_plane: ControlPlane, namespace: str) -> None:
    pod = create(control_plane, namespace, "p")
    gated = create(control_plane, namespace, "gated", schedulingGates=[{"name": "example.com/gate"}])
    stranger = objects.Pod(metadata=objects.ObjectMeta(name="p", namespace=namespace, uid="another"))
    missing = objects.Pod(metadata=objects.ObjectMeta(name="missing", namespace=namespace, uid="u"))

    async def test(client: Client) -> list[binding.Outcome]:
        return [await binding.bind(client, asked, "k-n1") for asked in (stranger, missing, gated)]

    replaced, vanished, held = run(control_plane, test)
    assert (replaced, vanished) == (Gone(), Gone())
    assert isinstance(held, Failed)
    assert held.certain
    assert "nodeName" not in get(control_plane, pod)["spec"]


def test_a_condition_is_written_as_kube_scheduler_writes_it(control_plane: ControlPlane, namespace: str) -> None:
    pod = create(control_plane, namespace, "p")
    stranger = objects.Pod(metadata=objects.ObjectMeta(name="p", namespace=namespace, uid="another"))

    async def test(client: Client) -> list[bool]:
        return [
            await conditions.set_unscheduled(client, seen, "Unschedulable", "0/3 nodes are available: %.")
            for seen in (pod, stranger)
        ]

    assert run(control_plane, test) == [True, False]
    (found,) = get(control_plane, pod)["status"]["conditions"]
    assert found.pop("lastTransitionTime")
    words = {"reason": "Unschedulable", "message": "0/3 nodes are available: %."}
    assert found == {"type": "PodScheduled", "status": "False", "observedGeneration": 1, "lastProbeTime": None, **words}


def test_events_and_their_series_are_accepted(control_plane: ControlPlane, namespace: str) -> None:
    pod = create(control_plane, namespace, "p")

    async def test(client: Client) -> Recorder:
        recorder = Recorder(client, event_bodies.reporter("gpu-scheduler", "host-1"))
        writing = asyncio.create_task(recorder.run())
        recorder.record(pod, scheduled(pod, "k-n1"))
        for _ in range(3):
            recorder.record(pod, failed_scheduling("0/3 nodes are available: " + "ä" * 1_000))
        assert await recorder.drain(10.0)
        writing.cancel()
        await asyncio.wait((writing,))
        return recorder

    assert run(control_plane, test).counts.refused == 0
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    bound, failed = sorted(control_plane.api.get(path)["items"], key=lambda event: str(event["type"]))
    assert (bound["note"], failed["series"]["count"]) == (f"Successfully assigned {namespace}/p to k-n1", 2)
    shown = control_plane.kubectl("get", "events", f"--namespace={namespace}").stdout
    assert "FailedScheduling" in shown


def test_a_watch_whose_connection_is_reset_resumes_without_a_list(control_plane: ControlPlane, namespace: str) -> None:
    create(control_plane, namespace, "p0")

    def change(relaying: Relay) -> None:
        for number in range(1, 10):
            create(control_plane, namespace, f"p{number}")
            if number % 3 == 0:
                relaying.break_all()
                time.sleep(0.1)
        control_plane.api.delete(f"/api/v1/namespaces/{namespace}/pods/p0", {"gracePeriodSeconds": 0})

    told, reflector = follow_until_deleted(control_plane, namespace, change)
    assert told == [Added, Synced, *[Added] * 9, Deleted]
    assert reflector.counts.lists == 1
    assert reflector.counts.watches > 1


def test_history_that_the_server_has_forgotten_is_told_as_differences() -> None:
    # Without a cache the API server reads etcd, which forgets here after a second.
    with ControlPlane(api_server_args=("--watch-cache=false", "--etcd-compaction-interval=1s")) as plane:
        create(plane, "default", "p0")

        def change(relaying: Relay) -> None:
            relaying.cut_off()
            create(plane, "default", "p1")
            plane.api.delete("/api/v1/namespaces/default/pods/p0", {"gracePeriodSeconds": 0})
            for number in range(2, 12):
                create(plane, "default", f"p{number}")
                time.sleep(0.4)
            relaying.restore()

        told, reflector = follow_until_deleted(plane, "default", change)
    assert told[:3] == [Added, Synced, Deleted]
    assert reflector.counts.lists == 2


def follow_until_deleted(
    plane: ControlPlane, namespace: str, change: Callable[[Relay], None]
) -> tuple[list[type], Reflector[objects.Pod]]:
    """Follow pods through a relay while `change` runs in a thread; give the kinds of changes up to the first end."""

    async def main(relaying: Relay) -> tuple[list[type], Reflector[objects.Pod]]:
        async with Client.connect(relaying.kubeconfig, "test") as client:
            reflector = Reflector(client, Resource(f"/api/v1/namespaces/{namespace}/pods", objects.Pod))
            return await _told(reflector, relaying, change), reflector

    with relay(plane) as relaying:
        return asyncio.run(main(relaying))


async def _told(reflector: Reflector[objects.Pod], relaying: Relay, change: Callable[[Relay], None]) -> list[type]:
    told: list[type] = []
    changing: asyncio.Task[None] | None = None
    async with asyncio.timeout(60):
        async for seen in reflector.changes():
            if not isinstance(seen, Modified):
                told.append(type(seen))
            if isinstance(seen, Synced):
                changing = asyncio.create_task(asyncio.to_thread(change, relaying))
            if isinstance(seen, Deleted):
                break
    assert changing is not None
    await changing
    return told


def test_a_modified_pod_comes_with_its_old_state(control_plane: ControlPlane, namespace: str) -> None:
    pod = create(control_plane, namespace, "p")

    async def test(client: Client) -> Modified[objects.Pod]:
        reflector = Reflector(client, Resource("/api/v1/pods", objects.Pod, {"fieldSelector": "metadata.name=p"}))
        async for change in reflector.changes():
            if isinstance(change, Synced):
                await binding.bind(client, pod, "k-n3")
            if isinstance(change, Modified):
                return change
        raise AssertionError("a reflector never ends")

    change = run(control_plane, test)
    assert (change.old.spec.node_name, change.object.spec.node_name) == ("", "k-n3")


def test_a_lease_goes_from_hand_to_hand(control_plane: ControlPlane, namespace: str) -> None:
    lease = LeaseName(namespace, "gpu-scheduler")
    held: list[str] = []

    async def contend(client: Client, identity: str) -> None:
        async def work() -> None:
            held.append(identity)
            await asyncio.Event().wait()

        await LeaderElector(client, lease, identity, FAST).lead(work)

    async def test(client: Client) -> None:
        first = asyncio.create_task(contend(client, "a"))
        await _until(lambda: held == ["a"])
        second = asyncio.create_task(contend(client, "b"))
        await asyncio.sleep(2.0)
        assert held == ["a"]
        first.cancel()
        await _until(lambda: held == ["a", "b"])
        second.cancel()
        await asyncio.wait((first, second))

    run(control_plane, test)
    spec = control_plane.api.get(lease.path)["spec"]
    assert (spec.get("holderIdentity", ""), spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("", 1, 1)


async def _until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(10.0):
        while not reached():
            await asyncio.sleep(0.02)


def test_a_service_account_may_do_no_more_than_it_is_granted(control_plane: ControlPlane, namespace: str) -> None:
    config = control_plane.service_account_kubeconfig(namespace, "default")

    async def main() -> None:
        async with Client.connect(config, "test") as client:
            await client.get("/version")
            await client.get(f"/api/v1/namespaces/{namespace}/pods")

    with pytest.raises(ApiError, match=r"403 Forbidden: pods is forbidden"):
        asyncio.run(main())
