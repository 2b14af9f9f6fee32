"""Pytest fixtures around one control plane per run; a conftest imports them by name.

A control plane that cannot be built or started is an error of every test that needs it, on any machine: never a skip.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.control_plane import waiting
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.kubelet import Kubelet


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """The run's control plane. Tests share it: each keeps to a namespace and to node names of its own."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="session")
def kubelet(control_plane: ControlPlane) -> Iterator[Kubelet]:
    """The fake kubelet of the run's control plane; it has no nodes until a test creates some."""
    with Kubelet(control_plane.kubeconfig) as running:
        yield running


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own, ready for pods; its deletion is begun when the test ends."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    path = f"/api/v1/namespaces/{name}"
    control_plane.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    waiting.until(control_plane.api.probe(f"{path}/serviceaccounts/default"), f"default ServiceAccount in {name}")
    yield name
    control_plane.api.delete(path)
