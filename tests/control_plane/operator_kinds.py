"""The Prometheus operator's own CustomResourceDefinitions, from its Go module, kept in the cache."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.control_plane import toolchain
from tests.control_plane.build import cache
from tests.control_plane.toolchain import BuildError

MODULE, VERSION = "github.com/prometheus-operator/prometheus-operator", "v0.85.0"
SUM = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
FILES = "example/prometheus-operator-crd/monitoring.coreos.com_{}.yaml"


def definition(plural: str) -> Path:
    """The file that defines a kind, such as `servicemonitors`."""
    folder = cache() / f"prometheus-operator-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    with (cache() / "operator.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = folder / f"{plural}.yaml"
        if not kept.exists():
            partial = kept.with_suffix(".partial")
            shutil.copyfile(_module() / FILES.format(plural), partial)
            partial.rename(kept)
    return kept


def _module() -> Path:
    """Where Go has unpacked the module; what it got must be what was pinned."""
    with tempfile.TemporaryDirectory() as nowhere:
        command: list[str | Path] = [toolchain.go(cache()), "mod", "download", "-json", f"{MODULE}@{VERSION}"]
        done = subprocess.run(command, cwd=nowhere, env=toolchain.environment(), capture_output=True, check=False)
    found = json.loads(done.stdout or "{}")
    if done.returncode or found.get("Sum") != SUM:
        raise BuildError(
            f"go mod download {MODULE}@{VERSION}: {found.get('Error') or found.get('Sum') or done.stderr.decode()}"
        )
    return Path(found["Dir"])
