"""Makes the control plane's fixtures known to the tests of this folder."""

from tests.control_plane.fixtures import control_plane, namespace

__all__ = ["control_plane", "namespace"]
