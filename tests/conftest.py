"""Fixtures of the whole run: one control plane and its kubelet, started only when a test asks for them."""

from tests.control_plane.fixtures import control_plane, kubelet, namespace

__all__ = ["control_plane", "kubelet", "namespace"]
