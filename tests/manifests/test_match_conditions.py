"""Which requests reach the webhook: every condition tried on the real API server, for every kind.

An expression that errs is skipped in silence (failurePolicy Ignore), so only a call that arrives proves one.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cluster_model import gpu_names
from tests.control_plane import waiting
from tests.manifests import rendering
from tests.manifests.installation import Installation, paths
from tests.manifests.objects import KINDS, asking, collection, container, pod, wrap

control_plane = pytest.mark.control_plane
every_kind = pytest.mark.parametrize("kind", KINDS)

MODEL = {"gpu.nvidia.com/model": "A100"}
UNRELATED = {"example.com/owner": "me", "controller.kubernetes.io/pod-deletion-cost": "5", "nvidia.com/gpu": "1"}
GPU_NAMES = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/gpu-10gb",
    "nvidia.com/mig-1g.10gb",
    "nvidia.com/mig-1g.5gb.me",
    "nvidia.com/gpumem",
    "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores",
    "nvidia.com/vgpu",
    "aliyun.com/gpu-mem",
    "volcano.sh/vgpu-memory",
    "volcano.sh/gpu-memory",
    "koordinator.sh/gpu-core",
    "koordinator.sh/gpu.shared",
    "tencent.com/vcuda-memory",
    "org.instaslice/mig-1g.5gb",
    "4pd.io/vgpu",
    "deviceclass.resource.kubernetes.io/gpu.nvidia.com",
)
OTHER_NAMES = ("amd.com/gpu", "example.com/gpu", "nvidia.com/gpux", "nvidia.com/hostdev", "smarter-devices/fuse", "cpu")
OWNER = {"apiVersion": "apps/v1", "name": "owner", "uid": "1", "controller": True}


def called(kind: str) -> tuple[str, ...]:
    return ("/mutate", "/validate") if kind == "Pod" else ("/validate",)


@control_plane
@every_kind
@pytest.mark.parametrize("key", ["model", "memory", "fraction", "any-other"])
def test_annotated_object_reaches_the_webhook(installed: Installation, kind: str, key: str) -> None:
    values = {"memory": "40Gi", "fraction": "0.5"}
    template = pod({f"gpu.nvidia.com/{key}": values.get(key, "A100")})

    assert installed.reached(kind, template) == paths(*called(kind))


@control_plane
@every_kind
def test_an_object_that_only_says_something_of_its_capacity_is_judged_and_not_changed(
    installed: Installation, kind: str
) -> None:
    template = pod({"scheduling.gpu/capacity": "spot"}, [container()])
    assert installed.reached(kind, template) == paths("/validate")
    assert installed.reached(kind, pod({"scheduling.gpu/zone": "spot"}, [container()])) == set()


@control_plane
@every_kind
@pytest.mark.parametrize("annotations", [None, {}, UNRELATED], ids=["absent", "empty", "unrelated"])
def test_gpu_pod_without_our_annotations_reaches_only_the_wider_webhook(
    installed: Installation, kind: str, annotations: dict[str, str] | None
) -> None:
    assert installed.reached(kind, pod(annotations)) == paths(every=called(kind))


@control_plane
@every_kind
@pytest.mark.parametrize("annotations", [None, UNRELATED], ids=["absent", "unrelated"])
def test_plain_pod_reaches_nothing(installed: Installation, kind: str, annotations: dict[str, str] | None) -> None:
    """Without limits, and with limits that are no GPUs."""
    assert installed.reached(kind, pod(annotations, [container()])) == set()
    assert installed.reached(kind, pod(annotations, [asking("cpu")])) == set()


@control_plane
@every_kind
def test_annotation_of_the_workload_itself_is_not_its_pods(installed: Installation, kind: str) -> None:
    """The template counts; for a pod both are one."""
    template = pod(None, [container()])
    if kind != "Pod":
        assert installed.reached(kind, template, annotations=MODEL) == set()


@control_plane
@pytest.mark.parametrize("kind", ["Pod", "Deployment", "CronJob"])
def test_many_containers_stay_within_the_cost_limit(installed: Installation, kind: str) -> None:
    """100 containers with 100 variables each; the last one asks for the GPU."""
    env = [{"name": f"VARIABLE_{number}", "value": "x" * 20} for number in range(100)]
    amounts = {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}}
    crowd = [{**container(f"c{number}"), "env": env, **amounts} for number in range(99)]

    assert installed.reached(kind, pod(MODEL, [*crowd, container(gpu="1")])) == paths(*called(kind))
    assert installed.reached(kind, pod(None, [*crowd, container(gpu="1")])) == paths(every=called(kind))
    assert installed.reached(kind, pod(None, crowd)) == set()


@control_plane
@every_kind
def test_gpu_of_an_init_container_counts(installed: Installation, kind: str) -> None:
    template = pod(None, [container()], initContainers=[container("init", gpu="1")])
    assert installed.reached(kind, template) == paths(every=called(kind))


@control_plane
@every_kind
def test_resource_claim_counts(installed: Installation, kind: str) -> None:
    template = pod(None, [container()], resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    assert installed.reached(kind, template) == paths(every=called(kind))


@control_plane
@pytest.mark.parametrize("kind", ["Pod", "Deployment", "CronJob"])
@pytest.mark.parametrize("resource", GPU_NAMES)
def test_every_gpu_resource_reaches_the_wider_webhook(installed: Installation, kind: str, resource: str) -> None:
    assert installed.reached(kind, pod(None, [asking(resource)])) == paths(every=called(kind))
    assert installed.reached(kind, pod(None, [asking(resource, "0")])) == set()


@control_plane
@pytest.mark.parametrize("resource", OTHER_NAMES)
def test_other_resources_reach_nothing(installed: Installation, resource: str) -> None:
    assert installed.reached("Pod", pod(None, [asking(resource)])) == set()


@control_plane
@every_kind
def test_windows_pods_are_left_alone(installed: Installation, kind: str) -> None:
    assert installed.reached(kind, pod(MODEL, os={"name": "windows"})) == set()
    assert installed.reached(kind, pod(MODEL, os={"name": "linux"})) == paths(*called(kind))


@control_plane
@every_kind
@pytest.mark.parametrize("namespace", ["kube-system", "kube-node-lease"])
def test_system_namespaces_are_left_alone(installed: Installation, kind: str, namespace: str) -> None:
    assert installed.reached(kind, pod(MODEL), namespace) == set()


@control_plane
@every_kind
def test_label_opts_an_object_out(installed: Installation, kind: str) -> None:
    assert installed.reached(kind, pod(MODEL), labels={"gpu.nvidia.com/admission": "ignore"}) == set()


@control_plane
def test_label_opts_a_namespace_out(installed: Installation) -> None:
    labels = {"gpu.nvidia.com/admission": "ignore"}
    installed.plane.api.post("/api/v1/namespaces", {"metadata": {"name": "left-alone", "labels": labels}})
    accounts = "/api/v1/namespaces/left-alone/serviceaccounts/default"
    waiting.until(installed.plane.api.probe(accounts), "ServiceAccount")

    assert installed.reached("Pod", pod(MODEL), "left-alone") == set()


def labelled(installed: Installation, value: str) -> str:
    """A namespace that says whether the deletion cost of its pods is kept."""
    name = f"cost-{value}-{installed.name()}"
    labels = {"scheduling.gpu/deletion-cost": value}
    installed.plane.api.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    waiting.until(installed.plane.api.probe(f"/api/v1/namespaces/{name}/serviceaccounts/default"), "ServiceAccount")
    return name


@control_plane
def test_every_pod_of_a_namespace_that_is_switched_on_reaches_an_entry_of_its_own(installed: Installation) -> None:
    namespace = labelled(installed, "on")

    assert installed.reached("Pod", pod(None, [container()]), namespace) == paths("/mutate/deletion-cost-on")
    assert installed.reached("Pod", pod(MODEL), namespace) == paths("/mutate/deletion-cost-on", "/validate")
    daemon = installed.reached("Pod", pod(MODEL), namespace, ownerReferences=[OWNER | {"kind": "DaemonSet"}])
    assert daemon == set()


@control_plane
def test_gpu_pods_of_a_namespace_that_is_switched_off_reach_an_entry_of_their_own(installed: Installation) -> None:
    namespace = labelled(installed, "off")

    assert installed.reached("Pod", pod(None, [container()]), namespace) == set()
    assert installed.reached("Pod", pod(MODEL), namespace) == paths("/mutate/deletion-cost-off", "/validate")


@control_plane
def test_a_pod_that_is_switched_on_itself_reaches_the_webhook_without_a_gpu(installed: Installation) -> None:
    on, off, neither = (pod({"scheduling.gpu/deletion-cost": word}, [container()]) for word in ("on", "off", "x"))

    assert installed.reached("Pod", on) == paths("/mutate")
    assert installed.reached("Pod", on, labelled(installed, "off")) == paths("/mutate/deletion-cost-off")
    assert installed.reached("Pod", off) == installed.reached("Pod", neither) == set()


@control_plane
def test_pods_of_a_daemon_set_are_left_alone(installed: Installation) -> None:
    owned = installed.reached("Pod", pod(MODEL), ownerReferences=[OWNER | {"kind": "DaemonSet"}])
    assert owned == set()


@control_plane
@pytest.mark.parametrize("kind", ["ReplicaSet", "Job", "StatefulSet"])
def test_pods_of_other_controllers_are_judged(installed: Installation, kind: str) -> None:
    owned = installed.reached("Pod", pod(MODEL), ownerReferences=[OWNER | {"kind": kind}])
    assert owned == paths(*called("Pod"))


@control_plane
def test_mirror_pods_are_left_alone(installed: Installation) -> None:
    mirror = pod(MODEL | {"kubernetes.io/config.mirror": "x"}, nodeName="node-1")
    assert installed.reached("Pod", mirror) == set()


@control_plane
@pytest.mark.parametrize(("group", "called"), [("system:nodes", set()), ("others", paths("/mutate", "/validate"))])
def test_pods_made_by_nodes_are_left_alone(installed: Installation, group: str, called: set[str]) -> None:
    name = installed.name()
    someone = ["--as=someone", f"--as-group={group}", "--as-group=system:masters"]
    body = json.dumps(wrap("Pod", name, pod(MODEL)))
    installed.plane.kubectl("create", "--dry-run=server", *someone, "-f", "-", input=body)

    assert installed.echo.paths(name) == called


@control_plane
def test_owned_replica_sets_are_left_alone(installed: Installation) -> None:
    owned = installed.reached("ReplicaSet", pod(MODEL), ownerReferences=[OWNER | {"kind": "Deployment"}])
    assert owned == set()


@control_plane
def test_deployment_is_judged_itself_and_in_its_pods(installed: Installation) -> None:
    """With the real controllers: the ReplicaSet between them is not."""
    name = installed.name()
    installed.plane.api.post("/apis/apps/v1/namespaces/default/deployments", wrap("Deployment", name, pod(MODEL)))

    def calls() -> set[tuple[str, str]]:
        ours = [call for call in installed.echo.all() if call.name.startswith(name) and "/every" not in call.path]
        return {(call.kind, call.path) for call in ours}

    waiting.until(lambda: ("Pod", "/validate") in calls(), "the Deployment's pod admitted")
    assert calls() == {("Deployment", "/validate"), ("Pod", "/mutate"), ("Pod", "/validate")}


@control_plane
@every_kind
def test_update_is_validated_and_never_mutated(installed: Installation, kind: str) -> None:
    path, body = stored(installed, kind, pod(MODEL))
    installed.plane.api.patch(path, {"metadata": {"labels": {"changed": "yes"}}})

    updates = {call.path for call in installed.echo.calls(body["metadata"]["name"]) if call.operation == "UPDATE"}
    assert updates == paths("/validate")


@control_plane
def test_removal_of_the_annotations_reaches_nothing(installed: Installation) -> None:
    """What is no longer annotated needs no judgement; the wider webhook goes by the GPU."""
    path, body = stored(installed, "Pod", pod(MODEL))
    installed.plane.api.patch(path, {"metadata": {"annotations": {"gpu.nvidia.com/model": None}}})

    updates = {call.path for call in installed.echo.calls(body["metadata"]["name"]) if call.operation == "UPDATE"}
    assert updates == paths(every=["/validate"])


@control_plane
def test_status_and_binding_traffic_reaches_nothing(installed: Installation) -> None:
    path, body = stored(installed, "Pod", pod(MODEL))
    before = len(installed.echo.calls(body["metadata"]["name"]))
    installed.plane.api.patch(f"{path}/status", {"status": {"message": "x"}})
    binding = {"metadata": {"name": body["metadata"]["name"]}, "target": {"kind": "Node", "name": "node-1"}}
    installed.plane.api.post(f"{path}/binding", binding)

    assert len(installed.echo.calls(body["metadata"]["name"])) == before


def stored(installed: Installation, kind: str, template: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Create an object for good; return its path and what was sent."""
    body = wrap(kind, installed.name(), template)
    path = collection(kind, installed.namespace, dry_run=False)
    installed.plane.api.post(path, body)
    return f"{path}/{body['metadata']['name']}", body


def expressions() -> list[str]:
    """Every expression of the rendered manifests that knows the names of GPU resources."""
    found = []
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        entries = rendering.only(rendering.overlay("every-gpu-pod"), kind)["webhooks"]
        found += [condition["expression"] for entry in entries for condition in entry["matchConditions"]]
    policy = rendering.only(rendering.overlay("every-gpu-pod"), "ValidatingAdmissionPolicy", "gpu-scheduler")["spec"]
    found += [variable["expression"] for variable in policy["variables"]]
    return [expression for expression in found if "quantity(" in expression]


def patterns() -> set[str]:
    return {match for expression in expressions() for match in re.findall(r"name\.matches\(\s*'([^']*)'", expression)}


@given(st.one_of(st.sampled_from(GPU_NAMES + OTHER_NAMES), st.from_regex(r"[a-z0-9]{1,9}\.(com|io)/[a-z.0-9-]{1,12}")))
@example("nvidia.com/gpu-10GB")
def test_manifests_and_parser_know_the_same_gpu_resources(name: str) -> None:
    """One pattern in six places, equal to the parser's own idea."""
    [pattern] = patterns()
    assert (re.search(pattern, name) is not None) == gpu_names.asks_for_gpu(name)


def test_pattern_stands_wherever_resources_are_judged() -> None:
    assert len(expressions()) == 6
