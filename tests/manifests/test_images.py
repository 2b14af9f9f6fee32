"""The Dockerfile's images, as far as text can tell: one per process, its own dependencies only, nobody's user."""

from __future__ import annotations

import configparser
import json
import re
from pathlib import Path

import pytest

from tests.manifests.rendering import Json, overlay, pods

ROOT = Path(__file__).parents[2]
IMAGES = {"scheduler": "gpu-scheduler", "webhook": "gpu-scheduler-webhook", "certs": "gpu-scheduler-certs"}


def stages() -> dict[str, str]:
    """The text of each build stage by its name."""
    parts = re.split(r"(?m)^FROM (\S+) AS (\S+)$", (ROOT / "Dockerfile").read_text())
    return {name: f"FROM {base}{text}" for base, name, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)}


def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


@pytest.mark.parametrize("target", IMAGES)
def test_image_installs_only_its_own_extra(target: str) -> None:
    """From wheels that an earlier stage has built, without a network."""
    assert re.findall(r"gpu-scheduler\[(\w+)\]", stages()[target]) == [target]
    assert f"from={target}-wheels" in stages()[target]
    assert "--no-index" in stages()[target]
    assert f"'.[{target}]'" in stages()[f"{target}-wheels"]


@pytest.mark.parametrize("target", IMAGES)
def test_image_runs_as_the_manifests_user(target: str) -> None:
    [user] = re.findall(r"(?m)^USER (\d+:\d+)$", stages()[target])
    assert {user} == {
        f"{spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}" for spec in specs()
    }


@pytest.mark.parametrize("target", ["scheduler", "webhook"])
def test_image_runs_by_default_what_the_manifests_run(target: str) -> None:
    [command] = re.findall(r"(?m)^CMD (.*)$", stages()[target])
    [args] = [c["args"] for spec in specs() for c in spec["containers"] if c["name"] == target]
    assert json.loads(command) == args


def specs() -> list[Json]:
    return [spec for _, spec in pods(overlay("eks"))]


def test_manifests_run_the_images_that_are_built() -> None:
    """One target per image, and the command to build each."""
    built = dict(re.findall(r"--target (\S+) --tag (\S+):", (ROOT / "Dockerfile").read_text()))
    assert built == IMAGES


def test_webhook_installs_neither_numpy_nor_the_api_client() -> None:
    wanted = setup()["options"]["install_requires"] + setup()["options.extras_require"]["webhook"]
    assert not re.search(r"numpy|kubernetes|aiohttp|uvloop", wanted)


def test_build_context_holds_every_package_and_no_tests() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    packages = {name.partition(".")[0] for name in setup()["options"]["packages"].split()}
    assert packages | {"setup.cfg", "pyproject.toml", "README.md", "LICENSE"} == allowed
