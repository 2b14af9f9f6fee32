"""Kubeconfigs: one self-contained file per identity, written so that only its owner can read it."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.control_plane.pki import Pair


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server is and whom to trust for it."""

    url: str
    ca: bytes


def from_pair(pair: Pair) -> dict[str, str]:
    """The `user` of a kubeconfig with a client certificate."""
    return {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}


def from_token(token: str) -> dict[str, str]:
    """The `user` of a kubeconfig with a bearer token."""
    return {"token": token}


def write_kubeconfig(path: Path, endpoint: Endpoint, user: dict[str, str]) -> Path:
    """Write a kubeconfig with one cluster, one user and one context."""
    name = "control-plane"
    cluster = {"server": endpoint.url, "certificate-authority-data": _base64(endpoint.ca)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": path.stem, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": path.stem}}],
        "current-context": name,
    }
    write_private(path, yaml.safe_dump(document, sort_keys=False).encode())
    return path


def write_private(path: Path, content: bytes) -> Path:
    """Write a file that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(content)
    return path


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
