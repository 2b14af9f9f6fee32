"""The Flask application: routes, body limit, the outermost frame. Decides nothing itself."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import flask
from flask import Flask, Response
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from webhook import logs, mutate, probes, review, validate
from webhook.config import Config
from webhook.metrics import Metrics
from webhook.probes import Readiness
from webhook.review import Decision, Review, Unreadable
from webhook.rules import Rules

_log = logging.getLogger(__name__)
_PLAIN = "text/plain; charset=utf-8"
_TOO_LARGE = "the body is larger than this server reads"

Decide = Callable[[Review, Rules], Decision]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One of the admission paths, with the answer it gives when it fails itself."""

    path: str
    decide: Decide
    on_failure: Decision


def create_app(
    config: Config | None = None,
    metrics: Metrics | None = None,
    readiness: Readiness | None = None,
    admission: tuple[Endpoint, ...] | None = None,
    clock: Clock = time.perf_counter,
) -> Flask:
    """Build the application; without arguments it is the default webhook, without TLS."""
    config, metrics = config or Config(), metrics or Metrics()
    app = Flask("webhook", static_folder=None)
    # One more than is accepted: werkzeug cuts a body of unknown length at its maximum without a word.
    app.config["MAX_CONTENT_LENGTH"] = _limit(config) + 1
    app.register_blueprint(probes.blueprint(metrics, readiness))
    rules = Rules.of(config)
    admission = endpoints(config) if admission is None else admission
    served_paths = frozenset(endpoint.path for endpoint in admission)
    for endpoint in admission:
        served = _Served(endpoint, rules, metrics)
        app.add_url_rule(endpoint.path, endpoint.path, served.view, methods=["POST"])
    app.wsgi_app = _Timed(app.wsgi_app, served_paths, metrics, clock)  # type: ignore[method-assign]
    return app


def endpoints(config: Config) -> tuple[Endpoint, ...]:
    """Return the admission paths as a configuration wants them; a request does not tell its namespace's labels."""
    trouble = "not judged, the webhook failed: its log says why"
    refuses = config.validation.failure == "Deny"
    unchanged = Decision(True, "failed", warnings=(f"gpu-scheduler: {trouble}",))
    return (
        Endpoint("/mutate", mutate.decide, unchanged),
        Endpoint("/mutate/deletion-cost-on", mutate.decide_where_on, unchanged),
        Endpoint("/mutate/deletion-cost-off", mutate.decide_where_off, unchanged),
        Endpoint(
            "/validate",
            validate.decide,
            Decision(not refuses, "failed", message=trouble, warnings=(f"gpu-scheduler: {trouble}",)),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Served:
    """An endpoint with what it decides by and counts into."""

    endpoint: Endpoint
    rules: Rules
    metrics: Metrics

    def view(self) -> Response:
        """Answer one AdmissionReview: 200 whatever is decided, 400 or 413 where nothing can be."""
        try:
            body = self._body()
            self.metrics.body_bytes.labels(self.endpoint.path).observe(len(body))
            asked = review.read(body)
        except RequestEntityTooLarge:
            _drain(flask.request.environ["wsgi.input"], 4 * _limit(self.rules.config))
            return self._refuse(413, "size", _TOO_LARGE)
        except ClientDisconnected:
            return self._refuse(400, "read", "the body ended early")
        except Unreadable as error:
            return self._refuse(400, error.stage, str(error))
        return Response(self._answer(asked), content_type="application/json")

    def _body(self) -> bytes:
        body = flask.request.get_data(cache=False)
        if len(body) > _limit(self.rules.config):
            raise RequestEntityTooLarge
        return body

    def _answer(self, asked: Review) -> bytes:
        try:
            decision = self.endpoint.decide(asked, self.rules)
            answer = review.answer(asked, decision)
        except Exception:  # noqa: BLE001 -- the outermost frame: a bug here must not stop the cluster's pods
            self.metrics.panics.inc()
            _log.exception("admission failed", extra=_about(self.endpoint.path, asked))
            decision = self.endpoint.on_failure
            answer = review.answer(asked, decision)
        self.metrics.count(self.endpoint.path, asked, decision)
        _log.info("admission decided", extra=_about(self.endpoint.path, asked, decision))
        return answer

    def _refuse(self, status: int, stage: str, text: str) -> Response:
        self.metrics.errors.labels(stage).inc()
        _log.warning("request not readable", extra=logs.fields(path=self.endpoint.path, stage=stage, why=text))
        return Response(text + "\n", status, content_type=_PLAIN)


def _limit(config: Config) -> int:
    return config.server.body_limit_mib << 20


def _drain(stream: Any, most: int) -> None:
    """Read on over a body that is too large: a client still writing would see a reset instead of the refusal."""
    while most > 0 and (chunk := stream.read(min(most, 1 << 16))):
        most -= len(chunk)


def _about(path: str, asked: Review, decision: Decision | None = None) -> Any:
    pairs: dict[str, Any] = {"path": path, "uid": asked.uid, "operation": asked.operation, "kind": asked.kind}
    pairs |= {"namespace": asked.namespace, "name": asked.name}
    if decision:
        pairs |= {"allowed": decision.allowed, "rule": decision.rule, "operations": len(decision.patch)}
    if decision and decision.message:
        pairs["message"] = decision.message
    return logs.fields(**pairs)


class _Timed:
    """Measures each request from its headers to its answer: into the histogram, and as a Server-Timing header."""

    def __init__(self, app: Any, paths: frozenset[str], metrics: Metrics, clock: Clock) -> None:
        self._app, self._paths = app, paths
        self._metrics = metrics
        self._clock = clock

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass one request on; probes are not measured."""
        path = environ.get("PATH_INFO")
        if path not in self._paths:
            passed: Iterable[bytes] = self._app(environ, start_response)
            return passed
        started = self._clock()

        def begin(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            seconds = self._clock() - started
            self._metrics.seconds.labels(path).observe(seconds)
            return start_response(status, [*headers, ("Server-Timing", f"handler;dur={seconds * 1000:.3f}")], *error)

        with self._metrics.inflight.track_inprogress():
            answered: Iterable[bytes] = self._app(environ, begin)
        return answered
