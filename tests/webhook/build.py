"""Builders of pods, workloads and admission reviews as JSON, and the way to ask the application in memory."""

import base64
import json
from typing import Any

from flask.testing import FlaskClient

from webhook import review as wire
from webhook import templates
from webhook.app import create_app
from webhook.config import Config
from webhook.patches import apply

Json = dict[str, Any]

COST = "controller.kubernetes.io/pod-deletion-cost"
MODEL, MEMORY, FRACTION = (f"gpu.nvidia.com/{key}" for key in ("model", "memory", "fraction"))


def pod(annotations: Json | None = None, gpus: int = 1, **spec: Any) -> Json:
    """A pod as the API server shows it to a mutating webhook: defaulted, without a name yet."""
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    meta: Json = {"generateName": "trainer-", "namespace": "team"}
    if annotations is not None:
        meta["annotations"] = annotations
    main = {"name": "main", "image": "registry.example.com/train:1", "resources": limits}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [main], "schedulerName": "default-scheduler", "restartPolicy": "Always", **spec},
        "status": {},
    }


def workload(kind: str, template: Json, **meta: Any) -> Json:
    """A workload of a kind around the pod of a template."""
    group = next(group for group, known in templates.PATHS if known == kind)
    inner: Json = {key: template[key] for key in ("metadata", "spec") if key in template}
    for key in reversed(templates.PATHS[group, kind]):
        inner = {key: inner}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "trainer", **meta}, **inner}


def review(body: Json | None, operation: str = "CREATE", old: Json | None = None, **request: Any) -> Json:
    """A review of an object, in namespace `team` unless said otherwise."""
    group, _, version = str((body or {}).get("apiVersion", "v1")).rpartition("/")
    kind = (body or {}).get("kind", "Pod")
    return {
        "apiVersion": wire.V1,
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": group, "version": version, "kind": kind},
            "namespace": "team",
            "operation": operation,
            "object": body,
            "oldObject": old,
            **request,
        },
    }


def client(config: Config | None = None) -> FlaskClient:
    """A fresh application."""
    return create_app(config).test_client()


def ask(path: str, body: Json, config: Config | None = None) -> Json:
    """Send a review to a fresh application; return its response, which must be 200."""
    answered = client(config).post(path, data=json.dumps(body))
    assert answered.status_code == 200, answered.data
    response: Json = json.loads(answered.data)["response"]
    return response


def patch(response: Json) -> list[Json]:
    """Decode a response's patch; none is an empty one."""
    decoded: list[Json] = json.loads(base64.b64decode(response.get("patch", "")) or b"[]")
    return decoded


def mutated(body: Json, config: Config | None = None) -> Json:
    """Return a pod as it is after /mutate."""
    return apply(tuple(patch(ask("/mutate", review(body), config))), body)


def refusal(body: Json, config: Config | None = None, **request: Any) -> str:
    """Return the message by which /validate refuses an object; empty when it is allowed."""
    response = ask("/validate", review(body, **request), config)
    return "" if response["allowed"] else str(response["status"]["message"])
