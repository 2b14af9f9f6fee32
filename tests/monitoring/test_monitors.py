"""What is scraped: each process, once, under a job of its own, and no label that changes with a pod's cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.manifests import rendering
from tests.manifests.rendering import Json, of_kind, only

# prometheus-operator, monitoring.coreos.com/v1: what of it is used here.
ENDPOINT = {"port", "interval", "honorLabels", "relabelings"}
SPEC = {"selector", "endpoints"}
MONITORED = ("Deployment", "ServiceMonitor")
JOBS = ["gpu-scheduler", "gpu-scheduler-deletion-cost", "gpu-scheduler-webhook"]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """The base with the component."""
    return rendering.render(rendering.write(tmp_path_factory.mktemp("monitoring"), components=["monitoring"]))


def test_every_deployment_has_its_monitor(objects: list[Json]) -> None:
    """One ServiceMonitor per Deployment, of the same name."""
    names = {kind: sorted(item["metadata"]["name"] for item in of_kind(objects, kind)) for kind in MONITORED}

    assert names["ServiceMonitor"] == names["Deployment"] == JOBS


@pytest.mark.parametrize("job", JOBS)
def test_monitor_leads_to_the_pods_port(objects: list[Json], job: str) -> None:
    """ServiceMonitor selects exactly one Service with its port, which selects the pods and their port `health`."""
    spec = only(objects, "ServiceMonitor", job)["spec"]
    [endpoint] = spec["endpoints"]
    wanted = spec["selector"]["matchLabels"].items()
    services = [item for item in of_kind(objects, "Service") if wanted <= item["metadata"]["labels"].items()]
    [service] = [item for item in services if endpoint["port"] in [port.get("name") for port in item["spec"]["ports"]]]
    [port] = service["spec"]["ports"]
    pods = only(objects, "Deployment", job)["spec"]["template"]
    ports = {entry["name"]: entry["containerPort"] for entry in pods["spec"]["containers"][0]["ports"]}

    assert service["spec"]["selector"].items() <= pods["metadata"]["labels"].items()
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert (port["targetPort"], port["port"]) == ("health", ports["health"])


@pytest.mark.parametrize("job", JOBS)
def test_no_label_of_a_target_follows_a_pod(objects: list[Json], job: str) -> None:
    """Only the job is set: a cost among the target's labels would begin all its series anew at each write."""
    spec = only(objects, "ServiceMonitor", job)["spec"]
    [endpoint] = spec["endpoints"]

    assert set(spec) == SPEC
    assert set(endpoint) <= ENDPOINT
    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": job}]


def test_labels_of_the_controllers_gauges_stay(objects: list[Json]) -> None:
    """They tell of other pods by `namespace` and `pod`, which a target has as well."""
    [endpoint] = only(objects, "ServiceMonitor", "gpu-scheduler-deletion-cost")["spec"]["endpoints"]

    assert endpoint["honorLabels"] is True


def test_component_stays_in_the_namespace(objects: list[Json], tmp_path: Path) -> None:
    """All that it adds lies beside the processes that it watches."""
    plain = {(item["kind"], item["metadata"]["name"]) for item in rendering.render(rendering.write(tmp_path / "plain"))}
    added = [item for item in objects if (item["kind"], item["metadata"]["name"]) not in plain]

    assert len(added) == 10
    assert {item["metadata"]["namespace"] for item in added} == {"gpu-scheduler"}
