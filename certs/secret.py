"""Keeps the material in a Secret: one object, so that every change is whole, guarded by its resourceVersion."""

import base64
import binascii
from typing import Any
from urllib.parse import quote

import msgspec

from certs import storage
from certs.material import Material, Publication
from certs.storage import Conflict, Refused, Stored
from kube_client.client import Client
from kube_client.errors import ApiError

TYPE = "kubernetes.io/tls"
PUBLISHED = "gpu-scheduler/ca-bundle-published"
FOREIGN = "cert-manager.io/certificate-name"
LABELS = {"app.kubernetes.io/name": "gpu-scheduler", "app.kubernetes.io/component": "certs"}

Json = dict[str, Any]


class SecretPlace:
    """A Secret of that name; keys, labels and annotations of others in it are left as they are."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._collection = f"/api/v1/namespaces/{quote(namespace, safe='')}/secrets"
        self._path = f"{self._collection}/{quote(name, safe='')}"
        self._document: Json = {}

    async def read(self) -> Stored | None:
        """Read the Secret; refuse one that cert-manager keeps."""
        try:
            self._document = msgspec.json.decode(await self._client.get(self._path), type=Json)
        except ApiError as error:
            if not error.is_not_found:
                raise
            self._document = {}
            return None
        metadata: Json = self._document["metadata"]
        annotations: dict[str, str] = metadata.get("annotations") or {}
        if FOREIGN in annotations:
            raise Refused(f"secret {self._namespace}/{self._name}: is kept by cert-manager")
        material = storage.whole({key: _decode(text) for key, text in (self._document.get("data") or {}).items()})
        publication = storage.read_publication(annotations.get(PUBLISHED, ""))
        return Stored(material, publication, str(metadata["resourceVersion"]))

    async def write(self, new: Material, publication: Publication | None, old: Stored | None) -> None:
        """Replace the Secret that was read, or create it."""
        document = self._changed(new, publication)
        try:
            if old is None:
                await self._client.post(self._collection, document)
            else:
                await self._client.put(self._path, document)
        except ApiError as error:
            # 404: it was deleted meanwhile. A lost answer is looked up like any other change by somebody.
            if error.is_conflict or error.is_ambiguous or (error.is_not_found and old is not None):
                raise Conflict(str(error)) from error
            raise

    def _changed(self, new: Material, publication: Publication | None) -> Json:
        metadata: Json = self._document.get("metadata") or {
            "name": self._name,
            "namespace": self._namespace,
            "labels": LABELS,
        }
        annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if key != PUBLISHED}
        if publication is not None:
            annotations[PUBLISHED] = storage.publication_text(publication)
        encoded = {key: base64.b64encode(part).decode() for key, part in storage.parts(new).items()}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": TYPE,
            **self._document,
            "metadata": {**metadata, "annotations": annotations},
            "data": {**(self._document.get("data") or {}), **encoded},
        }


def _decode(text: str | None) -> bytes:
    try:
        return base64.b64decode(text or "", validate=True)
    except binascii.Error:
        return b""
