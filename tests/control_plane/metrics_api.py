"""metrics.k8s.io as a metrics server would serve it, behind an APIService: usage is what the test says it is.

The Service is an ExternalName `localhost`, so that the API server finds the process of the test.
"""

from __future__ import annotations

import base64
import datetime
import http.server
import json
import re
import ssl
import threading
import urllib.parse
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.control_plane import credentials, waiting
from tests.control_plane.api import Api, ApiError, Json
from tests.control_plane.pki import Authority

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
NAMESPACE, SERVICE = "kube-system", "metrics-server"
ROOT = f"/apis/{GROUP}/{VERSION}"
API_SERVICE = f"/apis/apiregistration.k8s.io/v1/apiservices/{VERSION}.{GROUP}"
_PODS = re.compile(rf"{ROOT}/namespaces/([^/]+)/pods")


class MetricsApi:
    """The server, in threads of the caller; use it as a context manager. Pods that were not told have no metrics."""

    def __init__(self, api: Api, home: Path) -> None:
        self._api = api
        self._usage: dict[tuple[str, str], int] = {}
        authority = Authority.create(SERVICE)
        pair = authority.issue(SERVICE, hosts=(f"{SERVICE}.{NAMESPACE}.svc", "localhost"))
        both = credentials.write_private(home / "metrics-server.pem", pair.certificate + pair.key)
        self._ca = authority.pair().certificate
        self._server = _server(self, both)
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics server", daemon=True)

    def tell(self, namespace: str, pod: str, cpu_milli: int) -> None:
        """From now on the pod uses so much."""
        self._usage[namespace, pod] = cpu_milli

    def answer(self, path: str) -> Json | None:
        """The answer to a GET; None is not found."""
        address = urllib.parse.urlsplit(path)
        if address.path == ROOT:
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": ROOT[6:], "resources": [_RESOURCE]}
        found = _PODS.fullmatch(address.path)
        if not found:
            return None
        selector = dict(urllib.parse.parse_qsl(address.query)).get("labelSelector", "")
        listed = self._api.get(f"/api/v1/namespaces/{found[1]}/pods", labelSelector=selector)["items"]
        told = [pod["metadata"] for pod in listed if (found[1], pod["metadata"]["name"]) in self._usage]
        items = [_metrics(metadata, self._usage[found[1], metadata["name"]]) for metadata in told]
        return {"kind": "PodMetricsList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}

    def start(self) -> None:
        """Serve, and return once the API server passes questions on."""
        self._thread.start()
        spec: Json = {"type": "ExternalName", "externalName": "localhost"}
        self._api.post(f"/api/v1/namespaces/{NAMESPACE}/services", {"metadata": {"name": SERVICE}, "spec": spec})
        service = {"namespace": NAMESPACE, "name": SERVICE, "port": self._server.server_port}
        spec = {"group": GROUP, "version": VERSION, "service": service, "caBundle": base64.b64encode(self._ca).decode()}
        spec |= {"groupPriorityMinimum": 100, "versionPriority": 100}
        self._api.post(API_SERVICE.rpartition("/")[0], {"metadata": {"name": f"{VERSION}.{GROUP}"}, "spec": spec})
        waiting.until(self._api.probe(f"{ROOT}/namespaces/default/pods"), f"{GROUP} through the API server")

    def stop(self) -> None:
        """Take the API out of the cluster and end the server."""
        for path in (API_SERVICE, f"/api/v1/namespaces/{NAMESPACE}/services/{SERVICE}"):
            try:
                self._api.delete(path)
            except ApiError as error:
                if error.status != 404:
                    raise
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_RESOURCE = {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}


def _metrics(metadata: Json, cpu_milli: int) -> Json:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    container = {"name": "main", "usage": {"cpu": f"{cpu_milli}m", "memory": "1Mi"}}
    own = {key: metadata[key] for key in ("name", "namespace", "labels") if key in metadata}
    return {"metadata": own, "timestamp": now, "window": "15s", "containers": [container]}


def _server(metrics: MetricsApi, certificate: Path) -> http.server.ThreadingHTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = metrics.answer(self.path)
            body = json.dumps(answer or {"kind": "Status", "apiVersion": "v1", "code": 404}).encode()
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Leave connections that the API server breaks off alone."""

    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server
