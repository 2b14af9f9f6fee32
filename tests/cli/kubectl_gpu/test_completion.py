"""kubectl's own completion, asked as a shell asks it, offers what may follow `kubectl gpu`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control_plane.cluster import ControlPlane
from tests.control_plane.waiting import until

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

BIN = Path(sys.executable).parent
NAMESPACE = "kubectl-gpu-completion"


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A namespace with two pods."""
    api = control_plane.api
    api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    until(api.probe(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"), "default ServiceAccount")
    for name in ("chat-1", "other"):
        spec = {"containers": [{"name": "main", "image": "i"}], "schedulerName": "nobody"}
        api.post(f"/api/v1/namespaces/{NAMESPACE}/pods", {"metadata": {"name": name}, "spec": spec})
    yield control_plane
    api.delete(f"/api/v1/namespaces/{NAMESPACE}")


def offered(*words: str, kubeconfig: Path | None = None) -> tuple[list[str], str]:
    """What `kubectl __complete gpu …` offers for the last word, and the directive."""
    given = {"PATH": str(BIN), "HOME": "/nonexistent", "KUBECONFIG": str(kubeconfig or "/nonexistent")}
    command = ["kubectl", "__complete", "gpu", *words]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=True, cwd="/")
    *found, directive = done.stdout.splitlines()
    return found, directive


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], ["cost"]),
        (["co"], ["cost"]),
        (["x"], []),
        (["cost", "--names"], ["--namespace"]),
        (["cost", "-o", ""], ["json", "name", "table", "wide", "yaml"]),
        (["cost", "-o", "w"], ["wide"]),
        (["cost", "--output=y"], ["yaml"]),
    ],
)
def test_words_of_the_plugin_are_offered_without_a_cluster(words: list[str], expected: list[str]) -> None:
    assert offered(*words) == (expected, ":4")


def test_files_are_left_to_the_shell() -> None:
    assert offered("cost", "--kubeconfig", "/et") == ([], ":0")


def test_names_come_from_the_cluster(plane: ControlPlane) -> None:
    assert offered("cost", "-n", "kubectl-gpu-comp", kubeconfig=plane.kubeconfig) == ([NAMESPACE], ":4")
    assert offered("cost", "-n", NAMESPACE, "ch", kubeconfig=plane.kubeconfig) == (["chat-1"], ":4")
    assert offered("cost", f"--namespace={NAMESPACE}", "", kubeconfig=plane.kubeconfig) == (["chat-1", "other"], ":4")


def test_contexts_come_from_the_kubeconfig_that_is_named(plane: ControlPlane) -> None:
    [context], directive = offered("cost", f"--kubeconfig={plane.kubeconfig}", "--context", "")

    assert f"name: {context}" in plane.kubeconfig.read_text()
    assert directive == ":4"


def test_a_cluster_that_does_not_answer_offers_nothing() -> None:
    assert offered("cost", "--server=https://127.0.0.1:1", "") == ([], ":4")
