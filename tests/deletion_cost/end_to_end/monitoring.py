"""How the stage's Prometheus is set up: the controller as the ServiceMonitor says, the pods' loads beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.control_plane.api import Json
from tests.monitoring import rules

JOB = "gpu-scheduler-deletion-cost"
METRIC = "app_active_requests"


def config(targets: Path, loads: str) -> Json:
    """prometheus.yml; the controllers' addresses are read from a file."""
    controllers = {"job_name": JOB, "honor_labels": honors_labels(), "scrape_interval": "500ms"}
    controllers |= {"scrape_timeout": "500ms", "file_sd_configs": [{"files": [str(targets)], "refresh_interval": "1s"}]}
    # What the operator sets of every target.
    controllers["relabel_configs"] = [
        {"target_label": "namespace", "replacement": "gpu-scheduler"},
        {"target_label": "pod", "replacement": f"{JOB}-0"},
        {"target_label": "service", "replacement": f"{JOB}-metrics"},
        {"target_label": "endpoint", "replacement": "metrics"},
    ]
    applications = {"job_name": "applications", "honor_labels": True, "scrape_interval": "500ms"}
    applications |= {"scrape_timeout": "500ms", "static_configs": [{"targets": [loads]}]}
    rule_file = rules.write(targets.parent)
    return {
        "global": {"evaluation_interval": "1s"},
        "rule_files": [str(rule_file)],
        "scrape_configs": [controllers, applications],
    }


def honors_labels() -> bool:
    """Whether the ServiceMonitor keeps the labels of the controller's own."""
    monitors = yaml.safe_load_all((rules.COMPONENT / "service-monitors.yaml").read_text())
    [endpoint] = next(one["spec"]["endpoints"] for one in monitors if one["metadata"]["name"] == JOB)
    return bool(endpoint.get("honorLabels"))


def page(loads: Mapping[str, float]) -> bytes:
    """The applications' metrics, by pod, in Prometheus' text form."""
    return "".join(
        f'{METRIC}{{namespace="default",pod="{pod}"}} {load}\n' for pod, load in list(loads.items())
    ).encode()
