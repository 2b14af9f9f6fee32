"""The manifests on a real API server, with an echo server in the webhook's place."""

from __future__ import annotations

import base64
import copy
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.control_plane import waiting
from tests.control_plane.api import ApiError
from tests.control_plane.cluster import ControlPlane
from tests.manifests import objects, rendering
from tests.manifests.echo import Echo
from tests.manifests.rendering import Json

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
KINDS = {"mutatingwebhookconfigurations": "MutatingWebhookConfiguration"}
EVERY = "every-gpu-pod"


@dataclass(frozen=True, slots=True)
class Installation:
    """An API server with our manifests applied."""

    plane: ControlPlane
    echo: Echo
    folder: Path
    namespace: str = "default"
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def name(self) -> str:
        """A name that no other object of the run has."""
        return f"object-{next(self.numbers)}"

    def apply(self, **fields: Any) -> str:
        """`kubectl apply -k` of the base with the webhook's Service replaced; the rest stays as it is rendered."""
        patches = [{"patch": _service(self.echo.address), "target": {"kind": "Service"}}]
        folder = rendering.write(self.folder / f"apply-{next(self.numbers)}", patches=patches, **fields)
        return self.plane.kubectl("apply", "-k", folder).stdout

    def ca_bundles(self, name: str = "gpu-scheduler") -> list[str]:
        """The bundle of each entry of both configurations."""
        found = [self.plane.api.get(f"{ADMISSION}/{kind}/{name}")["webhooks"] for kind in CONFIGURATIONS]
        return [entry["clientConfig"].get("caBundle", "") for entries in found for entry in entries]

    def create(self, kind: str, template: Json, namespace: str | None = None, **changes: Any) -> str:
        """Create an object in dry run, its metadata changed as asked; return its name."""
        name = self.name()
        body = objects.wrap(kind, name, template)
        body["metadata"] |= changes
        self.plane.api.post(objects.collection(kind, namespace or self.namespace), body)
        return name

    def reached(self, kind: str, template: Json, namespace: str | None = None, **changes: Any) -> set[str]:
        """Create an object in dry run; return the paths of the webhook that were called, ours and every-gpu-pod's."""
        return self.echo.paths(self.create(kind, template, namespace, **changes))

    def refusal(self, kind: str, template: Json) -> str | None:
        """Create an object in dry run; return the policy's own text if it refuses, None if it lets it pass."""
        try:
            self.create(kind, template)
        except ApiError as error:
            return policy_text(error)
        return None


def policy_text(error: ApiError) -> str:
    """The policy's part of a refusal; any other error is a failure of the test."""
    before = "ValidatingAdmissionPolicy 'gpu-scheduler' with binding 'gpu-scheduler' denied request: "
    status = json.loads(str(error).partition(": ")[2])
    assert (error.status, status["reason"]) == (422, "Invalid"), error
    message: str = status["message"]
    assert before in message, message
    return message.partition(before)[2]


def install(plane: ControlPlane, echo: Echo, folder: Path) -> Installation:
    """Apply the base, trust the echo server as `certs` would, put every-gpu-pod's conditions beside it, and wait."""
    installed = Installation(plane, echo, folder)
    installed.apply()
    for kind in CONFIGURATIONS:
        _trust(installed, kind, "gpu-scheduler")
        plane.api.post(f"{ADMISSION}/{kind}", _beside(kind))
        _trust(installed, kind, EVERY)
    waiting.until(lambda: _all_called(installed), "all webhooks called")
    waiting.until(lambda: _policy_in_force(installed), "policy in force")
    return installed


def evaluation_errors(plane: ControlPlane) -> list[str]:
    """The API server's counters of conditions that could not be evaluated: what Ignore hides."""
    counter = "apiserver_admission_match_condition_evaluation_errors_total{"
    return [line for line in plane.api.text("/metrics").splitlines() if line.startswith(counter)]


def _service(address: str) -> str:
    """A name outside the cluster is dialled as it is, and an address is a name too."""
    return f"""
- {{op: remove, path: /spec/selector}}
- {{op: remove, path: /spec/ports}}
- {{op: add, path: /spec/type, value: ExternalName}}
- {{op: add, path: /spec/externalName, value: {address}}}
"""


def _trust(installed: Installation, kind: str, name: str) -> None:
    api, path = installed.plane.api, f"{ADMISSION}/{kind}/{name}"
    found = api.get(path)
    for entry in found["webhooks"]:
        entry["clientConfig"]["caBundle"] = base64.b64encode(installed.echo.ca).decode()
    api.put(path, found)


def _beside(kind: str) -> Json:
    """The overlay's configuration under another name and on paths of its own, so that one request tries both."""
    wanted = KINDS.get(kind, "ValidatingWebhookConfiguration")
    found = copy.deepcopy(rendering.only(rendering.overlay(EVERY), wanted))
    found["metadata"]["name"] = EVERY
    for entry in found["webhooks"]:
        entry["clientConfig"]["service"]["path"] = "/every" + entry["clientConfig"]["service"]["path"]
    return found


def _all_called(installed: Installation) -> bool:
    """Whether the API server has seen both configurations, every entry of them, and the Service."""
    template = objects.pod({"gpu.nvidia.com/model": "A100"})
    expected = {"Pod": paths("/mutate", "/validate"), "Deployment": paths("/validate"), "CronJob": paths("/validate")}
    return all(installed.reached(kind, template) == called for kind, called in expected.items())


def _policy_in_force(installed: Installation) -> bool:
    return installed.refusal("Pod", objects.pod({"gpu.nvidia.com/fraction": "2"})) is not None


def paths(*of_ours: str, every: Sequence[str] | None = None) -> set[str]:
    """The paths of the base's webhook, and of every-gpu-pod's: by default the same."""
    return {*of_ours, *(f"/every{path}" for path in (of_ours if every is None else every))}
