"""The scheduler reads a pod with every model name that admission lets through, and never finds one malformed."""

import pytest

from cluster_model import gpu_annotations, pod
from cluster_model.gpu_models import KnownModels
from cluster_model.pod import PendingPod
from cluster_model.request import Rules, parse
from tests.build import raw_pod

NAMES = ("A100", "a100-80gb", "RTX 9090", "B900,A100", "x", "Foo_Bar-3 2", "A100-80BG", "RTX-9090-48GB,H100")
# What an administrator may tell the webhook.
ADMITTING = (Rules(), Rules(KnownModels.extended(["RTX-9090", "B900"])), Rules(allow_unknown_models=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("admitting", ADMITTING)
@pytest.mark.parametrize("extras", [(), ("RTX-9090",)])
def test_what_is_admitted_is_understood(name: str, admitting: Rules, extras: tuple[str, ...]) -> None:
    asking = raw_pod(gpu=1, model=name)
    admitted = not parse(asking, admitting).problems

    found = PendingPod.read(asking, pod.rules(extras)).request

    assert not admitted or (found.problems == () and found.gpu.models)


def test_a_model_of_the_configuration_is_read_by_the_name_that_nodes_get() -> None:
    found = PendingPod.read(raw_pod(gpu=1, model="rtx 9090 48gb"), pod.rules(("RTX-9090",))).request

    assert found.gpu.models == (gpu_annotations.ModelRequest("RTX-9090", 48 * 1024),)


def test_an_unknown_model_is_no_mistake_but_a_malformed_name_is() -> None:
    assert PendingPod.read(raw_pod(gpu=1, model="B900")).request.problems == ()
    assert len(PendingPod.read(raw_pod(gpu=1, model="B900;")).request.problems) == 1


def test_a_pod_on_a_node_asks_for_what_it_asked_for() -> None:
    asking = PendingPod.read(raw_pod(gpu=1))

    assert (asking.on("n").pod.spec.node_name, asking.on("n").request) == ("n", asking.request)
    assert asking.on("n").on("n") == asking.on("n")
