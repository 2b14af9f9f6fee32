"""`gpu-scheduler read pod`: real workloads read as expected, ours are pinned whole, and no document crashes it."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli import documents, read_pod
from cluster_model.verdict import BadRequest

ROOT = Path(__file__).parents[2]
OURS = ROOT / "tests" / "data" / "workloads"
SHARED = ROOT.parent / "shared" / "cases"
CHECKER = SHARED / "check_cases.py"
GPU = "nvidia.com/gpu"

Compare = Callable[[str, int, dict[str, Any]], list[str]]

amounts = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(["1", "0.5", "2Gi"])
)
names = (
    st.sampled_from([GPU, "nvidia.com/gpumem", "nvidia.com/mig-1g.5gb", "koordinator.sh/gpu-memory", "cpu"]) | st.text()
)
texts = st.text(max_size=6) | st.sampled_from(
    ["A100", "T4,H100", "0.5", "40Gi", "Always", "In", "Gt", "70000", "g5.xlarge"]
)
plain = st.none() | st.booleans() | st.integers() | st.floats() | texts
anything = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


def mostly(shape: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw a well-formed value nine times out of ten, else whatever people manage to write."""
    return st.integers(0, 9).flatmap(lambda n: shape if n else anything)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return mostly(st.fixed_dictionaries({}, optional={name: mostly(field) for name, field in fields.items()}))


resources = record(limits=st.dictionaries(names, amounts), requests=st.dictionaries(names, amounts))
ports = st.lists(record(containerPort=st.integers(), hostPort=st.integers()), max_size=2)
containers = st.lists(record(name=texts, restartPolicy=texts, resources=resources, ports=ports), max_size=3)
keys = st.sampled_from(["nvidia.com/gpu.product", "nvidia.com/gpu.memory", "node.kubernetes.io/instance-type"]) | texts
expressions = st.lists(record(key=keys, operator=texts, values=st.lists(texts, max_size=2)), max_size=3)
terms = record(nodeSelectorTerms=st.lists(record(matchExpressions=expressions), max_size=3))
annotation_keys = st.sampled_from(
    ["gpu.nvidia.com/model", "gpu.nvidia.com/memory", "gpu.nvidia.com/fraction", "gpu-memory"]
)
claims = st.lists(record(name=texts, resourceClaimName=texts, source=record(resourceClaimName=texts)), max_size=2)
templates = record(
    metadata=record(annotations=st.dictionaries(annotation_keys, texts), namespace=texts),
    spec=record(
        containers=containers,
        initContainers=containers,
        nodeSelector=st.dictionaries(keys, texts, max_size=2),
        affinity=record(nodeAffinity=record(requiredDuringSchedulingIgnoredDuringExecution=terms)),
        resourceClaims=claims,
        resources=resources,
        overhead=st.dictionaries(names, amounts, max_size=2),
        volumes=st.lists(record(ephemeral=anything), max_size=2),
    ),
)
requests = st.lists(
    record(deviceClassName=texts, count=st.integers(), exactly=anything, firstAvailable=anything), max_size=2
)
claim = st.fixed_dictionaries(
    {"kind": st.sampled_from(["ResourceClaim", "DeviceClass"]), "spec": record(devices=record(requests=requests))}
)
workloads = st.one_of(
    templates.map(lambda one: {**one, "kind": "Pod"} if isinstance(one, dict) else one),
    templates.map(lambda one: {"kind": "Deployment", "spec": {"template": one}}),
    templates.map(lambda one: {"kind": "List", "items": [one]}),
)


def described(path: Path) -> dict[str, Any]:
    return read_pod.describe(documents.load(path.read_bytes()))


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
    found: Compare = module.workloads
    return found


@pytest.mark.parametrize("path", sorted((SHARED / "workloads").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_real_workload_reads_as_its_expect_line_says(path: Path, compare: Compare) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    expect = next(line for line in lines if line.startswith("# expect:")).removeprefix("# expect:").strip()
    assert compare(expect, 0, described(path)) == []


def test_the_command_itself_satisfies_the_shared_checker(tmp_path: Path) -> None:
    """On a few cases only: each is a process of its own, and the others are read in this one above."""
    command = Path(sys.executable).with_name("gpu-scheduler")
    if not CHECKER.exists() or not command.exists():
        pytest.skip("the shared cases are not beside this checkout, or the command is not installed")
    for path in sorted((SHARED / "workloads").glob("*.yaml"))[::15]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    check: list[str | Path] = [sys.executable, CHECKER, command, "workloads", tmp_path]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", sorted(OURS.glob("*.yaml")), ids=lambda path: path.stem)
def test_our_own_workloads_read_exactly_as_pinned(path: Path) -> None:
    assert described(path) == json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


def test_the_pinned_workloads_are_all_there() -> None:
    assert len(list(OURS.glob("*.yaml"))) == len(list(OURS.glob("*.json"))) == 16


@settings(max_examples=300)
@given(st.lists(claim | anything, max_size=2), workloads)
def test_any_documents_are_read_or_refused(context: list[Any], workload: Any) -> None:
    try:
        reading = read_pod.describe([*context, workload])
    except BadRequest as refusal:
        assert refusal.problems  # noqa: PT017 - either outcome is right, a refusal without a problem is not
        return
    assert set(json.loads(json.dumps(reading))) == {
        *("gpus", "resources", "models", "memory_mib", "sharing", "fraction", "notes")
    }


@pytest.mark.parametrize("empty", [[], [None], [{"kind": "List", "items": []}]])
def test_a_file_without_an_object_is_refused(empty: list[Any]) -> None:
    with pytest.raises(BadRequest, match="must hold a workload"):
        read_pod.describe(empty)


@pytest.mark.parametrize(
    ("amount", "gpus"),
    [
        (1, 1),
        ("2", 2),
        ("1k", 1000),
        (2.0, 2),
        (None, 0),
        (0, 0),
        (0.5, "invalid"),
        ("100m", "invalid"),
        (-1, "invalid"),
        ("one", "invalid"),
        (True, "invalid"),
        ([1], "invalid"),
        ("1e30", 2**63 - 1),
        (10**30, 2**63 - 1),
    ],
)
def test_gpus_are_a_whole_number_or_invalid(amount: Any, gpus: int | str) -> None:
    container = {"name": "c", "resources": {"limits": {GPU: amount}}}
    assert read_pod.describe([{"kind": "Pod", "spec": {"containers": [container]}}])["gpus"] == gpus
