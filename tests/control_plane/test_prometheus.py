"""Where the tests' Prometheus comes from, tried with tools that only note what they were asked; and the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.control_plane import waiting
from tests.control_plane.prometheus import Prometheus, promtool

ROOT = Path(__file__).parents[2]
APT = """#!/bin/sh
echo "apt-get $*" >> "{log}"
case "$*" in
*update*) exit 0;;
*state*download*) {second};;
*) {first};;
esac
"""
DPKG = """#!/bin/sh
echo "dpkg $*" >> "{log}"
sleep 0.1
mkdir -p "$3/usr/bin"
"""
FETCH, FAIL = "echo package > prometheus_2_amd64.deb", "echo no such package >&2; exit 100"


def fetch(folder: Path, count: int = 1, **tools: str) -> list[tuple[int, str]]:
    """Ask for the binaries at the same time, with an empty cache and the given tools alone; exit codes and output."""
    (folder / "bin").mkdir(exist_ok=True)
    for name, text in tools.items():
        tool = folder / "bin" / name.replace("_", "-")
        tool.write_text(text.replace("{log}", str(folder / "log")))
        tool.chmod(0o755)
    for name in ("sh", "mkdir", "sleep"):
        (folder / "bin" / name).symlink_to(f"/bin/{name}")
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PATH": str(folder / "bin")}
    (folder / "cache" / "gpu-scheduler").mkdir(parents=True)
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.control_plane.prometheus"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(count)
    ]
    outputs = [process.communicate()[0] for process in running]
    return [(process.returncode, output) for process, output in zip(running, outputs, strict=True)]


def asked(folder: Path) -> list[str]:
    """The tools that were called, with their verb."""
    lines = (folder / "log").read_text().splitlines()
    return [f"{line.split()[0]} {'own ' if 'Dir::State' in line else ''}{verb(line)}" for line in lines]


def verb(line: str) -> str:
    """What the tool was told to do."""
    return next(word for word in line.split() if word in ("update", "download", "-x"))


def test_two_at_once_fetch_once(tmp_path: Path) -> None:
    """Both print the same folder, and the package was fetched a single time."""
    results = fetch(tmp_path, 2, apt_get=APT.replace("{first}", FETCH), dpkg=DPKG)

    assert [code for code, _ in results] == [0, 0], results
    assert len({output for _, output in results}) == 1
    assert asked(tmp_path) == ["apt-get download", "dpkg -x"]


def test_old_package_lists_are_fetched_beside_the_machines(tmp_path: Path) -> None:
    """Where the plain download fails, lists go to a folder of our own: that needs no root."""
    apt = APT.replace("{first}", FAIL).replace("{second}", FETCH)

    assert fetch(tmp_path, apt_get=apt, dpkg=DPKG)[0][0] == 0
    assert asked(tmp_path) == ["apt-get download", "apt-get own update", "apt-get own download", "dpkg -x"]


def test_package_that_cannot_be_had_says_what_apt_said(tmp_path: Path) -> None:
    """The message holds the command and apt's own words, and nothing is left under the cache's name."""
    apt = APT.replace("{first}", FAIL).replace("{second}", FAIL)
    [(code, output)] = fetch(tmp_path, apt_get=apt, dpkg=DPKG)

    assert code == 1
    assert "download prometheus: exit code 100\nno such package" in output
    assert list((tmp_path / "cache" / "gpu-scheduler").glob("prometheus*/")) == []


def test_machine_without_apt_says_so(tmp_path: Path) -> None:
    """What is missing is named, and what to do."""
    [(code, output)] = fetch(tmp_path)

    assert (code, output) == (
        1,
        "prometheus: no prometheus and promtool on PATH, and none from Debian's package: "
        "this machine has no apt-get and no dpkg; put a Prometheus on PATH\n",
    )


def test_prometheus_on_path_is_taken(tmp_path: Path) -> None:
    """Somebody's own Prometheus is used; apt is not asked."""
    tool = "#!/bin/sh\n"

    assert fetch(tmp_path, prometheus=tool, promtool=tool) == [(0, f"{tmp_path / 'bin'}\n")]


@pytest.mark.control_plane
def test_server_answers_queries_until_it_is_stopped(tmp_path: Path) -> None:
    """It scrapes a target given as plain data, and its process is gone after the block."""
    static = {"static_configs": [{"targets": ["127.0.0.1:1"]}]}
    jobs = [{"job_name": "nobody", "scrape_interval": "200ms", "scrape_timeout": "100ms", **static}]
    with Prometheus(tmp_path, {"scrape_configs": jobs}) as server:
        waiting.until(lambda: bool(server.query('up{job="nobody"}')), "a scrape")
        assert [series["value"][1] for series in server.query('up{job="nobody"}')] == ["0"]
        with pytest.raises(RuntimeError, match="parse error"):
            server.query("up{")

    with pytest.raises(OSError, match="refused"):
        server.query("up")


def test_promtool_gives_its_verdict(tmp_path: Path) -> None:
    """A rule file that does not parse is refused with promtool's own words."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("groups: [{name: a, rules: [{alert: A, expr: 'up{'}]}]")

    done = promtool("check", "rules", rules)

    assert done.returncode != 0
    assert "could not parse expression" in done.stdout + done.stderr
