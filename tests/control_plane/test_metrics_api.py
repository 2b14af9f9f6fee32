"""The metrics API of fake pods, asked through the real API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.control_plane.cluster import ControlPlane
from tests.control_plane.metrics_api import ROOT, MetricsApi

pytestmark = pytest.mark.control_plane


def test_usage_is_read_through_the_api_server(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """Only pods that exist, match the selector and were told have metrics; afterwards the API is gone."""
    api, spec = control_plane.api, {"containers": [{"name": "main", "image": "example.com/app:1"}]}
    for name in ("a", "b"):
        api.post(
            f"/api/v1/namespaces/{namespace}/pods", {"metadata": {"name": name, "labels": {"x": name}}, "spec": spec}
        )
    with MetricsApi(api, tmp_path) as metrics:
        for name in ("a", "b", "gone"):
            metrics.tell(namespace, name, 250)
        every = api.get(f"{ROOT}/namespaces/{namespace}/pods")["items"]
        one = api.get(f"{ROOT}/namespaces/{namespace}/pods", labelSelector="x=a")["items"]
        assert [item["metadata"]["name"] for item in every] == ["a", "b"]
        assert [item["containers"][0]["usage"]["cpu"] for item in one] == ["250m"]
    assert not api.ok(f"{ROOT}/namespaces/{namespace}/pods")
