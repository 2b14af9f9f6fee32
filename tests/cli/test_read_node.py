"""`gpu-scheduler read node`: real nodes read as expected, ours are pinned whole, and only Nodes are accepted."""

import datetime
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import read_node
from cluster_model.verdict import BadRequest

ROOT = Path(__file__).parents[2]
OURS = ROOT / "tests" / "data" / "nodes"
SHARED = ROOT.parent / "shared" / "cases"
CHECKER = SHARED / "check_cases.py"
GPU = "nvidia.com/gpu"

Compare = Callable[[str, int, dict[str, Any]], list[str]]


def _document(path: Path) -> dict[str, Any]:
    documents = [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document]
    found: dict[str, Any] = documents[-1]
    return found


@pytest.fixture(scope="session")
def compare() -> Compare:
    """The comparison of the shared checker, imported from where it stands."""
    if not CHECKER.exists():
        pytest.skip("the shared cases are not beside this checkout")
    spec = importlib.util.spec_from_file_location("check_cases", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Compare = module.nodes
    return found


@pytest.mark.parametrize("path", sorted((SHARED / "nodes").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_real_node_reads_as_its_expect_line_says(path: Path, compare: Compare) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    expect = next(line for line in lines if line.startswith("# expect:")).removeprefix("# expect:").strip()
    assert compare(expect, 0, read_node.describe(_document(path))) == []


def test_the_command_itself_satisfies_the_shared_checker() -> None:
    command = Path(sys.executable).with_name("gpu-scheduler")
    if not CHECKER.exists() or not command.exists():
        pytest.skip("the shared cases are not beside this checkout, or the command is not installed")
    done = subprocess.run(
        [sys.executable, CHECKER, command, "nodes", SHARED / "nodes"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", sorted(OURS.glob("*.yaml")), ids=lambda path: path.stem)
def test_our_own_nodes_read_exactly_as_pinned(path: Path) -> None:
    pinned = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert read_node.describe(_document(path)) == pinned


def test_the_pinned_nodes_are_all_there() -> None:
    assert len(list(OURS.glob("*.yaml"))) == len(list(OURS.glob("*.json"))) == 13


@pytest.mark.parametrize("document", [{}, {"kind": "Pod"}, {"kind": None}, {"kind": "NodeList"}, {"kind": ["Node"]}])
def test_only_a_node_is_accepted(document: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match=r"kind: Invalid value: .*: must be Node"):
        read_node.describe(document)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"metadata": []}, "metadata"),
        ({"metadata": {"labels": ["a"]}}, "metadata.labels"),
        ({"metadata": {"labels": {"a": {}}}}, "metadata.labels"),
        ({"spec": {"taints": {}}}, "spec.taints"),
        ({"spec": {"taints": ["x"]}}, "spec.taints"),
        ({"status": {"allocatable": [1]}}, "status.allocatable"),
        ({"status": {"capacity": {GPU: []}}}, "status.capacity"),
    ],
)
def test_a_node_of_another_shape_is_refused_with_its_path(document: dict[str, Any], path: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_node.describe({"kind": "Node"} | document)
    (problem,) = refused.value.problems
    assert problem.path.startswith(path)
    assert problem.rule.startswith("must be ")


def test_unquoted_values_of_a_hand_written_file_are_taken_as_text() -> None:
    labels = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": 2, "nvidia.com/mps.capable": True, 1: None}
    taints = [{"key": "gpu", "value": True, "effect": "NoSchedule"}]
    status = {"capacity": {GPU: 8, "cpu": None}}
    found = read_node.describe(
        {"kind": "Node", "metadata": {"labels": labels}, "spec": {"taints": taints}, "status": status}
    )
    assert (found["physical"], found["shared"], found["taints"]) == (2, True, ["gpu=true:NoSchedule"])
    assert found["capacity"] == {GPU: 8}


def test_fields_that_the_reading_does_not_need_may_have_any_shape() -> None:
    metadata = {"name": 7, "creationTimestamp": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), "labels": None}
    document = {"kind": "Node", "metadata": metadata, "spec": {"podCIDR": 1, "taints": None}, "status": None}
    assert read_node.describe(document)["model"] is None


def test_the_reading_has_the_agreed_keys_and_is_json() -> None:
    found = read_node.describe({"kind": "Node", "metadata": {"labels": {"nvidia.com/gpu.count": "x"}}})
    assert list(json.loads(json.dumps(found))) == [
        "model",
        "memory_mib",
        "physical",
        "replicas",
        "shared",
        "unhealthy",
        "capacity",
        "schedulable",
        "device_memory_mib",
        "taints",
        "untrusted",
    ]
    assert set(found["untrusted"][0]) == {"label", "value", "why"}
