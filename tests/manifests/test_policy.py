"""The ValidatingAdmissionPolicy says what the webhook says, word for word: both are asked for real."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.control_plane.api import ApiError
from tests.manifests.installation import Installation, policy_text
from tests.manifests.objects import KINDS, asking, collection, container, pod, wrap
from webhook.app import create_app

pytestmark = pytest.mark.control_plane

Json = dict[str, Any]
PREFIX = "gpu.nvidia.com/"
CAPACITY = "scheduling.gpu/capacity"
IGNORE = {"gpu.nvidia.com/admission": "ignore"}
OWNER = {"apiVersion": "apps/v1", "name": "owner", "uid": "1", "controller": True}

GOOD_MEMORY = (
    "1",
    "40960",
    "040960",
    "1Ki",
    "40Gi",
    "40G",
    "1.5Gi",
    "0.5M",
    "1k",
    "1Ti",
    "1P",
    "1E",
    "0.0001k",
    "007Mi",
)
BAD_MEMORY = (
    *("", "0", "00", "0Gi", "0.0Gi", "0.000k", "-1", "-40Gi", "+5", "+5Gi", " 1", "1 ", "1.5", "1.", ".5Gi", "1.Gi"),
    *("1e3", "1E3", "1e3Gi", "1m", "1u", "1n", "1K", "1ki", "1gi", "1GB", "1GiB", "40 Gi", "Gi", "abc", "NaN", "1,5Gi"),
    *("0x10", "1_000", "١", "４０", "½", "1Gi\t", 'a"b', "a\\b", "é", "1" * 253 + "x", "x" * 254, "€" * 1000),
)
GOOD_FRACTION = (
    "0.01",
    "0.010",
    "0.011",
    "0.1",
    "0.5",
    "0.50",
    "0.99",
    "0.999999",
    "1",
    "1.0",
    "1.000",
    "0." + "5" * 251,
)
BAD_FRACTION = (
    *(
        "",
        "0",
        "0.0",
        "0.00",
        "0.001",
        "0.009",
        "1.1",
        "1.01",
        "1.5",
        "2",
        "10",
        "-0.5",
        "+0.5",
        ".5",
        "0.",
        "1.",
        "01",
    ),
    *(
        "00.5",
        "5e-1",
        "0.5e0",
        "50%",
        "1/2",
        "0,5",
        " 0.5",
        "0.5 ",
        "half",
        "NaN",
        "inf",
        "٠.٥",
        "0.５",
        "0." + "5" * 252,
    ),
)


@pytest.fixture(scope="module")
def webhook() -> Iterator[FlaskClient]:
    """The webhook's own application, as the base configures it."""
    with create_app().test_client() as client:
        yield client


def webhook_text(client: FlaskClient, kind: str, body: Json, old: Json | None = None) -> str | None:
    """What /validate says of an object; None if it lets it pass."""
    group, _, _ = body["apiVersion"].rpartition("/")
    request = {
        "uid": "1",
        "kind": {"group": group, "version": "v1", "kind": kind},
        "operation": "UPDATE" if old else "CREATE",
        "namespace": "default",
        "object": body,
        "oldObject": old,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    response = json.loads(client.post("/validate", data=json.dumps(review)).data)["response"]
    return None if response["allowed"] else str(response["status"]["message"])


def refusal(installed: Installation, kind: str, body: Json) -> str | None:
    """What the policy says of an object; None if it lets it pass."""
    try:
        installed.plane.api.post(collection(kind, installed.namespace), body)
    except ApiError as error:
        return policy_text(error)
    return None


def both(installed: Installation, client: FlaskClient, kind: str, template: Json, **meta: Any) -> str | None:
    """Ask both, hold them to the same answer, and return it."""
    body = wrap(kind, installed.name(), template)
    body["metadata"] |= meta
    said = refusal(installed, kind, body)
    assert said == webhook_text(client, kind, body)
    return said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["0", "40 Gi", "-1"])
def test_wrong_memory_is_refused_in_every_kind(
    installed: Installation, webhook: FlaskClient, kind: str, value: str
) -> None:
    said = both(installed, webhook, kind, pod({PREFIX + "memory": value}))

    assert said is not None
    assert f'metadata.annotations[gpu.nvidia.com/memory]: Invalid value: "{value}": must be above zero' in said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["0", "1.5", "half"])
def test_wrong_fraction_is_refused_in_every_kind(
    installed: Installation, webhook: FlaskClient, kind: str, value: str
) -> None:
    said = both(installed, webhook, kind, pod({PREFIX + "fraction": value}))

    assert said is not None
    assert said.endswith(f'metadata.annotations[gpu.nvidia.com/fraction]: Invalid value: "{value}": must be 0.01 to 1')


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", ["model", "memory", "zone"])
def test_annotation_without_a_gpu_is_refused_in_every_kind(
    installed: Installation, webhook: FlaskClient, kind: str, key: str
) -> None:
    value = {"model": "A100", "memory": "40Gi"}.get(key, "1")
    said = both(installed, webhook, kind, pod({PREFIX + key: value}, [container()]))

    assert said is not None
    assert f"metadata.annotations[gpu.nvidia.com/{key}]" in said
    assert said.endswith(
        "needs a container that asks for a GPU, such as a limit nvidia.com/gpu: 1, or a gpu.nvidia.com/fraction"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_good_annotations_pass_in_every_kind(installed: Installation, webhook: FlaskClient, kind: str) -> None:
    annotations = {PREFIX + "model": "A100,H100", PREFIX + "memory": "40Gi", PREFIX + "fraction": "0.5"}
    assert both(installed, webhook, kind, pod(annotations)) is None


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "CronJob"])
@pytest.mark.parametrize("value", [*GOOD_MEMORY, *BAD_MEMORY])
def test_memory_is_read_alike(installed: Installation, webhook: FlaskClient, kind: str, value: str) -> None:
    said = both(installed, webhook, kind, pod({PREFIX + "memory": value}))
    assert (said is None) == (value in GOOD_MEMORY)


@pytest.mark.parametrize("value", [*GOOD_FRACTION, *BAD_FRACTION])
def test_fraction_is_read_alike(installed: Installation, webhook: FlaskClient, value: str) -> None:
    said = both(installed, webhook, "Pod", pod({PREFIX + "fraction": value}))
    assert (said is None) == (value in GOOD_FRACTION)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["spot", "on-demand", "any", "Spot", "", "x" * 300])
def test_capacity_is_read_alike_with_and_without_a_gpu(
    installed: Installation, webhook: FlaskClient, kind: str, value: str
) -> None:
    for containers in ([container()], [container(gpu="1")]):
        said = both(installed, webhook, kind, pod({CAPACITY: value}, containers))
        assert (said is None) == (value in ("spot", "on-demand", "any"))


def test_a_wrong_capacity_is_told_behind_what_is_wrong_with_gpu_annotations(
    installed: Installation, webhook: FlaskClient
) -> None:
    said = both(installed, webhook, "Deployment", pod({CAPACITY: "cheap", PREFIX + "memory": "0"}))

    assert said is not None
    assert said.endswith(f'[{CAPACITY}]: Invalid value: "cheap": must be one of: spot, on-demand, any]')


@pytest.mark.parametrize("kind", ["Pod", "StatefulSet", "CronJob"])
@pytest.mark.parametrize(
    "annotations",
    [
        {"memory": "0", "fraction": "2"},
        {"memory": "0", "model": "A100"},
        {"memory": "x", "zone": "a"},
        {"zone": "b", "a": "c", "fraction-of": "1"},
        {"memory": "0", "fraction": "2", "model": "A100", "zone": "1"},
    ],
)
def test_several_problems_are_told_together(
    installed: Installation, webhook: FlaskClient, kind: str, annotations: dict[str, str]
) -> None:
    """With and without a GPU: same problems, same order, same brackets."""
    named = {PREFIX + key: value for key, value in annotations.items()}

    assert both(installed, webhook, kind, pod(named, [container()])) is not None
    both(installed, webhook, kind, pod(named))


@pytest.mark.parametrize(
    ("resource", "amount", "is_gpu"),
    [
        ("nvidia.com/gpu", "1", True),
        ("nvidia.com/gpu", "0", False),
        ("nvidia.com/gpu.shared", "1", True),
        ("nvidia.com/gpu-10gb", "2", True),
        ("nvidia.com/mig-1g.10gb", "1", True),
        ("nvidia.com/gpumem", "3000", True),
        ("volcano.sh/vgpu-memory", "1k", True),
        ("amd.com/gpu", "1", False),
        ("nvidia.com/gpux", "1", False),
        ("cpu", "1", False),
    ],
)
def test_what_asks_for_a_gpu_is_read_alike(
    installed: Installation, webhook: FlaskClient, resource: str, amount: str, is_gpu: bool
) -> None:
    template = pod({PREFIX + "model": "A100"}, [container(), asking(resource, amount) | {"name": "second"}])
    assert (both(installed, webhook, "Deployment", template) is None) == is_gpu


def test_gpu_of_an_init_container_and_a_claim_count(installed: Installation, webhook: FlaskClient) -> None:
    claims = [{"name": "gpu", "resourceClaimName": "gpu"}]

    assert (
        both(installed, webhook, "Pod", pod({PREFIX + "model": "A100"}, [container()], resourceClaims=claims)) is None
    )
    init = [container("init", gpu="1")]
    assert both(installed, webhook, "Pod", pod({PREFIX + "model": "A100"}, [container()], initContainers=init)) is None


@pytest.mark.parametrize("kind", ["Pod", "Job", "CronJob"])
@pytest.mark.parametrize(
    "spec",
    [
        {"os": {"name": "windows"}},
        {"nodeSelector": {"kubernetes.io/os": "windows"}},
        {"nodeSelector": {"beta.kubernetes.io/os": "windows"}},
        {"tolerations": [{"key": "virtual-kubelet.io/provider", "operator": "Exists"}]},
    ],
    ids=["os", "selector", "old-selector", "virtual-node"],
)
def test_the_same_pods_are_left_alone(
    installed: Installation, webhook: FlaskClient, kind: str, spec: dict[str, Any]
) -> None:
    assert both(installed, webhook, kind, pod({PREFIX + "memory": "0"}, **spec)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_labels_opt_out(installed: Installation, webhook: FlaskClient, kind: str) -> None:
    """On the object and on its template."""
    wrong = pod({PREFIX + "memory": "0"})
    labelled = {**wrong, "metadata": {**wrong["metadata"], "labels": IGNORE}}

    assert both(installed, webhook, kind, wrong, labels=IGNORE) is None
    assert both(installed, webhook, kind, labelled) is None


@pytest.mark.parametrize(
    ("kind", "owner", "is_judged"),
    [
        ("Pod", "DaemonSet", False),
        ("Pod", "ReplicaSet", True),
        ("Pod", "Job", True),
        ("ReplicaSet", "Deployment", False),
        ("Job", "CronJob", True),
    ],
)
def test_the_same_owned_objects_are_left_alone(
    installed: Installation, webhook: FlaskClient, kind: str, owner: str, is_judged: bool
) -> None:
    said = both(installed, webhook, kind, pod({PREFIX + "memory": "0"}), ownerReferences=[OWNER | {"kind": owner}])
    assert (said is not None) == is_judged


def test_mirror_pods_are_left_alone(installed: Installation, webhook: FlaskClient) -> None:
    mirror = pod({PREFIX + "memory": "0", "kubernetes.io/config.mirror": "x"}, nodeName="node-1")
    assert both(installed, webhook, "Pod", mirror) is None


@pytest.mark.parametrize("namespace", ["kube-system", "kube-node-lease", "gpu-scheduler"])
def test_the_systems_namespaces_are_left_alone(installed: Installation, namespace: str) -> None:
    installed.create("Deployment", pod({PREFIX + "memory": "0"}), namespace)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1\n2", r'"1\n2"'),
        ("\r\t", r'"\r\t"'),
        ('"1"', r'"\"1\""'),
        ("\\n", r'"\\n"'),
        ("'1'", "\"'1'\""),
        ("\x01\x1f\x7f", r'"\x01\x1f\x7f"'),
    ],
)
@pytest.mark.parametrize("key", ["memory", "fraction", "zone"])
def test_values_are_quoted_alike(
    installed: Installation, webhook: FlaskClient, key: str, value: str, shown: str
) -> None:
    """A raw line break would make the API server say a general sentence instead."""
    said = both(installed, webhook, "Pod", pod({PREFIX + key: value}, [container()]))

    assert said is not None
    assert f"metadata.annotations[gpu.nvidia.com/{key}]: Invalid value: {shown}: " in said


@pytest.mark.parametrize("kind", KINDS)
def test_update_is_judged_by_what_is_new(installed: Installation, webhook: FlaskClient, kind: str) -> None:
    """An object that was wrong before the policy came can be changed; another wrong value cannot come in."""
    api, old = installed.plane.api, wrap(kind, installed.name(), pod({PREFIX + "memory": "0"}))
    old["metadata"]["labels"] = IGNORE
    if kind == "Job":
        old["spec"]["suspend"] = True  # the template of a suspended Job can be changed
    stored = api.post(collection(kind, installed.namespace, dry_run=False), old)
    path = f"{collection(kind, installed.namespace, dry_run=False)}/{stored['metadata']['name']}"

    same, other = changed(stored, "0"), changed(stored, "00")
    api.put(f"{path}?dryRun=All", same)
    assert webhook_text(webhook, kind, same, stored) is None
    with pytest.raises(ApiError) as refused:
        api.put(f"{path}?dryRun=All", other)
    assert policy_text(refused.value) == webhook_text(webhook, kind, other, stored)


def changed(stored: Json, memory: str) -> Json:
    """The object without the label that opts it out, with another amount of memory."""
    body: Json = json.loads(
        json.dumps(stored).replace('"gpu.nvidia.com/memory": "0"', f'"gpu.nvidia.com/memory": "{memory}"')
    )
    body["metadata"]["labels"] = {"changed": "yes"}
    del body["metadata"]["resourceVersion"]  # controllers write to it too
    return body


def test_what_is_being_deleted_is_left_alone(installed: Installation) -> None:
    """Or its finalizer could never be removed."""
    api, body = installed.plane.api, wrap("Pod", installed.name(), pod({PREFIX + "memory": "40Gi"}))
    body["metadata"]["finalizers"] = ["example.com/wait"]
    path = f"{collection('Pod', installed.namespace, dry_run=False)}/{body['metadata']['name']}"
    api.post(collection("Pod", installed.namespace, dry_run=False), body)
    api.delete(path)

    api.patch(path, {"metadata": {"annotations": {PREFIX + "memory": "0"}, "finalizers": None}})


def test_policy_type_checks_for_every_kind(installed: Installation) -> None:
    """No warning for any kind: a misspelt field would be one."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/gpu-scheduler"
    status = installed.plane.api.get(path)["status"]

    assert status["observedGeneration"] == 1
    assert not status["typeChecking"].get("expressionWarnings")
