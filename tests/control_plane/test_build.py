"""The cache of binaries, tried with a `go` that only writes down what it was asked to build."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.control_plane import build
from tests.control_plane.toolchain import BuildError

ROOT = Path(__file__).parents[2]
GO = """#!/bin/sh
if [ "$1" = env ]; then echo go1.26.0; exit; fi
for word; do [ "$before" = -o ] && out=$word; before=$word; done
sleep 0.1
echo "$word" >> "{log}"
echo binary > "$out"
"""


def run_builds(folder: Path, count: int, go: str = GO) -> list[tuple[int, str]]:
    """Start builds at the same time, with an empty cache and the fake `go`; give exit codes and output."""
    log, binary = folder / "built", folder / "bin" / "go"
    binary.parent.mkdir()
    binary.write_text(go.replace("{log}", str(log)))
    binary.chmod(0o755)
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "KUBEBUILDER_ASSETS": ""}
    environment["PATH"] = f"{binary.parent}:{os.defpath}"
    command = [sys.executable, "-m", "tests.control_plane.build"]
    running = [
        subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for _ in range(count)
    ]
    outputs = [process.communicate()[0] for process in running]
    return [(process.returncode, output) for process, output in zip(running, outputs, strict=True)]


def test_two_builds_at_once_build_once(tmp_path: Path) -> None:
    """Both print the same complete folder as their last line, and each binary was built a single time."""
    results = run_builds(tmp_path, 2)

    assert [code for code, _ in results] == [0, 0]
    folders = {output.splitlines()[-1] for _, output in results}
    assert [sorted(os.listdir(folder)) for folder in folders] == [sorted(build.BINARIES)]
    assert len((tmp_path / "built").read_text().splitlines()) == len(build.BINARIES)


def test_failed_build_leaves_nothing(tmp_path: Path) -> None:
    """No half-filled folder stays under the key, and the exit code says that it failed."""
    [(code, output)] = run_builds(tmp_path, 1, GO.replace("echo binary", "exit 3; echo"))

    assert code == 1
    assert "go build go.etcd.io/etcd/server/v3 failed with exit code 3" in output
    assert list((tmp_path / "cache" / "gpu-scheduler" / "control-plane").iterdir()) == []


def test_given_assets_must_be_complete(tmp_path: Path) -> None:
    """A folder of somebody else's is used as it is, or refused with the names of what it lacks."""
    for name in build.BINARIES:
        (tmp_path / name).touch(0o755)
    assert build.assets(tmp_path) == tmp_path

    (tmp_path / "etcd").unlink()
    with pytest.raises(BuildError, match="no executable etcd"):
        build.assets(tmp_path)


def test_key_follows_the_pin(tmp_path: Path) -> None:
    """The key changes with a source file, and not with the place where it lies."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "main.go").write_text("package main")
    first, moved = (build.key((build.program_target("oracle", tmp_path / name),)) for name in ("a", "b"))
    (tmp_path / "b" / "main.go").write_text("package main // changed")

    assert first == moved
    assert build.key((build.program_target("oracle", tmp_path / "b"),)) != first
