"""ReplicaSets on the control plane whose pods answer for their load. Ends what it starts; decides nothing."""

from collections.abc import Iterator

import pytest

from tests.control_plane.cluster import ControlPlane
from tests.control_plane.pod_endpoints import PodEndpoints
from tests.deletion_cost.running import Workload


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """A control plane without the kubelet of the other tests': here each test says which pods run, and where."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="module")
def endpoints() -> Iterator[PodEndpoints]:
    """One listener for the pods of all a module's workloads."""
    with PodEndpoints() as serving:
        yield serving


@pytest.fixture
def pods(control_plane: ControlPlane, endpoints: PodEndpoints, namespace: str) -> Workload:
    """Workloads of a namespace of the test's own."""
    return Workload(control_plane, endpoints, namespace)
