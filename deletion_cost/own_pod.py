"""The pod that this process runs in: who it is, and the one write that its reporter makes.

Part of the library that applications import: standard library only, and of that the network's part at the first write.
It is not kube_client because an application brings neither aiohttp nor the official client.
"""

import base64
import binascii
import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

FIELD_MANAGER = "deletion-cost-reporter"
ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"  # as cluster_model.deletion_cost, which brings more along
MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_SECONDS = 5.0
_LARGEST_ANSWER = 1 << 20
# Other answers below 500 say that the same write will never pass. A right, 403, may be given later than the pod starts.
_TRANSIENT = frozenset({401, 403, 408, 409, 425, 429})


class NotWritten(Exception):
    """A write that failed; `is_final` if every further one would, `retry_seconds` if the server named a pause."""

    def __init__(self, message: str, *, is_final: bool = False, retry_seconds: float | None = None) -> None:
        super().__init__(message)
        self.is_final, self.retry_seconds = is_final, retry_seconds


@dataclass(frozen=True, slots=True)
class OwnPod:
    """A pod and the API server it is known to; `mount` holds token and CA, which are read anew for each write."""

    namespace: str
    name: str
    uid: str | None
    host: str
    port: int
    mount: Path = MOUNT

    @classmethod
    def find(cls, environment: Mapping[str, str] = os.environ, mount: Path = MOUNT) -> "OwnPod":
        """Find out from POD_NAME and POD_NAMESPACE, else the mounted token, else its folder and the host's name."""
        host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT", "443")
        if not host or not port.isdecimal():
            raise LookupError("not in a cluster: KUBERNETES_SERVICE_HOST is not set")
        bound = _bound_to(_text(mount / "token"))
        name = environment.get("POD_NAME") or bound.get("name") or socket.gethostname()
        namespace = environment.get("POD_NAMESPACE") or bound.get("namespace") or _text(mount / "namespace")
        if not namespace:
            raise LookupError(f"the pod's namespace is not known: set POD_NAMESPACE or mount {mount / 'namespace'}")
        is_same = (bound.get("namespace"), bound.get("name")) == (namespace, name)
        return cls(namespace, name, bound.get("uid") if is_same else None, host, int(port), mount)

    @property
    def path(self) -> str:
        """Where the API server has it."""
        query = urlencode({"fieldManager": FIELD_MANAGER})
        return f"/api/v1/namespaces/{quote(self.namespace, safe='')}/pods/{quote(self.name, safe='')}?{query}"

    def write(self, cost: int) -> None:
        """Set the cost, and nothing but the cost; NotWritten says what came in between."""
        import http.client

        try:
            status, headers, answer = self._patch(_patch_body(self.uid, cost))
        except (OSError, http.client.HTTPException) as error:
            raise NotWritten(f"{type(error).__name__}: {error}") from error
        if not 200 <= status < 300:
            retry = headers.get("Retry-After", "")
            raise NotWritten(
                f"HTTP {status}: {_message(answer)}",
                is_final=status < 500 and status not in _TRANSIENT,
                retry_seconds=float(retry) if retry.isdecimal() else None,
            )

    def _patch(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        import http.client
        import ssl

        headers = {"Content-Type": "application/merge-patch+json", "Accept": "application/json"}
        headers |= {"Authorization": f"Bearer {_text(self.mount / 'token')}", "User-Agent": FIELD_MANAGER}
        trust = ssl.create_default_context(cafile=str(self.mount / "ca.crt"))
        trust.verify_flags &= ~ssl.VERIFY_X509_STRICT  # many clusters' authorities lack what Python 3.13 asks of them
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=_TIMEOUT_SECONDS, context=trust)
        try:
            connection.request("PATCH", self.path, body, headers)
            response = connection.getresponse()
            return response.status, dict(response.headers), response.read(_LARGEST_ANSWER)
        finally:
            connection.close()


def _patch_body(uid: str | None, cost: int) -> bytes:
    """A merge patch of the one key. With the uid it fails for a pod that has taken this one's name."""
    metadata: dict[str, Any] = {"annotations": {ANNOTATION: str(cost)}}
    if uid is not None:
        metadata["uid"] = uid
    return json.dumps({"metadata": metadata}).encode()


def _bound_to(token: str) -> dict[str, str]:
    """The pod that a token is bound to, as its claims say. Not verified: the API server does that."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["kubernetes.io"]
        return {"namespace": str(claims["namespace"]), **{key: str(claims["pod"][key]) for key in ("name", "uid")}}
    except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
        return {}


def _text(path: Path) -> str:
    """A mounted file; empty if there is none."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _message(answer: bytes) -> str:
    """The API server's words, on one line and not too long."""
    try:
        text = str(json.loads(answer)["message"])
    except (ValueError, KeyError, TypeError):
        text = answer.decode(errors="replace")
    return " ".join(text.split())[:500]
