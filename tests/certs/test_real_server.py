"""`certs ensure` against the real API server, under the rights that the manifests give it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from certs import storage
from certs.configurations import GROUP
from certs.material import Material
from tests.certs.world import trusts
from tests.control_plane.api import Api, ApiError, Json
from tests.control_plane.cluster import ControlPlane

pytestmark = pytest.mark.control_plane

RBAC = Path(__file__).parents[2] / "manifests" / "base" / "certs" / "rbac.yaml"
SECRET = "gpu-scheduler-webhook-tls"
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


class Site:
    """A namespace with the ServiceAccount and rights of the manifests, and a configuration of each kind."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace
        self.name = f"gpu-scheduler-{uuid.uuid4().hex[:8]}"
        self._grant()
        for kind in KINDS:
            plane.api.post(f"{GROUP}/{kind.lower()}s", self._configuration(kind))
        self.kubeconfig = plane.service_account_kubeconfig(namespace, "gpu-scheduler-certs")

    def _grant(self) -> None:
        # The names of the cluster and of the configurations are made ours, so that tests can run side by side.
        documents = list(yaml.safe_load_all(RBAC.read_text()))
        documents.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "gpu-scheduler-certs"}})
        for document in documents:
            self._rename(document)
        self.plane.kubectl("apply", f"--namespace={self.namespace}", "-f", "-", input=yaml.safe_dump_all(documents))

    def _rename(self, document: Json) -> None:
        for subject in document.get("subjects", []):
            subject["namespace"] = self.namespace
        if document["kind"].startswith("Cluster"):
            document["metadata"]["name"] = self.name
            for rule in document.get("rules", []):
                rule["resourceNames"] = [self.name]
            if "roleRef" in document:
                document["roleRef"]["name"] = self.name

    def _configuration(self, kind: str) -> Json:
        service = {"name": "gpu-scheduler-webhook", "namespace": self.namespace, "path": "/x", "port": 8443}
        rule = {"apiGroups": ["none.example"], "apiVersions": ["v1"], "resources": ["things"], "operations": ["CREATE"]}
        hook = {"sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "rules": [rule]}
        hooks = [
            {**hook, "name": name, "clientConfig": {"service": service}} for name in ("a.example.com", "b.example.com")
        ]
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": self.name},
            "webhooks": hooks,
        }

    def ensure(self, *more: str, name: str | None = None) -> subprocess.CompletedProcess[str]:
        options = [
            f"--namespace={self.namespace}",
            "--service=gpu-scheduler-webhook",
            f"--secret={SECRET}",
            f"--webhook-configuration={name or self.name}",
            f"--kubeconfig={self.kubeconfig}",
            "--propagation-seconds=1",
            *more,
        ]
        code = "import sys; from cli import main; sys.exit(main.main(sys.argv[1:]))"
        return subprocess.run(
            [sys.executable, "-c", code, "certs", "ensure", *options], capture_output=True, text=True, timeout=120
        )

    def secret(self) -> Json:
        return self.plane.api.get(f"/api/v1/namespaces/{self.namespace}/secrets/{SECRET}")

    def material(self) -> Material:
        return storage.whole({key: base64.b64decode(text) for key, text in self.secret()["data"].items()})

    def bundles(self) -> set[bytes]:
        found = [self.plane.api.get(f"{GROUP}/{kind.lower()}s/{self.name}") for kind in KINDS]
        return {base64.b64decode(hook["clientConfig"].get("caBundle", "")) for at in found for hook in at["webhooks"]}

    def damage(self, key: str) -> None:
        secret = self.secret()
        del secret["data"][key]
        self.plane.api.put(
            f"/api/v1/namespaces/{self.namespace}/secrets/{SECRET}", {**secret, "type": "kubernetes.io/tls"}
        )

    def remove(self) -> None:
        for kind in KINDS:
            self.plane.api.delete(f"{GROUP}/{kind.lower()}s/{self.name}")
        for kind in ("clusterroles", "clusterrolebindings"):
            self.plane.api.delete(f"/apis/rbac.authorization.k8s.io/v1/{kind}/{self.name}")


@pytest.fixture
def site(control_plane: ControlPlane, namespace: str) -> Iterator[Site]:
    made = Site(control_plane, namespace)
    yield made
    made.remove()


def test_install_repeat_rotate_and_restore(site: Site) -> None:
    assert site.ensure().returncode == 0
    made, version = site.material(), site.secret()["metadata"]["resourceVersion"]
    assert site.bundles() == {made.bundle}
    assert site.secret()["type"] == "kubernetes.io/tls"

    again = site.ensure()
    assert (again.returncode, site.secret()["metadata"]["resourceVersion"]) == (0, version)
    assert "certificates are in order" in again.stdout

    site.damage("ca.key")
    assert site.ensure().returncode == 0
    rotated = site.material()
    assert site.bundles() == {rotated.bundle}
    assert made.bundle in rotated.bundle
    assert rotated.certificate != made.certificate
    assert _trusted_now(site, made)
    assert _trusted_now(site, rotated)


def _trusted_now(site: Site, served: Material) -> bool:
    name = f"gpu-scheduler-webhook.{site.namespace}.svc"
    return all(trusts(bundle, served, datetime.now(UTC), name) for bundle in site.bundles())


def test_runs_side_by_side_agree(site: Site) -> None:
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: site.ensure(), range(3)))
    assert [one.returncode for one in done] == [0, 0, 0], [one.stderr for one in done]
    assert site.bundles() == {site.material().bundle}
    assert _trusted_now(site, site.material())


def test_a_lost_secret_and_an_edited_bundle_are_repaired(site: Site) -> None:
    site.ensure()
    old = site.material()
    site.plane.api.delete(f"/api/v1/namespaces/{site.namespace}/secrets/{SECRET}")
    edit = {"op": "replace", "path": "/webhooks/1/clientConfig/caBundle", "value": base64.b64encode(b"x").decode()}
    site.plane.kubectl("patch", KINDS[0], site.name, "--type=json", f"--patch={json.dumps([edit])}")
    assert site.ensure().returncode == 0
    assert site.bundles() == {site.material().bundle}
    assert _trusted_now(site, old)


def test_a_missing_configuration_exits_1_and_leaves_the_secret(site: Site) -> None:
    done = site.ensure(name=f"mutating/{site.name}")
    assert done.returncode == 0
    site.plane.api.delete(f"{GROUP}/validatingwebhookconfigurations/{site.name}")
    done = site.ensure()
    site.plane.api.post(f"{GROUP}/validatingwebhookconfigurations", site._configuration(KINDS[1]))
    assert done.returncode == 1
    assert f'validatingwebhookconfigurations "{site.name}": not found' in done.stderr
    assert site.material().certificate


def test_the_rights_of_the_manifests_reach_nothing_else(site: Site) -> None:
    api = Api(site.kubeconfig)
    for path in (f"/api/v1/namespaces/{site.namespace}/secrets", f"{GROUP}/mutatingwebhookconfigurations"):
        with pytest.raises(ApiError) as caught:
            api.get(path)
        assert caught.value.status == 403
    api.close()
