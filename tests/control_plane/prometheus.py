"""A real Prometheus, with its promtool, for a test's time: Debian's package unpacked into the cache, nothing installed.

A Prometheus on PATH is taken as it is. `python -m tests.control_plane.prometheus` prints the folder as its last line.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.control_plane.build import cache
from tests.control_plane.ports import free_port
from tests.control_plane.processes import Process
from tests.control_plane.toolchain import BuildError

Json = dict[str, Any]
PACKAGE = "prometheus"
BINARIES = ("prometheus", "promtool")
GRACE_SECONDS = 2.0  # nothing is worth saving
MISSING = "no prometheus and promtool on PATH, and none from Debian's package: "


def folder() -> Path:
    """The folder with both binaries: that on PATH, else the package's, unpacked once and cached."""
    on_path = [shutil.which(name) for name in BINARIES]
    if on_path[0] and on_path[1]:
        return Path(on_path[0]).parent
    done = cache() / PACKAGE
    done.parent.mkdir(parents=True, exist_ok=True)
    with (cache() / f"{PACKAGE}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.is_dir():
            _unpack(done)
    return done / "usr" / "bin"


def _unpack(done: Path) -> None:
    """Unpack beside the final place and rename, so that a folder of this name is always complete."""
    absent = [tool for tool in ("apt-get", "dpkg") if not shutil.which(tool)]
    if absent:
        raise BuildError(f"{MISSING}this machine has no {' and no '.join(absent)}; put a Prometheus on PATH")
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=done.parent) as partial:
        package = _download(Path(partial))
        _run(["dpkg", "-x", str(package), f"{partial}/root"], Path(partial))
        (Path(partial) / "root").rename(done)


def _download(target: Path) -> Path:
    """Fetch the package; package lists that lack it, or are old, are fetched into a folder of our own, without root."""
    try:
        _run(["apt-get", "download", PACKAGE], target)
    except BuildError:
        own = ["-o", f"Dir::State={target}/state", "-o", f"Dir::Cache={target}/cache"]
        own += ["-o", "Dir::State::status=/var/lib/dpkg/status", "-o", "APT::Sandbox::User="]
        for part in ("state/lists/partial", "cache/archives/partial"):
            (target / part).mkdir(parents=True)
        _run(["apt-get", *own, "update"], target)
        _run(["apt-get", *own, "download", PACKAGE], target)
    return next(target.glob("*.deb"))


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{MISSING}{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def promtool(*arguments: str | Path, folder_: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run promtool, output captured; its verdict is the exit code."""
    command = [(folder_ or folder()) / "promtool", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Prometheus:
    """One server on loopback; use it as a context manager. `config` is prometheus.yml as plain data."""

    def __init__(self, home: Path, config: Json, binaries: Path | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._home, self._binaries = home, binaries or folder()
        self._config = home / "prometheus.yml"
        self._config.write_text(yaml.safe_dump(config, sort_keys=False))
        self._process: Process | None = None
        self.url = ""

    def start(self) -> None:
        """Start it and return once it answers queries."""
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command: list[str | Path] = [
            self._binaries / "prometheus",
            f"--config.file={self._config}",
            f"--storage.tsdb.path={self._home / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
        environment = {"PATH": os.defpath, "HOME": str(self._home)}
        self._process = Process(self._home / "prometheus.log", command, environment, GRACE_SECONDS)
        self._process.wait_until(self._ready, "/-/ready")

    def stop(self) -> None:
        """Stop it; its folder stays, with the log."""
        if self._process is not None:
            self._process.stop()

    def query(self, expression: str, at: float | None = None) -> list[Json]:
        """The series of an instant query; a refused one is an error that says why."""
        moment = {} if at is None else {"time": str(at)}
        found: list[Json] = self._data("query", query=expression, **moment)["result"]
        return found

    def query_range(self, expression: str, start: float, end: float, step_seconds: float) -> list[Json]:
        """The series of a query over time, as a panel asks."""
        asked = {"start": str(start), "end": str(end), "step": str(step_seconds)}
        found: list[Json] = self._data("query_range", query=expression, **asked)["result"]
        return found

    def targets(self) -> list[Json]:
        """What it scrapes, with the health of each."""
        found: list[Json] = self._data("targets", state="active")["activeTargets"]
        return found

    def rules(self) -> list[Json]:
        """Every rule that it evaluates."""
        return [rule for group in self._data("rules")["groups"] for rule in group["rules"]]

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _data(self, what: str, **query: str) -> Json:
        address = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                data: Json = json.load(answer)["data"]
        except urllib.error.HTTPError as refused:
            with refused:
                raise RuntimeError(f"{what} {query}: {refused.read().decode()}") from refused
        return data


def main() -> int:
    """Fetch if needed and print the folder."""
    try:
        print(folder())
    except BuildError as error:
        print(f"prometheus: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
