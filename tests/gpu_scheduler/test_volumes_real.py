"""Pods with volumes on a real control plane: claims bind first, by its controller and a small provisioner."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.control_plane import waiting
from tests.control_plane.api import Json
from tests.control_plane.cluster import ControlPlane
from tests.gpu_scheduler.provisioner import NAME, SELECTED_NODE, ZONE, Provisioner
from tests.gpu_scheduler.running import Namespace, Scheduler, gpu_nodes, own_namespace, pod, scheduler

pytestmark = pytest.mark.control_plane

STORAGE = "/apis/storage.k8s.io/v1"
VOLUMES = "/api/v1/persistentvolumes"
ZONES = {"n0": "a", "n1": "b"}
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane of our own with a node in each of two zones."""
    with ControlPlane() as running:
        gpu_nodes(running, *ZONES)
        for name, zone in ZONES.items():
            running.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {ZONE: zone}}})
        yield running


@pytest.fixture
def provisioner(plane: ControlPlane) -> Iterator[Provisioner]:
    with Provisioner(plane.api) as working:
        yield working


@pytest.fixture
def pods(plane: ControlPlane) -> Iterator[Namespace]:
    """A namespace of its own; pods are gone before the next test."""
    with own_namespace(plane) as found:
        yield found


@pytest.fixture
def running(plane: ControlPlane) -> Iterator[Scheduler]:
    with scheduler(plane) as started:
        started.wait_ready()
        yield started


def storage_class(plane: ControlPlane, provisioner: str = NAME, **fields: Any) -> str:
    """Make a class that waits for the first pod, and return its name."""
    name = f"class-{next(NUMBERS)}"
    found = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    plane.api.post(f"{STORAGE}/storageclasses", {**found, **fields})
    return name


def claim(pods: Namespace, name: str, class_name: str, size: str = "1Gi") -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_name,
        "resources": {"requests": {"storage": size}},
    }
    path = f"/api/v1/namespaces/{pods.name}/persistentvolumeclaims"
    pods.plane.api.post(path, {"metadata": {"name": name}, "spec": spec})


def claimed(pods: Namespace, name: str) -> Json:
    return pods.plane.api.get(f"/api/v1/namespaces/{pods.name}/persistentvolumeclaims/{name}")


def volume(plane: ControlPlane, class_name: str, size: str, zone: str) -> str:
    """Make a volume that can be used in one zone, wait until it may be taken, and return its name."""
    name = f"{class_name}-{size.lower()}-{zone}"
    wanted = {"key": ZONE, "operator": "In", "values": [zone]}
    spec = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_name,
        "csi": {"driver": NAME, "volumeHandle": name},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}},
    }
    plane.api.post(VOLUMES, {"metadata": {"name": name}, "spec": spec})
    ready = ("Available", "Bound")  # if somebody waits for it, it is taken at once
    waiting.until(lambda: plane.api.get(f"{VOLUMES}/{name}")["status"].get("phase") in ready, f"{name} ready")
    return name


def using(name: str, *claims: str, **spec: Any) -> Json:
    volumes = [{"name": found, "persistentVolumeClaim": {"claimName": found}} for found in claims]
    return pod(name, volumes=volumes, **spec)


def test_a_claim_gets_its_volume_made_where_the_pod_goes(
    plane: ControlPlane, provisioner: Provisioner, running: Scheduler, pods: Namespace
) -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    claim(pods, "data", storage_class(plane, allowedTopologies=allowed))
    pods.create(using("p", "data"))
    pods.wait_bound(1)

    found = claimed(pods, "data")
    assert pods.places() == {"p": "n1"}
    assert (found["status"]["phase"], found["metadata"]["annotations"][SELECTED_NODE]) == ("Bound", "n1")
    waiting.until(lambda: bool(pods.events("p", "Scheduled")), "the event")


def test_a_claim_takes_the_smallest_volume_that_fits_and_the_pod_goes_there(
    plane: ControlPlane, running: Scheduler, pods: Namespace
) -> None:
    local = storage_class(plane, "kubernetes.io/no-provisioner")
    volume(plane, local, "1Gi", "a")
    fitting = volume(plane, local, "3Gi", "b")
    claim(pods, "data", local, "2Gi")
    pods.create(using("p", "data"))
    pods.wait_bound(1)

    assert pods.places() == {"p": "n1"}
    assert claimed(pods, "data")["spec"]["volumeName"] == fitting
    written = plane.api.get(f"{VOLUMES}/{fitting}")
    assert written["spec"]["claimRef"]["uid"] == claimed(pods, "data")["metadata"]["uid"]
    assert written["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"


def test_many_pods_at_once_never_take_the_same_volume(plane: ControlPlane, running: Scheduler, pods: Namespace) -> None:
    local = storage_class(plane, "kubernetes.io/no-provisioner")
    names = {volume(plane, local, f"{number + 1}Gi", "ab"[number % 2]) for number in range(8)}
    for number in range(8):
        claim(pods, f"data-{number}", local)
    pods.create(*(using(f"p{number}", f"data-{number}", gpus=0) for number in range(8)))
    pods.wait_bound(8)

    assert {claimed(pods, f"data-{number}")["spec"]["volumeName"] for number in range(8)} == names


def test_a_pod_waits_for_a_volume_and_is_told_why(plane: ControlPlane, running: Scheduler, pods: Namespace) -> None:
    local = storage_class(plane, "kubernetes.io/no-provisioner")
    claim(pods, "data", local)
    pods.create(using("p", "data"))
    message = pods.wait_condition("p", "Unschedulable")["message"]
    assert message.startswith("0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.")

    volume(plane, local, "1Gi", "a")
    pods.wait_bound(1)
    assert pods.places() == {"p": "n0"}


def test_a_pod_whose_claim_comes_later_is_woken_by_it(
    plane: ControlPlane, provisioner: Provisioner, running: Scheduler, pods: Namespace
) -> None:
    pods.create(using("p", "data"))
    message = pods.wait_condition("p", "Unschedulable")["message"]
    assert message == '0/2 nodes are available: persistentvolumeclaim "data" not found. not found'

    claim(pods, "data", storage_class(plane))
    pods.wait_bound(1)


def test_a_claim_that_is_given_back_is_tried_elsewhere(
    plane: ControlPlane, provisioner: Provisioner, running: Scheduler, pods: Namespace
) -> None:
    """A provisioner that cannot make the volume takes the node off the claim; the pod is then placed anew."""
    provisioner.refusing.add("n0")
    claim(pods, "data", storage_class(plane))
    pods.create(using("first", "data", gpus=0, nodeSelector={ZONE: "a"}))
    message = pods.wait_condition("first", "SchedulerError")["message"]

    assert message == 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"'
    provisioner.refusing.clear()
    pods.wait_bound(1)
    assert pods.places() == {"first": "n0"}


def test_volumes_that_do_not_come_in_time_fail_the_attempt_and_free_the_place(
    plane: ControlPlane, provisioner: Provisioner, pods: Namespace
) -> None:
    provisioner.idle = True
    binding = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 2}}
    profile = {"schedulerName": "gpu-scheduler", "pluginConfig": [binding]}
    claim(pods, "data", storage_class(plane))
    with scheduler(plane, profiles=[profile]) as running:
        running.wait_ready()
        pods.create(using("slow", "data", gpus=8))
        said = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
        assert pods.wait_condition("slow", "SchedulerError")["message"] == said
        provisioner.idle = False
        pods.wait_bound(1)


def test_one_pod_alone_uses_a_claim_for_one_pod(
    plane: ControlPlane, provisioner: Provisioner, running: Scheduler, pods: Namespace
) -> None:
    spec = {
        "accessModes": ["ReadWriteOncePod"],
        "storageClassName": storage_class(plane),
        "resources": {"requests": {"storage": "1Gi"}},
    }
    pods.plane.api.post(
        f"/api/v1/namespaces/{pods.name}/persistentvolumeclaims", {"metadata": {"name": "own"}, "spec": spec}
    )
    pods.create(using("first", "own"))
    pods.wait_bound(1)
    pods.create(using("second", "own"))
    message = pods.wait_condition("second", "Unschedulable")["message"]

    assert "ReadWriteOncePod access mode already in-use by another pod" in message
