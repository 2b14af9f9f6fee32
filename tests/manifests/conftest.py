"""One installation of the manifests for all tests of this folder, on a control plane of their own: what they install
judges the whole cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.control_plane.cluster import ControlPlane
from tests.control_plane.fixtures import control_plane
from tests.manifests import installation
from tests.manifests.echo import Echo
from tests.manifests.installation import Installation

__all__ = ["control_plane"]


@pytest.fixture(scope="session")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The manifests applied; afterwards no condition may ever have failed to evaluate."""
    with Echo() as echo:
        yield installation.install(control_plane, echo, tmp_path_factory.mktemp("manifests"))
        assert not installation.evaluation_errors(control_plane)
