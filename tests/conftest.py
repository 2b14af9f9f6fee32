"""Fixtures of the whole run: one control plane and its kubelet, started only when a test asks for them."""

from hypothesis import settings

from tests.control_plane.fixtures import control_plane, kubelet, namespace
from tests.unhurried import UNHURRIED

__all__ = ["control_plane", "kubelet", "namespace"]

# For every property test: pytest limits the run as a whole.
settings.register_profile("unhurried", UNHURRIED)
settings.load_profile("unhurried")
