"""Builds etcd and the Kubernetes binaries from their pinned Go modules and keeps them in the user's cache.

`python -m tests.control_plane.build` prints the folder as its last line. The key of the cache is the pin itself, so
nothing is built twice and no Go is needed where the binaries are there already.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.control_plane import toolchain
from tests.control_plane.toolchain import BuildError

HERE = Path(__file__).parent / "go"
KUBERNETES_VERSION = "1.37.2"
ETCD_VERSION = "3.7.3"
BINARIES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")


@dataclass(frozen=True, slots=True)
class Target:
    """What is built from one pinned module; `sources` adds a folder of our own Go files to a copy of that module."""

    module: Path
    packages: tuple[tuple[str, str], ...]  # (binary, package)
    stamps: tuple[str, ...] = ()  # linker assignments, package.variable=value
    sources: Path | None = None

    def files(self) -> list[Path]:
        """All that decides what comes out, beside the fields above."""
        own = sorted(self.sources.rglob("*.go")) if self.sources else []
        return [self.module / "go.mod", self.module / "go.sum", *own]


def kubernetes_stamps() -> tuple[str, ...]:
    """The version as a release has it; a published module does not tell its commit, so that stays empty."""
    major, minor, _ = KUBERNETES_VERSION.split(".")
    values = {
        "gitVersion": f"v{KUBERNETES_VERSION}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitCommit": "",
        "gitTreeState": "archive",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return tuple(f"{package}.{name}={value}" for package in packages for name, value in values.items())


def control_plane_targets() -> tuple[Target, ...]:
    """etcd and the three Kubernetes binaries."""
    kubernetes = ((name, f"k8s.io/kubernetes/cmd/{name}") for name in BINARIES if name != "etcd")
    return (
        Target(HERE / "etcd", (("etcd", "go.etcd.io/etcd/server/v3"),)),
        Target(HERE / "kubernetes", tuple(kubernetes), kubernetes_stamps()),
    )


def program_target(name: str, sources: Path) -> Target:
    """A Go program of our own (`package main` in `sources`), linked against the same Kubernetes modules."""
    return Target(HERE / "kubernetes", ((name, "./program"),), kubernetes_stamps(), sources)


def control_plane() -> Path:
    """The folder with etcd and the Kubernetes binaries: KUBEBUILDER_ASSETS if set, else built once and cached."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    return assets(Path(given)) if given else folder("control-plane", control_plane_targets())


def program(name: str, sources: Path) -> Path:
    """The binary of `program_target`, built once and cached under the key of its sources and the modules' pin."""
    return folder(name, (program_target(name, sources),)) / name


def assets(given: Path) -> Path:
    """Somebody else's binaries, each of which must be there."""
    missing = [name for name in BINARIES if not os.access(given / name, os.X_OK)]
    if missing:
        raise BuildError(f"KUBEBUILDER_ASSETS: {given}: no executable {', '.join(missing)}")
    return given


def folder(name: str, targets: tuple[Target, ...]) -> Path:
    """The cached folder with the targets' binaries, built first if this pin never was."""
    home = cache() / name
    done = home / key(targets)
    if done.is_dir():
        return done
    home.mkdir(parents=True, exist_ok=True)
    with _locked(cache() / "lock"):
        if not done.is_dir():
            _build(targets, done)
    return done


def cache() -> Path:
    """Where binaries are kept, outside the work tree."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "gpu-scheduler"


def key(targets: tuple[Target, ...]) -> str:
    """A digest of the pin: module files, sources, packages, stamps, flags and platform; paths do not count."""
    digest = hashlib.sha256(repr((FLAGS, platform.system(), platform.machine())).encode())
    for target in targets:
        digest.update(repr((target.packages, target.stamps)).encode())
        for file in target.files():
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One build at a time on a machine; the kernel frees the lock of a builder that dies."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(targets: tuple[Target, ...], done: Path) -> None:
    """Build beside the final place and rename, so that a folder under its key is always complete."""
    go = toolchain.go(cache())
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=done.parent))
    try:
        for target in targets:
            _build_target(go, target, partial)
        partial.chmod(0o755)
        partial.rename(done)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _build_target(go: Path, target: Target, out: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="gpu-scheduler-module-") as copy:
        for file in ("go.mod", "go.sum"):
            shutil.copy(target.module / file, copy)
        if target.sources:
            shutil.copytree(target.sources, Path(copy) / "program", ignore=shutil.ignore_patterns("go.mod", "go.sum"))
        for binary, package in target.packages:
            _go_build(go, target, package, Path(copy), out / binary)


def _go_build(go: Path, target: Target, package: str, module: Path, binary: Path) -> None:
    print(f"building {binary.name} ({package})", file=sys.stderr, flush=True)
    linker = " ".join(["-s -w", *(f"-X {stamp}" for stamp in target.stamps)])
    command: list[str | Path] = [go, "build", *FLAGS, "-ldflags", linker, "-o", binary, package]
    done = subprocess.run(command, cwd=module, env=toolchain.environment(), stdout=sys.stderr, check=False)
    if done.returncode:
        raise BuildError(f"go build {package} failed with exit code {done.returncode}; its messages are above")


def main() -> int:
    """Build if needed and print the folder."""
    try:
        print(control_plane())
    except BuildError as error:
        print(f"control plane: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
