"""From `kubectl apply` to a node, or to a message that says why not, with every part of the product real."""

from collections import Counter

import pytest

from tests.control_plane import waiting
from tests.control_plane.bundle import MANIFESTS, Bundle
from tests.e2e import objects

pytestmark = pytest.mark.control_plane

COST = "controller.kubernetes.io/pod-deletion-cost"


def test_six_replicas_are_mutated_and_run_on_nodes_of_their_model(bundle: Bundle) -> None:
    bundle.plane.kubectl("apply", "-f", MANIFESTS / "examples" / "deployment.yaml")
    waiting.until(lambda: objects.bound(objects.pods(bundle, "app=inference"), 6), "six replicas running")
    found = objects.pods(bundle, "app=inference")
    assert {pod["spec"]["schedulerName"] for pod in found} == {"gpu-scheduler"}
    assert {pod["metadata"]["annotations"][COST] for pod in found} == {"-50"}
    on = Counter(pod["spec"]["nodeName"] for pod in found)
    assert sum(on.values()) == 6
    assert set(on) <= {"a100-0", "a100-1"}
    assert max(on.values()) <= 4
    assert "rolled out" in bundle.plane.kubectl("rollout", "status", "deployment/inference", "--timeout=20s").stdout
    bundle.plane.kubectl("delete", "deployment", "inference")
    waiting.until(lambda: not objects.pods(bundle, "app=inference"), "the replicas gone")


def test_a_bound_pod_has_the_event_of_kube_scheduler(bundle: Bundle) -> None:
    objects.apply(bundle, objects.pod("assigned", model="H100"))
    waiting.until(lambda: bool(objects.events(bundle, "assigned")), "an event")
    event = objects.events(bundle, "assigned")[0]
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Scheduled", "Binding")
    assert event["note"] == "Successfully assigned default/assigned to h100-0"
    assert event["reportingController"] == "gpu-scheduler"
    bundle.plane.kubectl("delete", "pod", "assigned")


def test_what_the_examples_call_refused_is_refused_with_path_value_and_form(bundle: Bundle) -> None:
    done = bundle.plane.kubectl("apply", "-f", MANIFESTS / "examples" / "refused.yaml", check=False)
    assert done.returncode == 1
    assert 'metadata.annotations[gpu.nvidia.com/fraction]: Invalid value: "1.5": must be 0.01 to 1' in done.stderr
    assert 'metadata.annotations[gpu.nvidia.com/model]: Invalid value: "A100": needs a container' in done.stderr
    assert 'spec.template.metadata.annotations[gpu.nvidia.com/memory]: Invalid value: "0": must be' in done.stderr
    assert "created" not in done.stdout


def test_only_the_webhook_knows_the_models_and_names_the_nearest(bundle: Bundle) -> None:
    said = objects.apply(bundle, objects.pod("misspelt", model="H1000"), check=False)
    assert 'admission webhook "' in said
    assert 'denied the request: metadata.annotations[gpu.nvidia.com/model]: Invalid value: "H1000"' in said
    assert "nearest known: H100" in said


def test_the_policy_speaks_first_where_it_is_bound(bundle: Bundle, request: pytest.FixtureRequest) -> None:
    said = objects.apply(bundle, objects.pod("fraction", fraction="2"), check=False)
    policy = "ValidatingAdmissionPolicy" in said
    assert policy == ("[policy]" in request.node.name)
    assert 'metadata.annotations[gpu.nvidia.com/fraction]: Invalid value: "2": must be 0.01 to 1' in said


def test_a_cost_that_the_api_server_refuses_is_left_to_it(bundle: Bundle) -> None:
    body = objects.pod("cost", model="H100")
    body["metadata"]["annotations"][COST] = "007"
    assert 'Invalid value: "007": must be a 32bit integer' in objects.apply(bundle, body, check=False)


def test_an_unknown_key_is_a_warning_that_kubectl_shows(bundle: Bundle) -> None:
    said = objects.apply(bundle, objects.pod("typo", model="H100", memroy="40Gi"))
    assert "Warning: metadata.annotations[gpu.nvidia.com/memroy]: unknown key" in said
    bundle.plane.kubectl("delete", "pod", "typo")


def test_a_pod_without_gpu_annotations_never_meets_the_webhook(bundle: Bundle) -> None:
    objects.apply(bundle, objects.pod("plain", gpus=0))
    found = objects.read(bundle, "plain")
    assert found["spec"]["schedulerName"] == "default-scheduler"
    assert COST not in found["metadata"].get("annotations", {})
    bundle.plane.kubectl("delete", "pod", "plain")


def test_a_pod_that_fits_nowhere_says_so_in_event_and_condition(bundle: Bundle) -> None:
    reasons = ("1 Node does not have GPU", "1 node(s) didn't match GPU model", "2 Insufficient nvidia.com/gpu")
    useless = "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
    expected = f"0/4 nodes are available: {', '.join(reasons)}. {useless}"
    objects.apply(bundle, objects.pod("too-big", gpus=6, model="A100"))
    waiting.until(lambda: bool(objects.events(bundle, "too-big")), "an event")
    event = objects.events(bundle, "too-big")[0]
    assert (event["type"], event["reason"], event["note"]) == ("Warning", "FailedScheduling", expected)
    conditions = objects.read(bundle, "too-big")["status"]["conditions"]
    (condition,) = [found for found in conditions if found["type"] == "PodScheduled"]
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", expected)
    bundle.plane.kubectl("delete", "pod", "too-big")


def test_a_pending_pod_runs_as_soon_as_room_is_made(bundle: Bundle) -> None:
    objects.apply(bundle, objects.pod("holder", gpus=8, model="H100"))
    waiting.until(lambda: objects.bound([objects.read(bundle, "holder")], 1), "holder running")
    objects.apply(bundle, objects.pod("waiter", gpus=8, model="H100"))
    waiting.until(lambda: bool(objects.events(bundle, "waiter")), "waiter rejected")
    bundle.plane.kubectl("delete", "pod", "holder")
    waiting.until(lambda: objects.bound([objects.read(bundle, "waiter")], 1), "waiter running")
    bundle.plane.kubectl("delete", "pod", "waiter")
