"""The webhook configurations whose API servers must trust the bundle: read, compare, write only what differs."""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec
from cryptography import x509

from certs import material
from certs.storage import Conflict, Refused
from kube_client.client import JSON_PATCH, Client
from kube_client.errors import ApiError

GROUP = "/apis/admissionregistration.k8s.io/v1"
KINDS = {"mutating": "mutatingwebhookconfigurations", "validating": "validatingwebhookconfigurations"}
# A bundle that somebody filled up is not carried along without end.
FOUND_LIMIT = 5

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """A configuration by kind (`mutating`, `validating`) and name."""

    kind: str
    name: str

    @property
    def path(self) -> str:
        return f"{GROUP}/{KINDS[self.kind]}/{quote(self.name, safe='')}"


@dataclass(frozen=True, slots=True)
class Found:
    """A configuration as it was read; None where there is none."""

    target: Target
    document: Json | None

    @property
    def bundles(self) -> list[bytes]:
        """The caBundle of each webhook."""
        hooks = (self.document or {}).get("webhooks") or []
        return [_decode((hook.get("clientConfig") or {}).get("caBundle")) for hook in hooks]


def targets(names: Iterable[str]) -> tuple[Target, ...]:
    """Read `mutating/NAME`, `validating/NAME`, or NAME for one of each; raise ValueError on another form."""
    chosen: dict[Target, None] = {}
    for text in names:
        kind, slash, name = text.rpartition("/")
        if not name or (slash and kind not in KINDS):
            raise ValueError(f'Invalid value: "{text}": must be NAME, mutating/NAME or validating/NAME')
        chosen.update((Target(kind, name), None) for kind in ([kind] if slash else KINDS))
    return tuple(chosen)


async def read(client: Client, wanted: Iterable[Target]) -> tuple[Found, ...]:
    """Read all of them."""
    return tuple([Found(target, await _get(client, target)) for target in wanted])


async def publish(client: Client, found: Iterable[Found], bundle: bytes) -> bool:
    """Write the bundle where it differs; tell whether anything was written. Raise Conflict on a change meanwhile."""
    changes = [(at, patch) for at in found if (patch := _patch(at, bundle))]
    for at, patch in changes:
        try:
            await client.patch(at.target.path, patch, JSON_PATCH)
        except ApiError as error:
            # 422: the `test` of the resourceVersion failed. 404: deleted meanwhile, which the next reading tells.
            if error.is_conflict or error.is_not_found or error.status == 422:
                raise Conflict(str(error)) from error
            raise
    return bool(changes)


def check(found: Iterable[Found]) -> None:
    """Refuse to go on if one is missing; what exists has been served before."""
    missing = [at.target for at in found if at.document is None]
    if missing:
        listed = ", ".join(f'{KINDS[target.kind]} "{target.name}"' for target in missing)
        raise Refused(f"{listed}: not found; the certificate is stored, the bundle is not published there")


def authorities(found: Iterable[Found]) -> list[x509.Certificate]:
    """Give the CAs that API servers trust at present."""
    bundles = dict.fromkeys(bundle for at in found for bundle in at.bundles)
    return [ca for bundle in bundles for ca in material.certificates(bundle)][:FOUND_LIMIT]


async def _get(client: Client, target: Target) -> Json | None:
    try:
        return msgspec.json.decode(await client.get(target.path), type=Json)
    except ApiError as error:
        if error.is_not_found:
            return None
        raise


def _patch(at: Found, bundle: bytes) -> list[Json]:
    encoded = base64.b64encode(bundle).decode()
    changes = [
        {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": encoded}
        for index, old in enumerate(at.bundles)
        if old != bundle
    ]
    if not changes or at.document is None:
        return []
    version = at.document["metadata"]["resourceVersion"]
    return [{"op": "test", "path": "/metadata/resourceVersion", "value": version}, *changes]


def _decode(text: str | None) -> bytes:
    try:
        return base64.b64decode(text or "", validate=True)
    except binascii.Error:
        return b""
