"""ServiceAccounts with tokens as a kubelet mounts them, and the pods they are bound to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.control_plane import credentials
from tests.control_plane.api import Api, ApiError
from tests.manifests.installation import Installation
from tests.manifests.objects import pod, wrap

Json = dict[str, Any]
COST = "controller.kubernetes.io/pod-deletion-cost"
PODS = "/api/v1/namespaces/default/pods"


@dataclass(frozen=True, slots=True)
class Account:
    """A ServiceAccount with a token of its own, and the policy that judges it."""

    api: Api
    policy: str
    own: str

    def patch(self, name: str, body: Json) -> str | None:
        """Patch a pod; return the policy's text if it refuses, None if the patch is stored."""
        before = f"ValidatingAdmissionPolicy '{self.policy}' with binding '{self.policy}' denied request: "
        try:
            self.api.patch(f"{PODS}/{name}", body)
        except ApiError as error:
            message: str = json.loads(str(error).partition(": ")[2])["message"]
            assert before in message, message
            return message.partition(before)[2]
        return None


def cost(value: str | None) -> Json:
    return {"metadata": {"annotations": {COST: value}}}


def create(installed: Installation, account: str = "default") -> str:
    """A pod with one of everything that must stay as it is."""
    name, template = installed.name(), pod({"team.example.com/note": "keep", COST: "-50"})
    template["spec"]["serviceAccountName"] = account
    body = wrap("Pod", name, template)
    body["metadata"] |= {"labels": {"app": "x"}, "finalizers": ["team.example.com/hold"]}
    installed.plane.api.post(PODS, body)
    return name


def token(installed: Installation, account: tuple[str, str], bound_to: str | None = None) -> str:
    """What a kubelet gets for a pod; without a pod what `kubectl create token` gets."""
    path = f"/api/v1/namespaces/{account[0]}/serviceaccounts/{account[1]}/token"
    spec: Json = {"expirationSeconds": 3600}
    if bound_to is not None:
        uid = installed.plane.api.get(f"{PODS}/{bound_to}")["metadata"]["uid"]
        spec["boundObjectRef"] = {"kind": "Pod", "apiVersion": "v1", "name": bound_to, "uid": uid}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    return str(installed.plane.api.post(path, body)["status"]["token"])


def kubeconfig(installed: Installation, bearer: str) -> Path:
    """A kubeconfig with that token."""
    endpoint = credentials.Endpoint(installed.plane.url, installed.plane.ca_file.read_bytes())
    file = installed.folder / f"{installed.name()}.kubeconfig"
    return credentials.write_kubeconfig(file, endpoint, credentials.from_token(bearer))


def api_with(installed: Installation, bearer: str) -> Api:
    """Calls with that token."""
    return Api(kubeconfig(installed, bearer))
