"""What is left on pods when they, or the whole cluster, want no costs any more."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_model.deletion_cost import ANNOTATION, SWITCH
from tests.control_plane.cluster import ControlPlane, kubectl_binary
from tests.control_plane.waiting import until
from tests.deletion_cost.running import Workload, controller

pytestmark = pytest.mark.control_plane

PAGE = Path(__file__).parents[2] / "docs" / "deletion-cost.md"
KEY, SWITCHED = ANNOTATION.replace("/", "__"), SWITCH.replace("/", "__")


def test_a_pod_that_opts_out_while_no_controller_is_there_loses_its_cost_later(pods: Workload) -> None:
    pods.create("web", 2, victims="2")
    one, other = pods.start("web")
    with controller(pods.plane) as first:
        pods.wait_costs("web", {one: "-49", other: "-49"})
        first.process.signal(signal.SIGKILL)
        first.wait_exit()
    pods.annotate(one, **{SWITCHED: "off"})
    with controller(pods.plane):
        pods.wait_costs("web", {one: None, other: "-49"})


def test_the_documented_command_removes_what_is_ours_and_nothing_else(pods: Workload) -> None:
    pods.create("new", 1, **{ANNOTATION: "-50"})
    pods.create("web", 3, victims="3")
    mine, other, theirs = pods.start("web")
    with controller(pods.plane):
        pods.wait_costs("web", dict.fromkeys((mine, other, theirs), "-49"))
        pods.annotate(theirs, **{KEY: "7"})
        until(lambda: bool(pods.events(theirs, "DeletionCostForeignWriter")), "the event")
    pods.create("cold", 1)
    (cold,) = pods.start("cold")
    as_a_webhook(pods, cold, "-50")

    removed = as_documented(pods.plane)
    assert removed.returncode == 0, removed.stderr
    assert pods.costs("web") == {mine: None, other: None, theirs: "7"}
    assert pods.costs("cold") == {cold: None}
    assert set(pods.costs("new").values()) == {"-50"}  # the template's
    pods.annotate(theirs, **{KEY: None})  # or the next test's controller tells of it


def as_a_webhook(pods: Workload, name: str, cost: str) -> None:
    """Write a value that nobody owns, as what admission adds."""
    pods.annotate(name, **{KEY: cost})
    pods.plane.api.patch(f"{pods.path}/{name}", {"metadata": {"managedFields": [{}]}})
    assert pods.cost_writers(name) == []


def as_documented(plane: ControlPlane) -> subprocess.CompletedProcess[str]:
    (command,) = (block for block in PAGE.read_text().split("```")[1::2] if "awk" in block)
    path = os.pathsep.join((str(Path(sys.executable).parent), str(Path(kubectl_binary()).parent), os.defpath))
    environment = {"PATH": path, "HOME": "/nonexistent", "KUBECONFIG": str(plane.kubeconfig)}
    return subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)
