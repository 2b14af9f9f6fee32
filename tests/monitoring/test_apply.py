"""The component on a real API server that knows the operator's kinds by the operator's own definitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control_plane import operator_kinds
from tests.control_plane.cluster import ControlPlane
from tests.monitoring.rules import COMPONENT

pytestmark = pytest.mark.control_plane
PLURALS = ("servicemonitors", "prometheusrules")


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The run's control plane with the kinds and the namespace; both go again."""
    for plural in PLURALS:
        control_plane.kubectl("apply", "--server-side", "-f", operator_kinds.definition(plural))
    names = [f"crd/{plural}.monitoring.coreos.com" for plural in PLURALS]
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    control_plane.api.post("/api/v1/namespaces", {"metadata": {"name": "gpu-scheduler"}})
    yield control_plane
    control_plane.kubectl("delete", *names, "namespace/gpu-scheduler", "--wait=false")


def test_operator_takes_every_object(plane: ControlPlane) -> None:
    """Strictly: a field that its kinds do not have would be refused, not dropped."""
    done = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-k", COMPONENT)

    assert done.stdout.count("created (server dry run)") == 10


def test_field_that_is_none_is_refused(plane: ControlPlane, tmp_path: Path) -> None:
    """So the test above can fail."""
    text = (COMPONENT / "service-monitors.yaml").read_text()
    (tmp_path / "wrong.yaml").write_text(text.replace("interval: 30s", "period: 30s"))

    done = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", tmp_path / "wrong.yaml", check=False)

    assert 'unknown field "spec.endpoints[0].period"' in done.stderr
