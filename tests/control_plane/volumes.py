"""ConfigMaps and Secrets as a kubelet mounts them: files behind a `..data` link that is swapped in one step."""

from __future__ import annotations

import base64
import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.control_plane.api import Api


class Volume:
    """One mounted directory; `publish` replaces its content atomically, as the kubelet does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._generations = itertools.count(1)
        path.mkdir(parents=True)

    def publish(self, files: Mapping[str, bytes]) -> None:
        """Write the files into a new generation, point `..data` at it, remove the old one."""
        data = self.path / "..data"
        old = data.resolve() if data.exists() else None
        fresh = self.path / f"..{next(self._generations)}"
        fresh.mkdir(mode=0o700)
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        swap = self.path / "..data_tmp"
        swap.symlink_to(fresh.name)
        swap.rename(data)
        self._link(files)
        if old is not None:
            shutil.rmtree(old)

    def _link(self, files: Mapping[str, bytes]) -> None:
        for name in files:
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(f"..data/{name}")


def config_map(api: Api, namespace: str, name: str) -> dict[str, bytes]:
    """The files that a ConfigMap mounts."""
    data = api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}").get("data", {})
    return {key: value.encode() for key, value in data.items()}


def secret(api: Api, namespace: str, name: str) -> dict[str, bytes]:
    """The files that a Secret mounts."""
    data = api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}").get("data", {})
    return {key: base64.b64decode(value) for key, value in data.items()}
