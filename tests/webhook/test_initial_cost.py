"""Which pods start with a deletion cost: as the pod says, else its namespace, else whether our scheduler gets it."""

import pytest

from tests.webhook.build import COST, MODEL, Json, ask, patch, pod, review
from webhook.config import Config
from webhook.patches import apply

SWITCH = "scheduling.gpu/deletion-cost"
ON, OFF, SILENT = "/mutate/deletion-cost-on", "/mutate/deletion-cost-off", "/mutate"
GPU, PLAIN = {MODEL: "A100"}, {"example.com/owner": "me"}


def changed(path: str, body: Json, config: Config | None = None) -> Json:
    """The pod as it is after the webhook."""
    return apply(tuple(patch(ask(path, review(body), config))), body)


def cost(path: str, body: Json) -> str | None:
    """The pod's cost after the webhook."""
    found: str | None = changed(path, body)["metadata"].get("annotations", {}).get(COST)
    return found


def owned(kind: str, annotations: Json | None = None, *, controller: bool = True) -> Json:
    """A pod that a workload of a kind has made."""
    body = pod(annotations)
    body["metadata"]["ownerReferences"] = [{"kind": kind, "name": "w", "controller": controller}]
    return body


@pytest.mark.parametrize(
    ("path", "annotations", "expected"),
    [
        (SILENT, GPU, "-50"),
        (SILENT, PLAIN, None),
        (SILENT, PLAIN | {SWITCH: "on"}, "-50"),
        (SILENT, GPU | {SWITCH: "off"}, None),
        (SILENT, PLAIN | {SWITCH: "yes"}, None),
        (ON, GPU, "-50"),
        (ON, PLAIN, "-50"),
        (ON, None, "-50"),
        (ON, PLAIN | {SWITCH: "off"}, None),
        (ON, GPU | {SWITCH: "off"}, None),
        (ON, PLAIN | {SWITCH: "yes"}, "-50"),
        (OFF, GPU, None),
        (OFF, PLAIN, None),
        (OFF, PLAIN | {SWITCH: "on"}, "-50"),
        (OFF, GPU | {SWITCH: "on"}, "-50"),
    ],
)
def test_the_pod_s_word_goes_before_its_namespace_s(path: str, annotations: Json | None, expected: str | None) -> None:
    assert cost(path, owned("ReplicaSet", annotations)) == expected


@pytest.mark.parametrize("path", [SILENT, ON, OFF])
def test_the_switch_moves_no_pod_to_another_scheduler(path: str) -> None:
    on, off = pod(PLAIN | {SWITCH: "on"}), pod(GPU | {SWITCH: "off"})

    assert changed(path, on)["spec"]["schedulerName"] == "default-scheduler"
    assert changed(path, off)["spec"]["schedulerName"] == "gpu-scheduler"


@pytest.mark.parametrize("path", [SILENT, ON])
@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "DaemonSet"])
def test_pods_whose_controller_never_looks_at_it_get_none(path: str, kind: str) -> None:
    assert cost(path, owned(kind, GPU)) is None
    assert cost(path, owned(kind, GPU | {SWITCH: "on"})) is None


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController", "CloneSet"])
def test_pods_of_other_controllers_get_one(kind: str) -> None:
    assert cost(ON, owned(kind)) == "-50"
    assert cost(ON, owned("Job", controller=False)) == "-50"


@pytest.mark.parametrize("spec", [{"schedulerName": "volcano"}, {"nodeName": "n1"}])
def test_a_pod_of_another_scheduler_gets_it_if_it_is_wished(spec: Json) -> None:
    """The warning stays: the pod does bypass our scheduler."""
    asked = ask(ON, review(pod(GPU, **spec)))

    assert [step["path"] for step in patch(asked)] == [
        "/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost"
    ]
    assert len(asked["warnings"]) == 1
    assert cost(SILENT, pod(GPU, **spec)) is None


def test_a_value_that_is_there_stays() -> None:
    assert cost(ON, owned("ReplicaSet", {COST: "7"})) == "7"


def test_a_second_look_says_nothing() -> None:
    again = ask(ON, review(changed(ON, owned("ReplicaSet", PLAIN))))

    assert again == {"uid": again["uid"], "allowed": True}


def test_where_the_webhook_writes_no_costs_the_switch_changes_nothing() -> None:
    assert changed(ON, owned("ReplicaSet", PLAIN), Config(initial_deletion_cost=None)) == owned("ReplicaSet", PLAIN)


def test_pods_that_are_left_alone_get_none() -> None:
    body = owned("ReplicaSet", PLAIN)
    body["metadata"]["labels"] = {"gpu.nvidia.com/admission": "ignore"}

    assert cost(ON, body) is None
