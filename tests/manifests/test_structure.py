"""What holds of every overlay as rendered: pinned, restricted, least privilege, probes, no CA bundle."""

from __future__ import annotations

import configparser
import dataclasses
import re
from pathlib import Path

import pytest

from deletion_cost import config as deletion_cost_config
from gpu_scheduler import config as scheduler_config
from gpu_scheduler import profiles
from tests.manifests import rendering
from tests.manifests.rendering import COMPONENTS, OVERLAYS, Json, of_kind, only, overlay, pods
from webhook import config as webhook_config
from webhook.app import endpoints

CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
SERVERS = ("gpu-scheduler", "gpu-scheduler-deletion-cost", "gpu-scheduler-webhook")
OURS = {"kube-system", "kube-node-lease", "gpu-scheduler"}

every_overlay = pytest.mark.parametrize("name", OVERLAYS)


def containers(objects: tuple[Json, ...]) -> list[Json]:
    return [container for _, spec in pods(objects) for container in spec["containers"]]


def webhooks(objects: tuple[Json, ...]) -> list[Json]:
    return [entry for kind in CONFIGURATIONS for entry in only(objects, kind, "gpu-scheduler")["webhooks"]]


def version() -> str:
    setup = configparser.ConfigParser()
    setup.read(Path(__file__).parents[2] / "setup.cfg")
    return setup["metadata"]["version"]


def test_there_is_an_overlay_for_each_kind_of_cluster() -> None:
    assert set(OVERLAYS) >= {"eks", "every-gpu-pod", "kind", "prod"}


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_component_fits_the_base(component: str, tmp_path: Path) -> None:
    """A component changes what it is applied to: one that matches nothing would be dead text."""
    with_it = rendering.render(rendering.write(tmp_path / "with", components=[component]))
    without = rendering.render(rendering.write(tmp_path / "without"))

    assert with_it != without


def test_examples_render() -> None:
    kinds = [item["kind"] for item in rendering.render(rendering.ROOT / "examples")]
    assert sorted(kinds) == ["CronJob", "Deployment", "Pod"]


@every_overlay
def test_every_image_has_a_fixed_tag(name: str) -> None:
    for container in containers(overlay(name)):
        assert re.fullmatch(r"[a-z0-9./-]+:[0-9]+\.[0-9]+\.[0-9]+", container["image"])


def test_manifests_are_of_the_packages_version() -> None:
    """Image tags, version labels and the install Job's name all say what setup.cfg says."""
    objects = overlay("eks")
    dashed = version().replace(".", "-")

    assert {container["image"].split(":")[1] for container in containers(objects)} == {version()}
    assert {item["metadata"]["labels"]["app.kubernetes.io/version"] for item in objects} == {version()}
    assert only(objects, "Job")["metadata"]["name"].startswith(f"gpu-scheduler-certs-{dashed}-")


@every_overlay
def test_every_container_is_restricted(name: str) -> None:
    for container in containers(overlay(name)):
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}


@every_overlay
def test_every_pod_runs_as_nobody_with_the_runtimes_seccomp_profile(name: str) -> None:
    for _, spec in pods(overlay(name)):
        context = spec["securityContext"]
        assert (context["runAsNonRoot"], context["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
        assert min(context["runAsUser"], context["runAsGroup"]) > 10000
        assert spec["priorityClassName"] == "system-cluster-critical"


@every_overlay
def test_every_container_says_what_it_needs_and_where_it_ends(name: str) -> None:
    for container in containers(overlay(name)):
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


@every_overlay
def test_scratch_space_is_bounded(name: str) -> None:
    volumes = [volume for _, spec in pods(overlay(name)) for volume in spec["volumes"]]
    assert all("sizeLimit" in volume["emptyDir"] for volume in volumes if "emptyDir" in volume)


@every_overlay
def test_servers_are_probed_and_roll_out_without_a_gap(name: str) -> None:
    for server in SERVERS:
        spec = only(overlay(name), "Deployment", server)["spec"]
        [container] = spec["template"]["spec"]["containers"]
        probes = {kind: container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
        assert probes == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
        assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


@every_overlay
def test_probes_and_services_name_ports_that_exist(name: str) -> None:
    webhook = only(overlay(name), "Deployment", "gpu-scheduler-webhook")["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in webhook["ports"]}

    assert ports == {"https": 8443, "health": 8080}
    assert webhook["readinessProbe"]["httpGet"]["port"] == "health"
    assert only(overlay(name), "Service")["spec"]["ports"] == [{"name": "https", "port": 8443, "targetPort": "https"}]


@every_overlay
def test_selectors_meet_the_pods_they_are_for(name: str) -> None:
    """Service and budgets select by labels that the Deployment's pods carry."""
    objects = overlay(name)
    for server in SERVERS:
        labels = only(objects, "Deployment", server)["spec"]["template"]["metadata"]["labels"].items()
        for budget in (item for item in of_kind(objects, "PodDisruptionBudget") if item["metadata"]["name"] == server):
            assert budget["spec"]["selector"]["matchLabels"].items() <= labels
    assert only(objects, "Service")["spec"]["selector"].items() <= labels


@every_overlay
def test_budgets_stand_only_where_a_drain_can_pass(name: str) -> None:
    objects = overlay(name)
    for server in SERVERS:
        is_replicated = only(objects, "Deployment", server)["spec"]["replicas"] > 1
        budgets = [item for item in of_kind(objects, "PodDisruptionBudget") if item["metadata"]["name"] == server]
        assert [budget["spec"]["minAvailable"] for budget in budgets] == ([1] if is_replicated else [])


@every_overlay
def test_webhook_outlives_its_last_connections(name: str) -> None:
    """The grace period covers the preStop pause and gunicorn's graceful timeout of 25 s."""
    spec = only(overlay(name), "Deployment", "gpu-scheduler-webhook")["spec"]["template"]["spec"]
    pause = spec["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]

    assert 10 <= pause <= 15
    assert spec["terminationGracePeriodSeconds"] > pause + 25


@every_overlay
def test_webhook_has_no_token_and_no_rights(name: str) -> None:
    objects = overlay(name)
    pod = only(objects, "Deployment", "gpu-scheduler-webhook")["spec"]["template"]["spec"]

    assert pod["automountServiceAccountToken"] is False
    assert rendering.rules(objects, "gpu-scheduler-webhook") == []


@every_overlay
def test_webhook_mounts_no_ca_key(name: str) -> None:
    pod = only(overlay(name), "Deployment", "gpu-scheduler-webhook")["spec"]["template"]["spec"]
    [tls] = [volume["secret"] for volume in pod["volumes"] if volume["name"] == "tls"]

    assert tls["secretName"] == "gpu-scheduler-webhook-tls"
    assert {item["key"] for item in tls["items"]} == {"tls.crt", "tls.key", "ca.crt"}


@every_overlay
def test_accounts_hand_no_token_to_pods_that_do_not_ask(name: str) -> None:
    assert all(item["automountServiceAccountToken"] is False for item in of_kind(overlay(name), "ServiceAccount"))


@every_overlay
def test_rights_name_each_verb_and_resource(name: str) -> None:
    """No wildcard, no escalation, and no Secret but by name (`create` cannot have one)."""
    for role in (*of_kind(overlay(name), "Role"), *of_kind(overlay(name), "ClusterRole")):
        for rule in role["rules"]:
            assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"]
            assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])
            assert "secrets" not in rule["resources"] or "resourceNames" in rule or rule["verbs"] == ["create"]


@every_overlay
def test_no_ca_bundle_is_rendered(name: str) -> None:
    """An apply must not reset what was written into the cluster."""
    assert all("caBundle" not in entry["clientConfig"] for entry in webhooks(overlay(name)))


@every_overlay
def test_webhooks_let_pass_when_they_fail_and_never_touch_the_system(name: str) -> None:
    for entry in webhooks(overlay(name)):
        assert (entry["failurePolicy"], entry["timeoutSeconds"], entry["sideEffects"]) == ("Ignore", 3, "None")
        assert entry["admissionReviewVersions"] == ["v1"]
        excluded, opted_out, *_ = entry["namespaceSelector"]["matchExpressions"]
        assert set(excluded["values"]) == OURS
        assert entry["objectSelector"]["matchExpressions"] == [opted_out]


@every_overlay
def test_webhooks_call_the_service(name: str) -> None:
    service = only(overlay(name), "Service")
    for entry in webhooks(overlay(name)):
        called = entry["clientConfig"]["service"]
        assert (called["name"], called["namespace"]) == (service["metadata"]["name"], service["metadata"]["namespace"])
        assert called["port"] == service["spec"]["ports"][0]["port"]
        assert called["path"] in {endpoint.path for endpoint in endpoints(webhook_config.Config())}
        assert called["path"].split("/")[1] == ("mutate" if ".mutate." in entry["name"] else "validate")


@every_overlay
def test_each_namespace_meets_one_mutating_entry(name: str) -> None:
    """By its label `scheduling.gpu/deletion-cost`, which a request does not tell; the rest is the same for all."""
    entries = only(overlay(name), "MutatingWebhookConfiguration")["webhooks"]
    by_label = {
        entry["clientConfig"]["service"]["path"]: entry["namespaceSelector"]["matchExpressions"][2:]
        for entry in entries
    }

    key = "scheduling.gpu/deletion-cost"
    assert by_label == {
        "/mutate": [{"key": key, "operator": "NotIn", "values": ["on", "off"]}],
        "/mutate/deletion-cost-on": [{"key": key, "operator": "In", "values": ["on"]}],
        "/mutate/deletion-cost-off": [{"key": key, "operator": "In", "values": ["off"]}],
    }
    wanted = [[one for one in entry["matchConditions"] if one["name"] == "wanted"] for entry in entries]
    assert (wanted[0], wanted[1]) == (wanted[2], [])


@every_overlay
def test_policy_and_webhooks_judge_the_same_objects(name: str) -> None:
    """Same resources, same operations, same selectors."""
    validating = only(overlay(name), "ValidatingWebhookConfiguration")["webhooks"]
    policy = only(overlay(name), "ValidatingAdmissionPolicy", "gpu-scheduler")["spec"]["matchConstraints"]

    assert sorted(map(str, policy["resourceRules"])) == sorted(
        str(rule) for entry in validating for rule in entry["rules"]
    )
    for entry in validating:
        assert entry["namespaceSelector"] == policy["namespaceSelector"]
        assert entry["objectSelector"] == policy["objectSelector"]


def test_policy_denies_and_fails_closed() -> None:
    spec = only(overlay("eks"), "ValidatingAdmissionPolicy", "gpu-scheduler")["spec"]
    binding = only(overlay("eks"), "ValidatingAdmissionPolicyBinding", "gpu-scheduler")["spec"]

    assert spec["failurePolicy"] == "Fail"
    assert binding == {"policyName": "gpu-scheduler", "validationActions": ["Deny"]}


@pytest.mark.parametrize("kind", ["CronJob", "Job"])
def test_certificate_jobs_end(kind: str) -> None:
    """Neither runs for ever; the install Job removes itself."""
    found = only(overlay("eks"), kind)["spec"]
    job = found["jobTemplate"]["spec"] if kind == "CronJob" else found

    assert job["activeDeadlineSeconds"] <= 900
    assert job.get("ttlSecondsAfterFinished", 0) > 0 or found["concurrencyPolicy"] == "Forbid"


def test_certificate_jobs_run_the_same_command() -> None:
    [install, rotate] = [spec for kind, spec in pods(overlay("eks")) if kind != "Deployment"]
    assert install == rotate


def test_another_image_gives_the_install_job_another_name(tmp_path: Path) -> None:
    """A Job's template cannot be changed, so the name follows the content; the same content keeps the name."""
    images = [{"name": "gpu-scheduler-certs", "newTag": "0.2.0"}]
    names = [
        only(rendering.render(rendering.write(tmp_path / str(number), images=given)), "Job")["metadata"]["name"]
        for number, given in enumerate(([], [], images))
    ]

    assert names[0] == names[1] != names[2]
    assert all(len(name) <= 63 and "." not in name for name in names)


def test_another_setting_rolls_the_webhook_out(tmp_path: Path) -> None:
    generated = {"name": "gpu-scheduler-webhook-config", "namespace": "gpu-scheduler", "behavior": "replace"}
    changed = rendering.write(tmp_path, configMapGenerator=[{**generated, "literals": ["webhook.yaml=scope: gpu"]}])
    pods_then = only(rendering.render(changed), "Deployment", "gpu-scheduler-webhook")["spec"]["template"]

    assert pods_then != only(overlay("eks"), "Deployment", "gpu-scheduler-webhook")["spec"]["template"]


def test_settings_are_what_the_programs_read() -> None:
    """The ConfigMaps' files, read by the very code that will read them."""
    objects = overlay("every-gpu-pod")
    data = {item["metadata"]["name"].rpartition("-")[0]: item["data"] for item in of_kind(objects, "ConfigMap")}
    wide = webhook_config.read(data["gpu-scheduler-webhook-config"]["webhook.yaml"])
    plain = webhook_config.read(file("base/webhook/webhook.yaml"))

    assert (plain.scope, wide) == ("annotated", dataclasses.replace(plain, scope="gpu"))
    keeping = deletion_cost_config.read(data["gpu-scheduler-deletion-cost-config"]["config.yaml"])
    assert keeping == deletion_cost_config.Config(scope="gpu")  # as wide as the webhook, which gives first costs
    scheduler = scheduler_config.parse(data["gpu-scheduler-config"]["config.yaml"], profiles.KNOWN, "elsewhere")
    assert [profile.scheduler_name for profile in scheduler.profiles] == [plain.scheduler_name]


def test_deletion_cost_runs_with_the_settings_that_it_has_by_itself() -> None:
    """What the file spells out is what holds without it."""
    assert deletion_cost_config.read(file("base/deletion-cost/config.yaml")) == deletion_cost_config.Config()


def file(path: str) -> str:
    return (rendering.ROOT / path).read_text()


def test_cert_manager_replaces_our_own_certificates() -> None:
    objects = overlay("prod")
    leaf = only(objects, "Certificate", "gpu-scheduler-webhook")
    named = f"{leaf['metadata']['namespace']}/{leaf['metadata']['name']}"

    assert not [item for item in objects if item["metadata"]["name"].startswith("gpu-scheduler-certs")]
    assert leaf["spec"]["secretName"] == "gpu-scheduler-webhook-tls"
    assert "gpu-scheduler-webhook.gpu-scheduler.svc" in leaf["spec"]["dnsNames"]
    for kind in CONFIGURATIONS:
        annotations = only(objects, kind)["metadata"]["annotations"]
        assert annotations == {"cert-manager.io/inject-ca-from": named}


def test_host_network_leaves_room_for_its_own_rollout(tmp_path: Path) -> None:
    objects = rendering.render(rendering.write(tmp_path, components=["host-network"]))
    spec = only(objects, "Deployment", "gpu-scheduler-webhook")["spec"]

    [container] = spec["template"]["spec"]["containers"]

    assert spec["template"]["spec"]["hostNetwork"] is True
    assert spec["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    assert [port["containerPort"] for port in container["ports"]] == [10543, 10580]
    assert container["args"][-2:] == ["--bind=[::]:10543", "--probe-bind=[::]:10580"]
    assert only(objects, "Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
