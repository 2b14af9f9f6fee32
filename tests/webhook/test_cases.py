"""Whole exchanges: our golden ones, and the public bodies where the shared folder is there."""

import base64
import json
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
from flask.testing import FlaskClient

from webhook.app import create_app

ROOT = Path(__file__).parents[2]
GOLDEN = sorted((ROOT / "tests" / "data" / "admission").glob("*.json"))
SHARED = ROOT.parent / "shared" / "cases" / "admission"
PATHS = ("/mutate", "/validate")
NO_REQUEST = ("11", "29")


def public_bodies() -> list[Path]:
    return sorted(SHARED.glob("*.json"))


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app().test_client()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_exchange(client: FlaskClient, path: Path) -> None:
    case = json.loads(path.read_text())

    answered = client.post(case["path"], data=json.dumps(case["body"]))

    assert answered.status_code == case["status"]
    assert (with_readable_patch(answered.json) if answered.is_json else answered.text) == case["answer"]


def with_readable_patch(answer: Any) -> Any:
    if "patch" in answer["response"]:
        answer["response"]["patch"] = json.loads(base64.b64decode(answer["response"]["patch"]))
    return answer


def test_golden_exchanges_are_there() -> None:
    assert len(GOLDEN) > 20


@pytest.mark.parametrize("path", PATHS)
def test_public_bodies_are_answered_as_a_real_api_server_needs(client: FlaskClient, path: str) -> None:
    if not public_bodies():
        pytest.skip("the shared folder with the public bodies is not here; tests/data/admission holds our own")
    for file in public_bodies():
        answered = client.post(path, data=file.read_bytes())
        if file.name.startswith(NO_REQUEST):
            assert answered.status_code == 400, file.name
        else:
            assert answered.status_code == 200, file.name
            check(json.loads(file.read_text()), answered.json, path)


def check(body: Any, answer: Any, path: str) -> None:
    """What an API server checks of an answer, and that the patch applies."""
    response = answer["response"]
    assert answer["kind"] == "AdmissionReview"
    assert answer["apiVersion"] == body.get("apiVersion", "admission.k8s.io/v1")
    assert response["uid"] == body["request"]["uid"]
    assert response["allowed"] is True
    assert ("patch" in response) == ("patchType" in response)
    assert path == "/mutate" or "patch" not in response
    if "patch" in response:
        jsonpatch.apply_patch(body["request"]["object"], base64.b64decode(response["patch"]).decode())
