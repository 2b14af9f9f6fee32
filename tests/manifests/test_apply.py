"""`kubectl apply -k` on a real API server: again, with another image, with an install Job still there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.control_plane import waiting
from tests.manifests import rendering
from tests.manifests.installation import Installation
from tests.manifests.objects import pod

pytestmark = pytest.mark.control_plane

Json = dict[str, Any]
HOME = "/namespaces/gpu-scheduler"
JOBS = f"/apis/batch/v1{HOME}/jobs"
# kubectl always sends this kind's selector, and the answer is the object as it was.
RESENT = "poddisruptionbudget"


def jobs(installed: Installation) -> dict[str, str]:
    """The image of each install Job, by name."""
    found = installed.plane.api.get(JOBS)["items"]
    return {job["metadata"]["name"]: job["spec"]["template"]["spec"]["containers"][0]["image"] for job in found}


def generations(installed: Installation) -> dict[str, int]:
    """The generation of everything that has one: it moves with each change of what is wanted."""
    kinds = "deployments.apps,jobs.batch,cronjobs.batch,poddisruptionbudgets.policy"
    admission = "mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicies"
    template = '{range .items[*]}{.kind}/{.metadata.name} {.metadata.generation}{"\\n"}{end}'
    said = [
        installed.plane.kubectl("get", what, "-n", "gpu-scheduler", "-o", f"jsonpath={template}").stdout
        for what in (kinds, admission)
    ]
    return {name: int(number) for name, number in (line.split() for line in "".join(said).splitlines())}


def test_second_apply_changes_nothing(installed: Installation) -> None:
    installed.apply()
    before, bundles = generations(installed), installed.ca_bundles()

    lines = installed.apply().splitlines()

    assert [line for line in lines if not line.endswith("unchanged") and not line.startswith(RESENT)] == []
    assert generations(installed) == before
    assert installed.ca_bundles() == bundles


def test_ca_bundle_outlives_every_apply(installed: Installation) -> None:
    """It is not rendered, so no apply resets what `certs ensure` has written; the webhook goes on being called."""
    assert all(installed.ca_bundles())

    installed.apply(images=[{"name": "gpu-scheduler-webhook", "newTag": "0.1.1"}])

    assert all(installed.ca_bundles())
    assert "/mutate" in installed.reached("Pod", pod({"gpu.nvidia.com/model": "A100"}))


def test_another_image_applies_beside_the_old_job(installed: Installation) -> None:
    """Templates of Jobs cannot be changed; the old one is still there, and so is a new one."""
    installed.apply()
    before = jobs(installed)

    installed.apply(images=[{"name": "gpu-scheduler-certs", "newName": "example.com/certs", "newTag": "0.1.1"}])

    after = jobs(installed)
    assert set(after.values()) >= {"gpu-scheduler-certs:0.1.0", "example.com/certs:0.1.1"}
    assert before.items() <= after.items()
    cron = installed.plane.api.get(f"/apis/batch/v1{HOME}/cronjobs/gpu-scheduler-certs")["spec"]["jobTemplate"]["spec"]
    assert cron["template"]["spec"]["containers"][0]["image"] == "example.com/certs:0.1.1"


def test_another_setting_applies_and_rolls_out(installed: Installation) -> None:
    generated = {"name": "gpu-scheduler-webhook-config", "namespace": "gpu-scheduler", "behavior": "replace"}
    installed.apply(configMapGenerator=[{**generated, "literals": ["webhook.yaml=logLevel: debug"]}])

    template = installed.plane.api.get(f"/apis/apps/v1{HOME}/deployments/gpu-scheduler-webhook")["spec"]["template"]
    [name] = [volume["configMap"]["name"] for volume in template["spec"]["volumes"] if volume["name"] == "config"]
    assert installed.plane.api.get(f"/api/v1{HOME}/configmaps/{name}")["data"] == {"webhook.yaml": "logLevel: debug"}


def test_components_are_accepted_together(installed: Installation) -> None:
    """Validated and admitted by the server, without being stored. (The kinds of two of them are not served here.)"""
    components = [name for name in rendering.COMPONENTS if name not in ("cert-manager", "monitoring")]
    folder = rendering.write(installed.folder / "components", components=components)
    installed.plane.kubectl("apply", "--dry-run=server", "-k", folder)


@pytest.mark.parametrize("overlay", ["kind", "eks", "every-gpu-pod"])
def test_overlays_are_accepted(installed: Installation, overlay: str) -> None:
    """The Service is another one here; all else is as rendered. (prod needs cert-manager's kinds.)"""
    folder = installed.folder / overlay
    rendering.write(folder, base=f"overlays/{overlay}", patches=[rendering.WITHOUT_SERVICE])
    installed.plane.kubectl("apply", "--dry-run=server", "-k", folder)


def test_server_side_apply_meets_no_conflict_over_the_ca_bundle(installed: Installation) -> None:
    """Whoever wrote the bundle owns it; the manifests do not claim it."""
    installed.apply()
    said = installed.plane.kubectl(
        "apply", "--server-side", "--field-manager=kubectl-client-side-apply", "--dry-run=server", "-k",
        rendering.write(installed.folder / "server-side", patches=[rendering.WITHOUT_SERVICE]),
    )  # fmt: skip
    assert "validatingwebhookconfiguration.admissionregistration.k8s.io/gpu-scheduler serverside-applied" in said.stdout


def test_examples_are_accepted(installed: Installation) -> None:
    installed.plane.kubectl("apply", "--dry-run=server", "-k", rendering.ROOT / "examples")


def test_refused_examples_are_refused_with_the_place(installed: Installation) -> None:
    refused = rendering.ROOT / "examples" / "refused.yaml"
    said = installed.plane.kubectl("apply", "--dry-run=server", "-f", refused, check=False)

    assert said.returncode == 1
    assert 'metadata.annotations[gpu.nvidia.com/fraction]: Invalid value: "1.5": must be 0.01 to 1' in said.stderr
    assert 'metadata.annotations[gpu.nvidia.com/model]: Invalid value: "A100": needs a container' in said.stderr
    assert 'spec.template.metadata.annotations[gpu.nvidia.com/memory]: Invalid value: "0"' in said.stderr


def test_controllers_make_our_pods(installed: Installation) -> None:
    """Nothing stops them: not Pod Security, not the priority class outside kube-system, not our own webhook."""

    def owners() -> set[str]:
        pods = installed.plane.api.get(f"/api/v1{HOME}/pods")["items"]
        return {item["metadata"]["labels"]["app.kubernetes.io/component"] for item in pods}

    waiting.until(lambda: owners() == {"certs", "deletion-cost", "scheduler", "webhook"}, "pods of all components")


def test_namespace_admits_only_restricted_pods(installed: Installation) -> None:
    said = installed.plane.kubectl(
        "run", "root", "--image=example.com/image:1", "-n", "gpu-scheduler", "--dry-run=server", check=False
    )
    assert 'violates PodSecurity "restricted:latest"' in said.stderr


def test_without_its_binding_the_policy_refuses_nothing(installed: Installation) -> None:
    """What the second half of the end-to-end run relies on: then the webhook is asked."""
    api, wrong = installed.plane.api, pod({"gpu.nvidia.com/fraction": "2"})
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/gpu-scheduler"
    assert installed.refusal("Pod", wrong) is not None

    api.delete(path)
    try:
        waiting.until(lambda: installed.refusal("Pod", wrong) is None, "policy out of force")
        assert "/validate" in installed.reached("Pod", wrong)
    finally:
        installed.apply()
        waiting.until(lambda: installed.refusal("Pod", wrong) is not None, "policy in force again")
