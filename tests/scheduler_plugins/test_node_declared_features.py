"""NodeDeclaredFeatures: what a pod's spec needs of a kubelet, and which nodes say that they have it."""

from typing import Any

import pytest

from cluster_model import objects
from scheduler_plugins import node_declared_features, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.node_declared_features import BIND_MOUNT_OPTIONS, RESTART_ALL, USERS_ON_HOST_NETWORK
from tests.build import node, pod, said, snapshot

UNMET = "node(s) didn't match Pod's required features"
PROFILE = registry.profile(filters=("NodeDeclaredFeatures",), scorers=())


def restarting(action: str) -> objects.Container:
    return objects.Container(name="c", restart_policy_rules=(objects.ContainerRestartRule(action=action),))


def mounting(*options: str) -> objects.Container:
    mounts = (objects.VolumeMount(), objects.VolumeMount(bind_mount_options=options))
    return objects.Container(name="c", volume_mounts=mounts)


@pytest.mark.parametrize(
    ("fields", "features"),
    [
        ({}, set()),
        ({"containers": (restarting("RestartAllContainers"),)}, {RESTART_ALL}),
        ({"init_containers": (restarting("RestartAllContainers"),)}, {RESTART_ALL}),
        ({"containers": (restarting("Restart"),)}, set()),
        ({"host_network": True, "host_users": False}, {USERS_ON_HOST_NETWORK}),
        ({"host_network": True, "host_users": True}, set()),
        ({"host_network": True}, set()),
        ({"host_users": False}, set()),
        ({"containers": (mounting("noexec"),)}, {BIND_MOUNT_OPTIONS}),
        ({"init_containers": (mounting("noexec"),)}, {BIND_MOUNT_OPTIONS}),
        ({"containers": (mounting(),)}, set()),
        (
            {"containers": (mounting("noexec"), restarting("RestartAllContainers"))},
            {RESTART_ALL, BIND_MOUNT_OPTIONS},
        ),
    ],
)
def test_features_follow_from_the_spec(fields: dict[str, Any], features: set[str]) -> None:
    assert node_declared_features.required(pod(**fields).pod.spec) == features


def test_node_must_declare_all_that_is_needed_and_may_declare_more() -> None:
    wanted = pod(containers=(mounting("noexec"), restarting("RestartAllContainers")))
    cluster = snapshot(
        node("all", features=(RESTART_ALL, "Other", BIND_MOUNT_OPTIONS)),
        node("one", features=(RESTART_ALL,)),
        node("none"),
    )

    assert said(decide(wanted, cluster, PROFILE)) == {"all": "fits", "one": UNMET, "none": UNMET}


def test_pod_that_needs_nothing_fits_everywhere() -> None:
    assert said(decide(pod(), snapshot(node("n")), PROFILE)) == {"n": "fits"}
