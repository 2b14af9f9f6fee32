"""The application: bad input, limits, failures of our own, logs."""

import dataclasses
import io
import json
import logging
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.webhook.build import FRACTION, MODEL, Json, ask, client, patch, pod, review
from webhook import config as configuration
from webhook.app import create_app, endpoints
from webhook.config import Config
from webhook.metrics import Metrics

PATHS = ("/mutate", "/validate")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [b"", b"null", b"{", b'{"request":{}}', b'{"a":' * 2000 + b"1" + b"}" * 2000])
def test_body_without_a_request_is_a_400_in_words(path: str, body: bytes) -> None:
    answered = client().post(path, data=body)

    assert answered.status_code == 400
    assert answered.content_type == "text/plain; charset=utf-8"
    assert answered.text.strip()


@pytest.mark.parametrize("path", PATHS)
def test_body_over_the_limit_is_refused_and_counted(path: str) -> None:
    metrics = Metrics()
    app = create_app(configuration.read("server: {bodyLimitMib: 1}"), metrics)

    assert app.test_client().post(path, data=b" " * (1 << 20)).status_code == 400
    assert app.test_client().post(path, data=b" " * ((1 << 20) + 1)).status_code == 413
    assert b'errors_total{stage="size"} 1.0' in metrics.exposition()


def test_seven_mebibytes_are_read() -> None:
    body = json.dumps(review(pod({MODEL: "A100", "notes": "x" * (7000 * 1024)}))).encode()

    answered = client().post("/mutate", data=body)

    assert answered.status_code == 200
    assert patch(answered.json["response"] if answered.json else {})


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/json; charset=latin-1", ""])
def test_content_type_is_not_looked_at(content_type: str) -> None:
    answered = client().post("/validate", data=json.dumps(review(pod())), content_type=content_type)

    assert answered.status_code == 200
    assert answered.content_type == "application/json"


@pytest.mark.parametrize("path", PATHS)
def test_only_posts_are_answered(path: str) -> None:
    assert client().get(path).status_code == 405
    assert client().post("/").status_code == 404


def test_answer_says_how_long_the_handler_took() -> None:
    timing = client().post("/mutate", data=json.dumps(review(pod()))).headers["Server-Timing"]

    assert 0 < float(timing.removeprefix("handler;dur=")) < 10_000


def broken(config: Config, metrics: Metrics) -> FlaskClient:
    """The application with endpoints that have a bug."""

    def decide(*_: Any) -> Any:
        raise ZeroDivisionError

    buggy = tuple(dataclasses.replace(endpoint, decide=decide) for endpoint in endpoints(config))
    return create_app(config, metrics, admission=buggy).test_client()


@pytest.mark.parametrize("path", PATHS)
def test_own_failure_is_allowed_with_a_warning_counted_and_logged(path: str, caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()

    response = json.loads(broken(Config(), metrics).post(path, data=json.dumps(review(pod()))).data)["response"]

    assert response["allowed"]
    assert response["warnings"] == ["gpu-scheduler: not judged, the webhook failed: its log says why"]
    assert b"panics_total 1.0" in metrics.exposition()
    assert [bool(record.exc_info) for record in caplog.records if record.levelno == logging.ERROR] == [True]


@pytest.mark.parametrize(("path", "allowed"), [("/mutate", True), ("/validate", False)])
def test_own_failure_in_validate_can_be_made_to_refuse(path: str, allowed: bool) -> None:
    browser = broken(configuration.read("validation: {failure: Deny}"), Metrics())

    response = json.loads(browser.post(path, data=json.dumps(review(pod()))).data)["response"]

    assert response["allowed"] is allowed
    assert "patch" not in response


def test_each_decision_is_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="webhook")

    ask("/validate", review(pod({FRACTION: "2"}), name="trainer"))

    (record,) = caplog.records
    fields: Json = record.__dict__["fields"]
    assert record.getMessage() == "admission decided"
    assert fields["message"].endswith("must be 0.01 to 1")
    assert {key: fields[key] for key in ("path", "kind", "name", "allowed", "rule")} == {
        "path": "/validate",
        "kind": "Pod",
        "name": "trainer",
        "allowed": False,
        "rule": "invalid",
    }


def test_decisions_are_counted_under_fixed_labels() -> None:
    metrics = Metrics()
    browser = create_app(metrics=metrics).test_client()
    strange = review(pod(), operation="STRANGE")
    strange["request"]["kind"]["kind"] = "Strange"

    for body in (review(pod({MODEL: "A100"})), strange):
        browser.post("/mutate", data=json.dumps(body))

    text = metrics.exposition().decode()
    labels = 'allowed="true",kind="Pod",operation="CREATE",path="/mutate",reason="mutated"'
    assert f"gpu_scheduler_webhook_requests_total{{{labels}}} 1.0" in text
    assert 'kind="other",operation="other",path="/mutate",reason="unrelated-kind"' in text
    assert 'gpu_scheduler_webhook_patch_ops_total{op="add"} 2.0' in text
    assert 'gpu_scheduler_webhook_duration_seconds_count{path="/mutate"} 2.0' in text
    assert "Strange" not in text


def test_probes_are_served_beside_the_admission_paths() -> None:
    browser = client()

    assert [browser.get(path).status_code for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3


def test_body_far_over_the_limit_is_not_read_to_its_end() -> None:
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size: int = -1) -> bytes:
            self.given += size
            return b" " * size

    endless = Endless()
    environ = {"wsgi.input": endless, "CONTENT_LENGTH": str(1 << 40)}
    browser = create_app(configuration.read("server: {bodyLimitMib: 1}")).test_client()

    assert browser.post("/mutate", environ_overrides=environ).status_code == 413
    assert endless.given == 4 << 20
